package compact

import (
	"strings"
	"testing"

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
		{name: "reasoning twice", text: "<think>hm</think>\n<analysis>so <think> is a tag</analysis>They greeted.", want: "They greeted."},
		{name: "reasoning in between", text: "They greeted.\n<thinking>more?</thinking>\nTwice.", want: "They greeted.\n\nTwice."},
		{name: "reasoning with another end", text: "<think>They greeted.</analysis>", flaw: flawReasoning},
		{name: "speaks of tags", text: "Filters drop `<think>` and <analysis> tags.\n- ship step 7", want: "Filters drop `<think>` and <analysis> tags.\n- ship step 7"},
		{name: "tag without end starts a line", text: "They drop\n<think> tags.\nAll of them.", want: "They drop\n<think> tags.\nAll of them."},
		{name: "end of reasoning alone", text: "I should be brief.\n</think>\n\nThey greeted.", want: "They greeted."},
		{name: "nothing after the end", text: "I should be brief.\n</think>", flaw: flawReasoning},
		{name: "end in code", text: "Format:\n```\n</think>\n```\nDone.", want: "Format:\n```\n</think>\n```\nDone."},
		{name: "tags in code", text: "Format:\n```\n<think>x</think>\ny\n```\nDone.", want: "Format:\n```\n<think>x</think>\ny\n```\nDone."},
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
		{name: "speaks of the fence", text: "Prompts wrap data in <conversation> tags.", want: "Prompts wrap data in <conversation> tags."},
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

// A model that repeats itself costs no more than its answer is long.
func TestJudgeOfRepetitions(t *testing.T) {
	t.Parallel()
	for _, again := range []string{"<think>\n", "<think> </thinking>\n", "</think>\n", "[User]: x\n", "```\n", "<"} {
		text, f := judge("So.\n"+strings.Repeat(again, 1<<16)+"End.", "")
		require.Empty(t, f)
		require.Contains(t, text, "End.")
	}
}
