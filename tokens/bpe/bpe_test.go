package bpe_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/tokens/bpe"
)

// edgeCases hold what hand-written scanners get wrong.
var edgeCases = []string{
	"", " ", "\n", "\r\n", "\n  \n", "a\n \nb", "  \n\t x", "x\n  ", "   y", "\t\tif x {\r\n\t}\r\n",
	"I'll you've they'RE 'S it's'd 'll'LL can't'", "It\u017fs 'ſ a'ſ 'ſ\u017f", "don\u2019t",
	"\u00a0x \u3000y\u2028z\u2029\u0085w", "０１２３４５ ١٢٣٤ ½⅓²", "ǅabc ǅǆ ǈ", "ABCdef abcDEF aBcD ABC", "ʰʷ ªº ÀÉé",
	"e\u0301 \u0301x \u0301\u0301 न्दी क्ष", "👩‍👩‍👧‍👦 👍🏽 ❤️ 🇩🇪", "<|endoftext|> <|im_start|>", "a/b//c/\n/ http://x.y/?q=1&z=%20",
	"中文，混合English和123数字。", "한국어 조선말", "日本語テキストです。", "สวัสดีครับ", "שלום עולם", "مرحبا بالعالم ١٢٣",
	"\x00\x01\x02\x7f", "\ufeffBOM", "\U0010ffff\ue000", strings.Repeat("=", 200), strings.Repeat("ab", 400),
	strings.Repeat("a", 63), strings.Repeat("x", 64), strings.Repeat("q", 65), strings.Repeat("-", 129), strings.Repeat(" ", 300) + "x",
}

func TestIDsEqualOracle(t *testing.T) {
	t.Parallel()
	texts := corpus(t)
	rng := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, 6000)
	_, err := rng.Read(raw)
	require.NoError(t, err)
	texts["base64"] = base64.StdEncoding.EncodeToString(raw[:1500])
	texts["hex"] = hex.EncodeToString(raw[:1000])
	texts["hexdump"] = hex.Dump(raw[:3000])
	texts["json"] = fmt.Sprintf("%q", texts["code"])
	texts["runes"] = randomRunes(rand.New(rng), 4000)
	// Long words take another way through the merging.
	letters := rand.New(rng)
	for name, alphabet := range map[string]string{"letters": "abcdefghijklmnopqrstuvwxyz", "two": "ab", "signs": "=-!?.:,#", "vowels": "aeiou", "blanks": " \t"} {
		long := make([]byte, 3000)
		for i := range long {
			long[i] = alphabet[letters.IntN(len(alphabet))]
		}
		texts["long "+name] = string(long)
	}
	for _, p := range mustOracles(t) {
		for _, s := range edgeCases {
			requireSame(t, p, s)
		}
		for name, s := range texts {
			t.Logf("%s %s", p.name, name)
			requireSame(t, p, s)
		}
	}
}

// randomRunes draws from every plane that has letters, marks or symbols.
func randomRunes(rng *rand.Rand, n int) string {
	ranges := [][2]rune{{0x20, 0x7e}, {0xa0, 0x24f}, {0x300, 0x36f}, {0x370, 0x5ff}, {0x600, 0xdff}, {0x1e00, 0x206f}, {0x2190, 0x33ff}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3}, {0xf900, 0xffef}, {0x10000, 0x10fff}, {0x1d400, 0x1ffff}, {0x20000, 0x2a6df}}
	var b strings.Builder
	for range n {
		r := ranges[rng.IntN(len(ranges))]
		b.WriteRune(r[0] + rune(rng.IntN(int(r[1]-r[0]))))
	}
	return b.String()
}

// blankAlphabet is rich in what decides where white space is split.
var blankAlphabet = []string{" ", "\n", "\r", "\t", "\u00a0", "\u2028", "'", "s", "S", "1", "/", "!", "é"}

