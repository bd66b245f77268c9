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
	"unicode"
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
		"digits": narrow(numbersCorpus(rng)),
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

// numbersCorpus is what vectors, identifiers and measurements look like in JSON.
func numbersCorpus(rng *rand.Rand) string {
	var b strings.Builder
	for range 1500 {
		fmt.Fprintf(&b, `{"id":%d,"at":%d,"v":[%.6f,%.3f, %d],"n":"\u%04x\u%04x"},`+"\n", rng.IntN(1<<40), 1_772_971_215_080+rng.IntN(1<<33),
			rng.Float64()*2-1, rng.NormFloat64()*100, rng.IntN(1<<(1+rng.IntN(40))), 0x430+rng.IntN(32), 0x4e00+rng.IntN(5000))
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

// What people and programs write every day, in more languages than have a corpus; each line of
// the file has the band, a name and the text.
func TestScriptAwareEverydayTexts(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(readCorpus(t, "sentences")) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		require.Len(t, fields, 3, line)
		high := map[string]float64{"narrow": 1.35, "wide": 1.8}[fields[0]]
		for _, text := range []string{fields[2], strings.Repeat(fields[2]+" ", 10)} {
			r := ratio(text)
			require.GreaterOrEqual(t, r, 0.9, fields[1])
			require.LessOrEqual(t, r, high, fields[1])
		}
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
		raw := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.ByteMin(0xbf)), 0, 40).Draw(t, "raw")
		for i := range raw {
			if e.Text(string(raw[:i+1])) < e.Text(string(raw[:i])) {
				t.Fatalf("%q counts less than without its last byte", raw[:i+1])
			}
		}
	})
}

// A run of one character is not in any fitted text; it must not get lost all the same.
func TestScriptAwareCountsRuns(t *testing.T) {
	t.Parallel()
	for c := rune(0); c < utf8.RuneSelf; c++ {
		require.GreaterOrEqual(t, ratio(strings.Repeat(string(c), 4000)), 0.3, "%q", c)
	}
	for _, stray := range []string{"\x80", "\xff", "\xc3", "a\x80", "é\x80", "é\xc3"} {
		require.GreaterOrEqual(t, ratio(strings.Repeat(stray, 400)), 0.5, "%q", stray)
	}
	require.Positive(t, tokens.ScriptAware().Text("a\x80"))
	for _, stray := range []string{"中", "é", "ก", "가", "😀"} { // at least an eighth of a token each
		e := tokens.ScriptAware()
		require.GreaterOrEqual(t, e.Text(stray+strings.Repeat("\x80", 800)), 800/12, "%q", stray)
	}
}

// ratio is estimate ÷ exact count.
func ratio(s string) float64 {
	return float64(tokens.ScriptAware().Text(s)) / float64(bpe.O200kBase().Count(s))
}

// cycleAlphabet has characters of every class.
const cycleAlphabet = "aetkyAKZ0 \n\t\"'()[]{},;.:!?/\\-=+*_$éяاक“→、あ中가😀"

// Whatever repeats, be it "A C G T", a grid of crosses and noughts, or every other
// character Chinese: no pair of classes may be free, nor a triple.
func TestScriptAwareCyclesAreNotFree(t *testing.T) {
	t.Parallel()
	alphabet := []rune(cycleAlphabet)
	check := func(unit ...rune) {
		if r := ratio(strings.Repeat(string(unit), 60)); r < 0.5 {
			t.Errorf("%q: %.2f of the exact count", string(unit), r)
		}
	}
	check('\r', '\n')
	for _, a := range alphabet {
		for _, b := range alphabet {
			check(a, b)
			for _, c := range alphabet {
				check(a, b, c)
			}
		}
	}
}

