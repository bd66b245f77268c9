package compact_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
)

func TestIsContextOverflow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       bool
		observed   int
	}{
		{name: "window exceeded", text: "This model's maximum context length is 8192 tokens, however you requested 9000 tokens", want: true, observed: 9000},
		{name: "thousands", text: "prompt is too long: 210,001 tokens > 200,000 maximum", want: true, observed: 210_001},
		{name: "prompt and output", text: "input length and `max_tokens` exceed context limit (i.e 188000 + 20000 > 200000)", want: true, observed: 208_000},
		{name: "only the reply recogniser knows it", text: "Input is too long for requested model.", want: true},
		{name: "reduce", text: "Please reduce the length of the messages or completion.", want: true},
		{name: "chinese", text: "错误：上下文长度超过限制", want: true},
		{name: "throttled tokens", text: "ThrottlingException: Too many tokens, please wait before trying again."},
		{name: "tokens per minute", text: "Request too large: limit 30000 TPM, requested 40000 tokens", observed: 40_000},
		{name: "quota", text: "You exceeded your current quota: input token limit"},
		{name: "billing", text: "402 payment required: prompt exceeds your credit balance"},
		{name: "the summary request itself", text: "summarization failed: prompt is too long"},
		{name: "Go deadline", text: `Post "https://api.example/v1": request canceled: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`},
		{name: "too much output", text: "invalid_request_error: max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for this model"},
		{name: "too many tools", text: "number of tools exceeds the limit of 128"},
		{name: "long name", text: "tools.0.name: exceeds the limit of 64 characters"},
		{name: "large image", text: "image exceeds the limit of 5 MB"},
		{name: "long field", text: "metadata.user_id: input length exceeds max 256"},
		{name: "limit of tokens", text: "the input of 9000 tokens exceeds the limit of 8192", want: true},
		{name: "range of lengths", text: "InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", want: true},
		{name: "long message", text: "Invalid 'messages[3].content': string too long. Expected a string with maximum length 10485760", want: true},
		{name: "long name of a user", text: "Invalid 'user': string too long. Expected a string with maximum length 64"},
		{name: "no body", text: "413 status code (no body)", want: true},
		{name: "bad request without a body", text: "400 status code (no body)"},
		{name: "network", text: "connection reset by peer"},
		{name: "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("calling the model: %w", errors.New(tt.text))
			require.Equal(t, tt.want, compact.IsContextOverflow(err))
			n, ok := compact.ObservedTokens(err)
			require.Equal(t, tt.observed, n)
			require.Equal(t, tt.observed > 0, ok)
		})
	}
}

func TestIsContextOverflowTyped(t *testing.T) {
	t.Parallel()
	require.False(t, compact.IsContextOverflow(nil))
	err := fmt.Errorf("x: %w", &compact.TooLargeError{Observed: 7})
	require.True(t, compact.IsContextOverflow(err))
	n, ok := compact.ObservedTokens(err)
	require.True(t, ok)
	require.Equal(t, 7, n)
	_, ok = compact.ObservedTokens(nil)
	require.False(t, ok)
}

func TestReplyOverflowedSilently(t *testing.T) {
	t.Parallel()
	usage := func(in, out int) *message.Usage { return &message.Usage{Input: in, Output: out} }
	tests := []struct {
		name string
		m    message.Message
		want bool
	}{
		{name: "larger than the window", m: message.Message{StopReason: message.StopEnd, Usage: usage(101, 5)}, want: true},
		{name: "larger, and nobody knows why it ended", m: message.Message{Role: message.RoleAssistant, Usage: usage(101, 5)}, want: true},
		{name: "larger, but with a call", m: message.Message{Role: message.RoleAssistant, Content: []message.Block{message.ToolCall("c1", "read", nil)}, Usage: usage(101, 5)}},
		{name: "exactly the window", m: message.Message{StopReason: message.StopEnd, Usage: usage(100, 5)}},
		{name: "no room for an answer", m: message.Message{StopReason: message.StopLength, Usage: usage(99, 0)}, want: true},
		{name: "cut after some output", m: message.Message{StopReason: message.StopLength, Usage: usage(99, 1)}},
		{name: "unknown usage", m: message.Message{StopReason: message.StopEnd}},
		{name: "failed for another reason", m: message.Message{StopReason: message.StopError, ErrorMessage: "reset"}},
		{name: "failed without a text", m: message.Message{StopReason: message.StopError, Usage: usage(999, 0)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, compact.ReplyOverflowed(tt.m, 100))
			require.False(t, compact.ReplyOverflowed(tt.m, 0))
		})
	}
}

func TestSilentOverflowProne(t *testing.T) {
	t.Parallel()
	require.True(t, compact.SilentOverflowProne("zai", "x"))
	require.True(t, compact.SilentOverflowProne("", "glm-5"))
	require.True(t, compact.SilentOverflowProne("openrouter", "openrouter/z-ai/glm-4"))
	require.False(t, compact.SilentOverflowProne("ollama", "ollama/glm-4"))
}