func TestExhaustiveShortStringsEqualOracle(t *testing.T) {
	t.Parallel()
	length := 4
	if testing.Short() {
		length = 3
	}
	for _, p := range mustOracles(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			requireSameForAll(t, p, length)
		})
	}
}

// requireSameForAll compares every string of up to so many letters of blankAlphabet.
func requireSameForAll(tb testing.TB, p oraclePair, length int) {
	tb.Helper()
	var walk func(s string, depth int)
	walk = func(s string, depth int) {
		requireSame(tb, p, s)
		if depth == 0 {
			return
		}
		for _, c := range blankAlphabet {
			walk(s+c, depth-1)
		}
	}
	walk("", length)
}

func TestRandomStringsEqualOracle(t *testing.T) {
	t.Parallel()
	pairs := mustOracles(t)
	alphabet := append([]string{"\u3000", "\u200d", "\u0301", "\u017f", "ǅ", "ʰ", "٣", "中", "가", "👍", "ab", "AB", "tion", "'ll", "'RE", "  ", "\r\n", "==", "0"}, blankAlphabet...)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 60).Draw(t, "parts"), "")
		for _, p := range pairs {
			requireSame(t, p, s)
		}
	})
}

func FuzzEqualOracle(f *testing.F) {
	for _, s := range edgeCases {
		f.Add(s)
	}
	pairs := mustOracles(f)
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd")
		if longestRun(s) > 2<<10 {
			t.Skip("the oracle is quadratic in long runs")
		}
		for _, p := range pairs {
			requireSame(t, p, s)
		}
	})
}

// The count of invalid UTF-8 is its own, but it is a count.
func FuzzInvalidUTF8(f *testing.F) {
	f.Add("\xff\xfe a\xc3")
	f.Fuzz(func(t *testing.T, s string) {
		for _, e := range []*bpe.Encoding{bpe.O200kBase(), bpe.CL100kBase()} {
			n := e.Count(s)
			if n > len(s) || len(e.Append(nil, s)) != n {
				t.Fatalf("%d tokens in %d bytes", n, len(s))
			}
		}
	})
}

func TestCountAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool forgets at random under the race detector")
	}
	e := bpe.O200kBase()
	for name, s := range corpus(t) {
		e.Count(s)
		require.Zero(t, testing.AllocsPerRun(5, func() { e.Count(s) }), name)
	}
	long := strings.Repeat("ab=", 8<<10)
	e.Count(long)
	require.Zero(t, testing.AllocsPerRun(5, func() { e.Count(long) }))
}

func TestConcurrentCounts(t *testing.T) {
	t.Parallel()
	e := bpe.CL100kBase()
	texts := corpus(t)
	want := map[string]int{}
	for name, s := range texts {
		want[name] = e.Count(s)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for name, s := range texts {
				if n := e.Count(s); n != want[name] {
					t.Errorf("%s: %d, want %d", name, n, want[name])
				}
			}
		})
	}
	wg.Wait()
}

func TestForModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model, encoding string
		approximate     bool
	}{
		{"gpt-4o", "o200k_base", false},
		{"gpt-4o-mini-2024-07-18", "o200k_base", false},
		{"openai/gpt-5.1", "o200k_base", false},
		{"GPT-5-mini", "o200k_base", false},
		{"o3", "o200k_base", false},
		{"o4-mini", "o200k_base", false},
		{"gpt-4.1-nano", "o200k_base", false},
		{"ft:gpt-4o-mini:org::id", "o200k_base", false},
		{"gpt-4", "cl100k_base", false},
		{"gpt-4-turbo", "cl100k_base", false},
		{"gpt-3.5-turbo-16k", "cl100k_base", false},
		{"text-embedding-3-small", "cl100k_base", false},
		{"gpt-40", "o200k_base", true},
		{"gpt-4.2", "o200k_base", true},
		{"gpt-5.1-codex-mini", "o200k_base", false},
		{"claude-sonnet-4-5", "o200k_base", true},
		{"gemini-2.5-pro", "o200k_base", true},
		{"text-davinci-003", "o200k_base", true},
		{"o1x", "o200k_base", true},
		{"", "o200k_base", true},
	} {
		e, approximate := bpe.ForModel(tt.model)
		require.Equal(t, tt.encoding, e.Name(), tt.model)
		require.Equal(t, tt.approximate, approximate, tt.model)
	}
}

