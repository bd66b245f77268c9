package tiktoken_test

import (
	"fmt"
	"strings"
	"testing"

	pkoukk "github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/tokens/bpe"
	"github.com/go-contextengine/contextengine/tokens/tiktoken"
)

// words is an Encoder for the example: one token per word.
type words struct{}

func (words) Encode(text string, _, _ []string) []int { return make([]int, len(strings.Fields(text))) }

func Example() {
	e := tokens.NewMeter(tiktoken.New(words{}), nil)
	fmt.Println(e.Text("three short words"))
	// Output: 3
}

func TestEqualsExactCounter(t *testing.T) {
	t.Parallel()
	pkoukk.SetBpeLoader(loader.NewOfflineLoader())
	enc, err := pkoukk.GetEncoding("cl100k_base")
	require.NoError(t, err)
	e, want := tiktoken.New(enc), bpe.CL100kBase()
	for _, s := range []string{
		"", "Hello, world!", "<|endoftext|>", "  \n\n\tfunc main() {}", "中文和English，数字123。", strings.Repeat("word ", 2000),
		strings.Repeat("1234567890", 500),
	} {
		require.Equal(t, want.Text(s), e.Text(s), "%.40q", s)
	}
}

func TestLongRunsAreCountedInParts(t *testing.T) {
	t.Parallel()
	var longest int
	e := tiktoken.New(encoderFunc(func(s string) []int {
		longest = max(longest, len(s))
		require.Equal(t, s, strings.ToValidUTF8(s, ""))
		return make([]int, (len(s)+7)/8)
	}))
	for _, unit := range []string{"a", " ", "=", "é", "中"} {
		n := e.Text(strings.Repeat(unit, 100_000))
		require.InDelta(t, len(unit)*100_000/8, n, float64(len(unit)*100_000)/2048+1)
	}
	require.LessOrEqual(t, longest, 2048+3)
}

type encoderFunc func(s string) []int

func (f encoderFunc) Encode(s string, _, _ []string) []int { return f(s) }
