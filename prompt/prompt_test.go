package prompt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/prompt"
)

func TestWith(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in       prompt.Prompt
		addition string
		want     string
	}{
		{name: "blank changes nothing", in: prompt.Text("p"), addition: " \r\n\t", want: "p"},
		{name: "empty prompt", addition: "a", want: "a"},
		{name: "line ends and trailing blanks", in: prompt.Text("p"), addition: "\r\na  \r\nb\t\n", want: "a\nb\n\np"},
		{name: "invalid bytes", addition: "a\xffb", want: "a\uFFFDb"},
		{name: "stable part stays in front", in: prompt.Prompt{Stable: "s"}, addition: "a", want: "s\n\na"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.in.With(tt.addition).String())
		})
	}
}

func TestWithLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	p := prompt.Text("p")
	p.Sections = append(make([]prompt.Section, 0, 4), p.Sections...)
	a, b := p.With("first"), p.With("other")
	require.Equal(t, "first\n\np", a.String())
	require.Equal(t, 5, a.Sections[1].Chars)
	require.Equal(t, "other\n\np", b.String())
	require.Len(t, p.Sections, 1)
	require.Zero(t, prompt.Text("").String())
	require.True(t, prompt.Mode("").Valid())
	require.False(t, prompt.Mode("half").Valid())
}
