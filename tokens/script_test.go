package tokens_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/tokens/bpe"
)

// accuracyCorpora are the texts of the accuracy table with the band that holds for
// nine tenths of their pieces.
func accuracyCorpora(tb testing.TB) map[string]accuracyCorpus {
	tb.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	raw := make([]byte, 30_000)
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	narrow := func(s string) accuracyCorpus { return accuracyCorpus{s, 0.90, 1.35} }
	wide := func(s string) accuracyCorpus { return accuracyCorpus{s, 0.90, 1.80} }
	out := map[string]accuracyCorpus{
		"json":   narrow(jsonCorpus(tb)),
		"emoji":  wide(emojiCorpus(rng)),
		"base64": wide(base64.StdEncoding.EncodeToString(raw)),
		"hex":    wide(hex.EncodeToString(raw)),
		"dump":   wide(hex.Dump(raw)),
	}
	for _, name := range []string{"prose", "code", "russian", "arabic"} {
		out[name] = narrow(readCorpus(tb, name))
	}
	for _, name := range []string{"han", "kana", "hangul", "thai"} {
		out[name] = wide(readCorpus(tb, name))
	}
	return out
}

type accuracyCorpus struct {
	text      string
	low, high float64
}

func jsonCorpus(tb testing.TB) string {
	tb.Helper()
	var b strings.Builder
	for i, m := range session(tb, 120) {
		m.Timestamp = time.UnixMilli(1_772_971_215_080 + int64(i)*7919)
		row, err := json.Marshal(map[string]any{"type": "message", "id": fmt.Sprintf("%08x", i*2654435761%(1<<32)), "parentId": nil, "message": m})
		require.NoError(tb, err)
		b.Write(row)
		b.WriteByte('\n')
	}
	return b.String()
}

func emojiCorpus(rng *rand.Rand) string {
	ranges := [][2]rune{{0x1f300, 0x1f320}, {0x1f400, 0x1f43f}, {0x1f600, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f90c, 0x1f9ff}, {0x2600, 0x2615}, {0x2700, 0x2716}}
	var b strings.Builder
	for range 4000 {
		r := ranges[rng.IntN(len(ranges))]
		b.WriteRune(r[0] + rune(rng.IntN(int(r[1]-r[0]))))
		switch rng.IntN(12) {
		case 0:
			b.WriteString("\u200d")
		case 1:
			b.WriteString("\ufe0f")
		case 2:
			b.WriteRune(0x1f3fb + rune(rng.IntN(5)))
		case 3, 4:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// pieces cuts n random stretches of 300 to 1,500 bytes.
func pieces(rng *rand.Rand, text string, n int) []string {
	out := make([]string, n)
	for i := range out {
		size := min(300+rng.IntN(1200), len(text)/2)
		start := rng.IntN(len(text) - size)
		for !utf8.RuneStart(text[start]) {
			start--
		}
		end := start + size
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		out[i] = text[start:end]
	}
	return out
}

func TestScriptAwareWithinBands(t *testing.T) {
	t.Parallel()
	exact, e := bpe.O200kBase(), tokens.ScriptAware()
	rng := rand.New(rand.NewPCG(5, 6))
	corpora := accuracyCorpora(t)
	names := make([]string, 0, len(corpora))
	for name := range corpora {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := corpora[name]
		const n = 200
		ratios := make([]float64, 0, n)
		for _, s := range pieces(rng, c.text, n) {
			ratios = append(ratios, float64(e.Text(s))/float64(exact.Count(s)))
		}
		slices.Sort(ratios)
		p5, p50, p95 := ratios[n/20], ratios[n/2], ratios[n*19/20]
		t.Logf("| %s | %.2f | %.2f | %.2f |", name, p5, p50, p95)
		require.GreaterOrEqual(t, p5, c.low, name)
		require.LessOrEqual(t, p95, c.high, name)
	}
}

func TestScriptAwareIsMonotone(t *testing.T) {
	t.Parallel()
	e := tokens.ScriptAware()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if e.Text(a+b) < e.Text(a) {
			t.Fatalf("%d after appending to %d", e.Text(a+b), e.Text(a))
		}
		if a != "" && e.Text(a) == 0 {
			t.Fatal("text for nothing")
		}
	})
}

// A character that is repeated without end is not in any fitted text; it must not get
// lost all the same.
func TestScriptAwareCountsRepetitions(t *testing.T) {
	t.Parallel()
	exact, e := bpe.O200kBase(), tokens.ScriptAware()
	for c := ' '; c < 0x7f; c++ {
		s := strings.Repeat(string(c), 4000)
		require.GreaterOrEqual(t, float64(e.Text(s)), 0.3*float64(exact.Count(s)), "%q", c)
	}
	require.GreaterOrEqual(t, e.Text(strings.Repeat("\x80", 100)), 100, "invalid bytes")
}

// A tail of 20,000 tokens of Chinese is a third of forty messages, not all of them.
func TestC13_ScriptAwareTail(t *testing.T) {
	t.Parallel()
	e := tokens.NewMeter(tokens.ScriptAware(), nil)
	chars := []rune(strings.Join(strings.Fields(readCorpus(t, "han")), ""))
	var ms []message.Message
	for i := range 40 {
		text := make([]rune, 0, 2000)
		for j := range 2000 {
			text = append(text, chars[(i*37+j)%len(chars)])
		}
		ms = append(ms, message.User(string(text)))
		require.GreaterOrEqual(t, e.Text(string(text)), 2000*8/10, "at least 0.8 tokens per character")
	}
	const keep = 20_000
	start := len(ms)
	for start > 0 && e.Messages(ms[start-1:]) <= keep {
		start--
	}
	require.Less(t, start, len(ms))
	require.LessOrEqual(t, len(ms)-start, 12)
	require.LessOrEqual(t, bpe.O200kBase().Text(ms[39].Text())*(len(ms)-start), keep)

	mixed := strings.Repeat("国", 100) + strings.Repeat("a", 100)
	require.GreaterOrEqual(t, e.Text(mixed), 125)
	require.GreaterOrEqual(t, e.Text(string(chars[:100])+"The quick brown fox jumps over the lazy dog, and then it runs back home again as fast as it possibly can."), 125)
	last := 0
	for i := 0; i < 100; i++ {
		n := e.Text(string(chars[:i]) + mixed[:i])
		require.GreaterOrEqual(t, n, last)
		last = max(last, e.Text(string(chars[:i])))
	}
}
