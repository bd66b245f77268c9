package prune_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func TestDropThinking(t *testing.T) {
	t.Parallel()
	thinks := message.Assistant(message.Thinking("t", "s"))
	redacted := message.Assistant(message.Block{Type: "redacted_thinking", Data: "x"}, message.Text("a"))
	ms := []message.Message{thinks, redacted, thinks, message.User("q")}
	out := prune.DropThinking(ms)
	require.Equal(t, []string{prune.OmittedReasoningText, "a", ""}, []string{out[0].Text(), out[1].Text(), out[2].Text()})
	require.Equal(t, thinks, out[2], "the last one is what the model goes on from")
	require.True(t, sameList(out, prune.DropThinking(out)))
}

func TestThinkingByPolicy(t *testing.T) {
	t.Parallel()
	signed := stopped(message.StopEnd, message.Thinking("t", "c2ln"), message.Text("a"))
	unsigned := stopped(message.StopEnd, message.Thinking("t", ""), message.Text("a"))
	foreign := signed
	foreign.Model = "other-model"
	sonnet, old := prune.Input{Model: "claude-sonnet-4-5"}, prune.Input{Model: "claude-3-5-sonnet-20241022"}
	tests := []struct {
		name   string
		policy prune.Policy
		in     prune.Input
		m      message.Message
		keeps  bool
	}{
		{"signed", prune.PolicyAnthropic, sonnet, signed, true},
		{"unsigned", prune.PolicyAnthropic, sonnet, unsigned, false},
		{"another model's", prune.PolicyAnthropic, sonnet, foreign, false},
		{"old Claude", prune.PolicyAnthropic, old, signed, false},
		{"newer Claude", prune.PolicyAnthropic, prune.Input{Model: "claude-5-fable"}, signed, true},
		{"unknown model", prune.PolicyAnthropic, prune.Input{}, signed, true},
		{"chat", prune.PolicyOpenAIChat, prune.Input{}, signed, false},
		{"mistral", prune.PolicyMistral, prune.Input{}, signed, false},
		{"responses", prune.PolicyOpenAIResponses, prune.Input{}, signed, true},
		{"responses, another model's", prune.PolicyOpenAIResponses, sonnet, foreign, false},
		{"gemini", prune.PolicyGemini, prune.Input{}, signed, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := hygiene(tt.policy, tt.in, message.User("q"), tt.m, message.User("n"), stopped(message.StopEnd, message.Text("last")), message.User("m"))
			kept := out[1].Content[0].Type == message.BlockThinking
			require.Equal(t, tt.keeps, kept)
		})
	}
}

func TestThinkingOfTheOpenTurn(t *testing.T) {
	t.Parallel()
	thinks := stopped(message.StopToolUse, message.Thinking("t", ""), message.ToolCall("c1", "read", nil))
	ms := []message.Message{message.User("q"), thinks, answering("c1", "r")}
	for _, policy := range []prune.Policy{prune.PolicyOpenAIChat, prune.PolicyAnthropic} {
		out := hygiene(policy, prune.Input{}, ms...)
		require.Equal(t, message.BlockThinking, out[1].Content[0].Type, "%s: the provider wants the open turn back as it was", policy)
		out = hygiene(policy, prune.Input{}, append(ms, stopped(message.StopEnd, message.Text("a")), message.User("n"))...)
		require.NotEqual(t, message.BlockThinking, out[1].Content[0].Type, "%s", policy)
	}
}

func TestThinkingBeforeACompaction(t *testing.T) {
	t.Parallel()
	at := func(m message.Message, ms int64) message.Message { m.Timestamp = time.UnixMilli(ms); return m }
	signed := stopped(message.StopEnd, message.Thinking("t", "c2ln"))
	ms := []message.Message{
		message.CompactionSummary("s", 1, time.UnixMilli(50)), at(message.User("q"), 20), at(signed, 30),
		at(message.User("n"), 60), at(signed, 70), at(message.User("m"), 80), at(stopped(message.StopEnd, message.Text("x")), 90), at(message.User("o"), 95),
	}
	out := hygiene(prune.PolicyAnthropic, prune.Input{}, ms...)
	require.Equal(t, "uauauau", roles(out))
	require.Equal(t, prune.OmittedReasoningText, out[1].Text(), "the signature was bound to what is gone")
	require.Equal(t, message.BlockThinking, out[3].Content[0].Type)
}

func TestSignaturesOfOtherShape(t *testing.T) {
	t.Parallel()
	call := message.ToolCall("c1", "read", nil)
	call.Signature = "msg_not-base64!"
	good := message.ToolCall("c2", "read", nil)
	good.Signature = "c2ln"
	ms := []message.Message{message.User("q"), stopped(message.StopToolUse, call, good), answering("c1", "r"), answering("c2", "r")}
	out := hygiene(prune.PolicyGemini, prune.Input{}, ms...)
	require.Equal(t, []string{"", "c2ln"}, []string{out[1].Content[0].Signature, out[1].Content[1].Signature})
	out = hygiene(prune.PolicyAnthropic, prune.Input{}, ms...)
	require.Equal(t, call.Signature, out[1].Content[0].Signature)
}

// TestReasoningOfATurnThatAHostsNoteEnds: the provider sees the note as a user message.
func TestReasoningOfATurnThatAHostsNoteEnds(t *testing.T) {
	t.Parallel()
	thinks := stopped(message.StopToolUse, message.Thinking("hm", ""), message.ToolCall("c1", "read", nil))
	ms := []message.Message{message.User("hi"), thinks, answering("c1", "ok")}
	for _, note := range []message.Message{message.Custom("n", message.Text("note")), message.BranchSummary("tried", "e", time.Time{})} {
		out := hygiene(prune.PolicyOpenAIChat, prune.Input{}, append(ms, note)...)
		require.True(t, out[1].Content[0].IsCall(), "%s", note.Role)
	}
	out := hygiene(prune.PolicyOpenAIChat, prune.Input{}, append(ms, message.BashExecution(message.Bash{Command: "ls", Exclude: true}))...)
	require.Equal(t, message.BlockThinking, out[1].Content[0].Type, "the model does not see it")
}
