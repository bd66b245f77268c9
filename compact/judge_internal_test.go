package compact

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	source := fence([]string{"[User]: hello there", "[Assistant]: " + strings.Repeat("one two three ", 30)})
	tests := []struct {
		name, text string
		want       string
		flaw       flaw
	}{
		{name: "plain", text: "  They greeted.\n", want: "They greeted."},
		{name: "reasoning and text", text: "<think>hm</think>\nThey greeted.", want: "They greeted."},
		{name: "code fence", text: "```markdown\nThey greeted.\n```", want: "They greeted."},
		{name: "summary tag", text: "<summary>They greeted.</summary>", want: "They greeted."},
		{name: "blank", text: "\n", flaw: flawBlank},
		{name: "empty wrapper", text: "<summary>\n</summary>", flaw: flawBlank},
		{name: "reasoning", text: "<Reasoning>hm", flaw: flawReasoning},
		{name: "call", text: `[{"name":"read","input":{}}]`, flaw: flawToolCall},
		{name: "calls", text: `{"tool_calls":[{}]}`, flaw: flawToolCall},
		{name: "call tag", text: "<function_calls><invoke>", flaw: flawToolCall},
		{name: "JSON that is no call", text: `{"decisions":["x"]}`, want: `{"decisions":["x"]}`},
		{name: "goes on with the source", text: "[User]: hello there\n\n[Assistant]: hi", flaw: flawEcho},
		{name: "copies the source", text: strings.Repeat("one  two\nthree ", 20), flaw: flawEcho},
		{name: "repeats the fence", text: "<conversation> …", flaw: flawEcho},
		{name: "refusal", text: "I cannot summarise this conversation.", flaw: flawRefusal},
		{name: "apology", text: "I’m really sorry, but I’m unable to help.", flaw: flawRefusal},
		{name: "says what somebody could not do", text: "The user said: I cannot log in.", want: "The user said: I cannot log in."},
		{name: "first person with sections", text: "I cannot see earlier parts.\n## Decisions\nNone.", want: "I cannot see earlier parts.\n## Decisions\nNone."},
		{name: "broken text", text: "ok \xff", want: "ok �"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, f := judge(tt.text, source)
			require.Equal(t, tt.flaw, f)
			require.Equal(t, tt.want, text)
		})
	}
}

func TestShortenNeverPartsACharacter(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("é漢😀", 100)
	for limit := range 60 {
		got := shorten(text, limit)
		require.Equal(t, got, strings.ToValidUTF8(got, "?"))
	}
	require.Equal(t, "abc", shorten("abc", 3))
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for i := range 4 * maxSessions {
		id := strconv.Itoa(i)
		m.ended(id, "t", failed("no_progress", nil))
		m.note(id, Breaker{Failures: 1}, true, time.Now())
	}
	require.LessOrEqual(t, len(m.sessions), maxSessions)
	require.LessOrEqual(t, len(m.models), maxBreakers)
}
