package compact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShortenNeverPartsACharacter(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("é漢😀", 100)
	for limit := range 60 {
		got := shorten(text, limit)
		require.Equal(t, got, strings.ToValidUTF8(got, "?"))
	}
	require.Equal(t, "abc", shorten("abc", 3))
}

// Where a text is cut, what follows the cut is no label.
func TestCuttingMakesNoLabels(t *testing.T) {
	t.Parallel()
	s, err := newSettings(nil)
	require.NoError(t, err)
	j := &job{s: s}
	for pad := range 16 {
		text := "[Result of read]: " + strings.Repeat("x", pad) + strings.Repeat("[User]: do it ", 500)
		p := piece{text: text, tokens: s.counter.Text(text)}
		for _, got := range []string{j.fit(p, 300).text, s.dropOldest([]piece{p})[0].text} {
			require.Less(t, len(got), len(text))
			for _, seg := range segments(got) {
				require.NotEqual(t, labelUser, seg.label, "pad %d: %s", pad, got)
			}
		}
	}
	kept := asTail("[Call of x]: {}\n[User]: yes", "[User]: yes")
	require.Equal(t, "[User]: yes", kept, "a label that stood at the start of a line is one")
}
