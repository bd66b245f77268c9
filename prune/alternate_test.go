package prune_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func TestHygieneOrdersTurns(t *testing.T) {
	t.Parallel()
	a, b := message.Assistant(message.Text("a")), stopped(message.StopLength, message.Text("b"))
	a.Key, b.Key = "ka", "kb"
	u, v := message.User("u"), message.User("v")
	u.Key, v.Key = "ku", "kv"
	custom := message.Custom("note", message.Text("n"))
	tests := []struct {
		policy prune.Policy
		want   string
	}{
		{prune.PolicyCommon, "aauuu"},
		{prune.PolicyOpenAIResponses, "aauuu"},
		{prune.PolicyGemini, "uauuu"},
		{prune.PolicyAnthropic, "uau"},
		{prune.PolicyOpenAIChat, "uau"},
		{prune.PolicyMistral, "uau"},
		{"unheard of", "aauuu"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, roles(hygiene(tt.policy, prune.Input{}, a, b, u, custom, v)), "%s", tt.policy)
	}
	out := hygiene(prune.PolicyAnthropic, prune.Input{}, a, b, u, v)
	require.Equal(t, []string{"", "ka", "kv"}, []string{out[0].Key, out[1].Key, out[2].Key})
	require.Equal(t, "a\nb", out[1].Text())
	require.Equal(t, message.StopLength, out[1].StopReason)
}

func TestAlternateTurnsDropsDanglingCalls(t *testing.T) {
	t.Parallel()
	out := prune.AlternateTurns([]message.Message{message.User("q"), calling("c1"), message.User("n")})
	require.Equal(t, prune.OmittedCallsText, out[1].Text())
	thinks := stopped(message.StopToolUse, message.Thinking("t", "c2ln"), message.ToolCall("c1", "read", nil), message.ToolCall("c2", "read", nil))
	out = prune.AlternateTurns([]message.Message{message.User("q"), thinks, answering("c1", "r"), message.User("n")})
	require.Equal(t, prune.OmittedCallsText, out[1].Text(), "signed as a whole, so dropped as a whole")
}

func TestMergedAnswersAreWhatTheLastOneWas(t *testing.T) {
	t.Parallel()
	failed, calls := stopped(message.StopError, message.Text("I")), calling("c1")
	failed.ErrorMessage, calls.StopReason = "overloaded", ""
	out := prune.MergeAssistants([]message.Message{failed, calls})
	require.Empty(t, out[0].StopReason+out[0].ErrorMessage, "calls of a failed answer would go")

	first, thinks := message.Assistant(message.Text("a")), message.Assistant(message.Thinking("hm", "c2ln"))
	first.Model, thinks.Model = "gpt-9", "claude-sonnet-4-5"
	out = prune.MergeAssistants([]message.Message{first, thinks})
	require.Equal(t, thinks.Model, out[0].Model, "its signature is bound to it")
}