// A cycle of classes may hold frequent letters and rare ones. Random members stay near
// the exact count on average, and never far below it.
func TestScriptAwareRandomCycles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	ranges := [][2]rune{{' ', '~'}, {'\n', '\n'}, {'a', 'z'}, {'A', 'Z'}, {0xc0, 0x17f}, {0x391, 0x3c9}, {0x410, 0x44f}, {0x5d0, 0x5ea}, {0x621, 0x64a}, {0x915, 0x939}, {0x2010, 0x2026}, {0x3041, 0x30fe}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3}, {0x1f600, 0x1f64f}}
	const n = 20_000
	sum, low := 0.0, 0
	for range n {
		var unit strings.Builder
		for range 2 + rng.IntN(4) {
			r := ranges[rng.IntN(len(ranges))]
			unit.WriteRune(r[0] + rune(rng.IntN(int(r[1]-r[0])+1)))
		}
		r := ratio(strings.Repeat(unit.String(), 20))
		sum += r
		if r < 0.5 {
			low++
		}
		require.Greater(t, r, 0.12, "%q", unit.String())
	}
	t.Logf("%.2f on average, %d of %d below a half", sum/n, low, n)
	require.Less(t, low, n/50)
	require.InDelta(t, 0.9, sum/n, 0.15)
}

// Random characters are no text, but what is rare looks like them to a vocabulary.
func TestScriptAwareEveryScript(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	sets := map[string][]rune{
		"private use": runes(0xe000, 0xf8ff), "rare Han": runes(0x3400, 0x4dbf), "more rare Han": runes(0x20000, 0x2a6d6),
		"Arabic forms": runes(0xfe70, 0xfefc), "Braille": runes(0x2800, 0x28ff), "box drawing": runes(0x2500, 0x257f),
		"mathematical letters": runes(0x1d400, 0x1d6a5), "marks": runes(0x300, 0x36f), "Greek capitals": runes(0x391, 0x3a1),
		"accented capitals": runes(0xc0, 0xde), "Armenian capitals": runes(0x531, 0x556), "half-width": runes(0xff61, 0xff9f),
	}
	for name, table := range unicode.Scripts {
		for _, r := range table.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				sets[name] = append(sets[name], c)
			}
		}
		for _, r := range table.R32 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				sets[name] = append(sets[name], c)
			}
		}
	}
	for name, set := range sets {
		var plain, spaced strings.Builder
		for range 1500 {
			r := set[rng.IntN(len(set))]
			plain.WriteRune(r)
			spaced.WriteRune(r)
			spaced.WriteByte(' ')
		}
		require.GreaterOrEqual(t, ratio(plain.String()), 0.7, name)
		least := 0.6
		if name == "Hangul" {
			least = 0.3 // its rare syllables stand inside words
		}
		require.GreaterOrEqual(t, ratio(spaced.String()), least, name)
	}
}

func runes(from, to rune) []rune {
	var out []rune
	for c := from; c <= to; c++ {
		out = append(out, c)
	}
	return out
}

// What has one letter to a token, as grids, grades and sequences have.
func TestScriptAwareSingleLetters(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	for _, format := range []string{"%c ", "%c\n", "\"%c\",", "\"%c\", ", "| %c ", "%c. ", "%c,", "(%c) ", "[%c]", "中%c", "あ%c", "%c: 1\n", "- %c\n", "  %c"} {
		for _, letters := range []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ACGT", "ABCDF", "XO", "YN", "abcdefghijklmnopqrstuvwxyz", "0123456789"} {
			var b strings.Builder
			for range 500 {
				fmt.Fprintf(&b, format, letters[rng.IntN(len(letters))])
			}
			require.GreaterOrEqual(t, ratio(b.String()), 0.6, "%q of %s", format, letters)
		}
	}
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

// TestScriptAwareDeepIndents: an indent is about a token, however deep it is.
func TestScriptAwareDeepIndents(t *testing.T) {
	t.Parallel()
	exact, estimate := bpe.O200kBase(), tokens.ScriptAware()
	for _, indent := range []string{"\t", " "} {
		for depth := 3; depth <= 9; depth++ {
			in := "\n" + strings.Repeat(indent, depth)
			s := strings.Repeat(in+"if x := load(name); x != nil {"+in+indent+"return x"+in+"}", 50)
			ratio := float64(estimate.Text(s)) / float64(exact.Count(s))
			require.True(t, ratio >= 0.9 && ratio <= 1.4, "%d of %q: %.2f", depth, indent, ratio)
		}
	}
}