func TestEstimateSamplesHugeText(t *testing.T) {
	t.Parallel()
	e := bpe.O200kBase()
	prose := corpus(t)["prose"]
	n, exact := e.Estimate(prose)
	require.True(t, exact)
	require.Equal(t, e.Count(prose), n)

	huge := strings.Repeat(corpus(t)["thai"], 1_700_000/len(corpus(t)["thai"]))
	n, exact = e.Estimate(huge)
	require.False(t, exact)
	require.InEpsilon(t, e.Count(huge), n, 0.05)
}

// The embedded files are what gen.go made of sources with the checksums it records.
func TestVocabularyChecksums(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"vocab/o200k_base.bin":  "d4f3aed4bede01e9379bb52edb9b4b54d13315eb8ff60fad510ece42c4c0038d",
		"vocab/cl100k_base.bin": "3997166c77cdcae9e641edf22da440f76874d9f1cbaa578d22c5585b0b91804d",
	} {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprintf("%x", sha256.Sum256(b)), file)
	}
}

// slowTexts are texts without a place to split them, which count slowest. Random letters
// are worse than repetitions: their merges run in no order.
func slowTexts(size int) map[string]string {
	rng := rand.New(rand.NewPCG(1, 1))
	draw := func(alphabet string) string {
		letters, out := []rune(alphabet), make([]rune, 0, size)
		for n := 0; n < size; {
			r := letters[rng.IntN(len(letters))]
			n += utf8.RuneLen(r)
			out = append(out, r)
		}
		return string(out)
	}
	var han []rune
	for r := '\u4e00'; r < '\u9fa6'; r++ {
		han = append(han, r)
	}
	texts := map[string]string{
		"random letters":    draw("abcdefghijklmnopqrstuvwxyz"),
		"random capitals":   draw("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
		"frequent letters":  draw("etaoinsrh"),
		"random Arabic":     draw("\u0627\u0628\u062a\u062d\u062f\u0631\u0633\u0639\u0641\u0642\u0644\u0645\u0646\u0647\u0648\u064a"),
		"random Han":        draw(string(han)),
		"random signs":      draw("!@#$%^&*()_+"),
		"random blanks":     draw(" \t\n\r\u00a0"),
		"letter and mark":   strings.Repeat("a\u0301", size/3),
		"letters and signs": strings.Repeat("中A", size/4),
	}
	for name, unit := range map[string]string{"one letter": "a", "two letters": "ab", "blanks": " ", "line breaks": "\n", "one sign": "=", "two signs": "!?", "kana": "\u3042", "digits": "9", "apostrophes": "'s", "invalid bytes": "\xff"} {
		texts[name] = strings.Repeat(unit, size/len(unit))
	}
	return texts
}

// No text may stall an agent. The promise is a second per megabyte, and BenchmarkSlowTexts
// measures it; here a loop whose time grows with the square of a text must not pass, which
// takes minutes for so long a text. What passes takes a quarter of a second, so that even a
// machine that is busy forty times over does not fail the test.
func TestNoTextIsSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, s := range slowTexts(256 << 10) {
		for _, e := range []*bpe.Encoding{bpe.O200kBase(), bpe.CL100kBase()} {
			start := time.Now()
			n := e.Count(s)
			took := time.Since(start)
			t.Logf("%s: 256 KB of %s are %d tokens in %v", e.Name(), name, n, took)
			require.Less(t, took, 10*time.Second, "%s of %s", e.Name(), name)
		}
	}
}
