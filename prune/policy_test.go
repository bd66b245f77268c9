package prune_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func TestPolicyFor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		provider, api string
		want          prune.Policy
	}{
		{"", "", prune.PolicyCommon},
		{"anthropic", "anthropic-messages", prune.PolicyAnthropic},
		{"amazon-bedrock", "bedrock-converse-stream", prune.PolicyAnthropic},
		{"google", "google-generative-ai", prune.PolicyGemini},
		{"openai", "openai-responses", prune.PolicyOpenAIResponses},
		{"openrouter", "openai-completions", prune.PolicyOpenAIChat},
		{"mistral", "openai-completions", prune.PolicyMistral},
		{"anthropic", "", prune.PolicyAnthropic},
		{"amazon-bedrock", "", prune.PolicyAnthropic},
		{"google-vertex", "", prune.PolicyGemini},
		{"OpenAI", "", prune.PolicyOpenAIChat},
		{"ollama", "", prune.PolicyCommon},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, prune.PolicyFor(tt.provider, tt.api), "%s %s", tt.provider, tt.api)
		require.True(t, tt.want.Valid())
	}
	require.False(t, prune.Policy("x").Valid())
}

func TestPolicyAutoFollowsTheModel(t *testing.T) {
	t.Parallel()
	ms := []message.Message{message.Assistant(message.Text("a")), message.User("q"), calling("call_1"), answering("call_1", "r")}
	passes := prune.Hygiene(prune.PolicyAuto)
	for _, tt := range []struct{ api, roles, id string }{
		{"google-generative-ai", "uauat", "call1"},
		{"anthropic-messages", "uauat", "call1"},
		{"mistral-conversations", "uauat", prune.SanitizeCallID("call_1", prune.IDsNine)},
		{"", "auat", "call_1"},
	} {
		out := prune.Apply(ms, prune.Input{API: tt.api}, passes...)
		require.Equal(t, tt.roles, roles(out), tt.api)
		require.Equal(t, tt.id, out[len(out)-1].ToolCallID, tt.api)
	}
	require.True(t, prune.PolicyAuto.Valid())
}
