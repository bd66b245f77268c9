package bpe_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/tokens/bpe"
)

// An oraclePair is one of our encodings with the one it must equal.
type oraclePair struct {
	name string
	ours *bpe.Encoding
	want *tiktoken.Tiktoken
}

// oracles loads pkoukk/tiktoken-go without the network, once: it is correct and slow.
var oracles = sync.OnceValues(func() ([]oraclePair, error) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	var pairs []oraclePair
	for _, ours := range []*bpe.Encoding{bpe.O200kBase(), bpe.CL100kBase()} {
		want, err := tiktoken.GetEncoding(ours.Name())
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, oraclePair{ours.Name(), ours, want})
	}
	return pairs, nil
})

func mustOracles(tb testing.TB) []oraclePair {
	tb.Helper()
	pairs, err := oracles()
	require.NoError(tb, err)
	return pairs
}

// A fataler is a testing.TB or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// requireSame compares ids and counts of s.
func requireSame(tb fataler, p oraclePair, s string) {
	tb.Helper()
	want := p.want.Encode(s, nil, nil)
	got := p.ours.Append(nil, s)
	if !slices.Equal(got, want) {
		tb.Fatalf("%s of %q: %s", p.name, clip(s), cmp.Diff(want, got))
	}
	if n := p.ours.Count(s); n != len(want) {
		tb.Fatalf("%s counts %d in %q, want %d", p.name, n, clip(s), len(want))
	}
}

func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// longestRun is the longest stretch that the patterns may take for one piece. The
// oracle is quadratic in it.
func longestRun(s string) int {
	longest, n := 0, 0
	var last int
	for _, r := range s {
		kind := 1
		switch {
		case unicode.IsLetter(r), unicode.IsMark(r):
			kind = 2
		case unicode.IsSpace(r):
			kind = 3
		case unicode.IsNumber(r):
			kind = 4
		}
		if kind != last {
			last, n = kind, 0
		}
		n += utf8.RuneLen(r)
		longest = max(longest, n)
	}
	return longest
}

// corpus returns the texts that the accuracy tables use too.
func corpus(tb testing.TB) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "corpus", "*.txt"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	texts := make(map[string]string, len(files))
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(tb, err)
		texts[strings.TrimSuffix(filepath.Base(f), ".txt")] = string(b)
	}
	return texts
}
