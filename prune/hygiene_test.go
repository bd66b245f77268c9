package prune_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func hygiene(policy prune.Policy, in prune.Input, ms ...message.Message) []message.Message {
	return prune.Apply(ms, in, prune.Hygiene(policy)...)
}

func stopped(reason string, blocks ...message.Block) message.Message {
	m := message.Assistant(blocks...)
	m.StopReason = reason
	return m
}

func calling(id string) message.Message {
	return stopped(message.StopToolUse, message.ToolCall(id, "read", nil))
}

func answering(id, text string) message.Message {
	return message.ToolResult(id, "read", message.Text(text))
}

func roles(ms []message.Message) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteByte(string(m.Role)[0])
	}
	return b.String()
}

func TestHygieneOfSingleMessages(t *testing.T) {
	t.Parallel()
	q, a := message.User("q"), message.Assistant(message.Text("a"))
	mirror := message.Assistant(message.Text("sent"))
	mirror.Provider, mirror.Model = "openclaw", "delivery-mirror"
	tests := []struct {
		name string
		in   message.Message
		want string // what is left between q and a; "-": nothing
	}{
		{"blank user", message.User(" \n"), "-"},
		{"blank text beside another", message.Message{Role: message.RoleUser, Content: []message.Block{message.Text(" "), message.Text("x")}}, "x"},
		{"silent reply", message.Assistant(message.Text(" NO_REPLY\n")), "-"},
		{"silent action", message.Assistant(message.Text(`{"action":"NO_REPLY"}`)), "-"},
		{"no silence", message.Assistant(message.Text("I send NO_REPLY")), "I send NO_REPLY"},
		{"host's own note", mirror, "-"},
		{"reasoning cut off", stopped(message.StopLength, message.Thinking("t", "")), "-"},
		{"failed without a word", stopped(message.StopError), prune.FailedText},
		{"blank failure", stopped(message.StopError, message.Text(" ")), "-"},
		{"unfinished call", message.Assistant(message.Text("hi"), message.Block{Type: message.BlockToolCall, ID: "c", Name: "n", Arguments: json.RawMessage("null")}), "hi"},
		{"broken image", message.Message{Role: message.RoleUser, Content: []message.Block{message.Image("???", "")}}, prune.UnreadableImageText},
		{"only displayed", message.BashExecution(message.Bash{Command: "ls", Exclude: true}), "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := hygiene(prune.PolicyCommon, prune.Input{}, q, tt.in, a)
			if tt.want == "-" {
				require.Len(t, out, 2)
				return
			}
			require.Len(t, out, 3)
			require.Equal(t, tt.want, out[1].Text())
		})
	}
}

func TestHygieneLeavesGoodListsAlone(t *testing.T) {
	t.Parallel()
	ms := []message.Message{message.User("q"), calling("toolu1"), answering("toolu1", "r"), stopped(message.StopEnd, message.Text("a"))}
	for _, policy := range []prune.Policy{prune.PolicyCommon, prune.PolicyAnthropic, prune.PolicyGemini, prune.PolicyOpenAIChat, prune.PolicyOpenAIResponses} {
		require.True(t, sameList(ms, prune.Apply(ms, prune.Input{Window: 1000}, prune.Standard(policy)...)), "%s", policy)
	}
	require.Empty(t, hygiene(prune.PolicyGemini, prune.Input{}))
}

func TestHygieneEndsWithoutFailedAnswers(t *testing.T) {
	t.Parallel()
	zero := stopped(message.StopEnd)
	zero.Usage = &message.Usage{}
	out := hygiene(prune.PolicyCommon, prune.Input{}, message.User("q"), stopped(message.StopError), zero)
	require.Equal(t, "u", roles(out))
}

func TestHygieneDropsFailedTurnsWithResults(t *testing.T) {
	t.Parallel()
	broken := stopped(message.StopAborted, message.Text("I will"), message.ToolCall("c1", "read", nil))
	out := hygiene(prune.PolicyCommon, prune.Input{}, message.User("q"), broken, answering("c1", "r"), message.User("n"))
	require.Equal(t, "uu", roles(out))
}

func TestHygieneFillsResults(t *testing.T) {
	t.Parallel()
	blank := answering("c1", " ").WithExtra("details", json.RawMessage(`{"secret":1}`))
	out := hygiene(prune.PolicyCommon, prune.Input{}, message.User("q"), calling("c1"), blank, calling("c2"), message.User("n"))
	require.Equal(t, "uatatu", roles(out))
	require.Equal(t, prune.EmptyText, out[2].Text())
	require.Empty(t, out[2].Details())
	require.True(t, out[4].IsError)
}

func TestHygieneDropsQuietHeartbeats(t *testing.T) {
	t.Parallel()
	ask := message.User("Look around. If all is well, say HEARTBEAT_OK.")
	quiet := []message.Message{ask, calling("c1"), answering("c1", "r"), message.Assistant(message.Text("**HEARTBEAT_OK**"))}
	loud := []message.Message{ask, message.Assistant(message.Text("The disk is full.")), message.Assistant(message.Text("HEARTBEAT_OK"))}
	out := hygiene(prune.PolicyCommon, prune.Input{}, append(append(quiet, loud...), quiet...)...)
	require.Equal(t, "uaauata", roles(out), "the last turn is not over")
}

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

func TestSpec02_9_36_CallIDs(t *testing.T) {
	t.Parallel()
	again := []message.Message{calling("call_1"), answering("call_1", "a"), calling("call_1"), answering("call_1", "b")}
	ids := func(ms []message.Message) []string {
		var out []string
		for _, m := range ms {
			for b := range m.ToolCalls() {
				out = append(out, b.ID)
			}
			if m.Role == message.RoleToolResult {
				out = append(out, m.ToolCallID)
			}
		}
		return out
	}
	require.Equal(t, []string{"call1", "call1", "call12", "call12"}, ids(prune.SanitizeCallIDs(again, prune.IDsStrict)))
	require.True(t, sameList(again, prune.SanitizeCallIDs(again, prune.IDsAsTheyAre)))

	nine := []message.Message{calling("call_abcdefghij"), answering("call_abcdefghij", "a"), calling("call_abcdefghik"), answering("call_abcdefghik", "b")}
	require.Equal(t, []string{"callabcde", "callabcde", "60ac50f07", "60ac50f07"}, ids(prune.SanitizeCallIDs(nine, prune.IDsNine)))

	native := []message.Message{calling("toolu_01"), answering("toolu_01", "a")}
	require.True(t, sameList(native, prune.SanitizeCallIDs(native, prune.IDsNative)))
	require.Equal(t, []string{"toolu01", "toolu01"}, ids(prune.SanitizeCallIDs(native, prune.IDsStrict)))

	alias := answering("", "a").WithExtra("toolUseId", json.RawMessage(`"call_1"`))
	out := prune.SanitizeCallIDs([]message.Message{calling("call_1"), alias}, prune.IDsStrict)
	require.JSONEq(t, `"call1"`, string(out[1].Extra["toolUseId"]))
}

func TestSanitizeCallID(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "defaulttoolid", "!": "sanitizedtoolid", "functions.read:0": "functions.read:0", "a-b": "ab"} {
		require.Equal(t, want, prune.SanitizeCallID(in, prune.IDsStrict))
	}
	for _, in := range []string{"", "!", "abc", "abcdefghijkl"} {
		require.Len(t, prune.SanitizeCallID(in, prune.IDsNine), 9)
	}
	require.Equal(t, "a-b", prune.SanitizeCallID("a-b", prune.IDsAsTheyAre))
	require.True(t, prune.IDsNine.Valid())
	require.False(t, prune.IDMode("x").Valid())
}

// TestCallIDsWithCollisions: ids that become equal are kept apart, within 40 characters.
func TestCallIDsWithCollisions(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60)
	var ms []message.Message
	for _, id := range []string{"a_1", "a-1", "a.1", "a1", long + "1", long + "2"} {
		ms = append(ms, calling(id), answering(id, "r "+id))
	}
	seen := map[string]bool{}
	out := prune.SanitizeCallIDs(ms, prune.IDsStrict)
	for i := 0; i < len(out); i += 2 {
		id := out[i].Content[0].ID
		require.Regexp(t, `^[A-Za-z0-9]{1,40}$`, id)
		require.False(t, seen[id])
		seen[id] = true
		require.Equal(t, id, out[i+1].ToolCallID)
	}
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

func TestX10_UsageBeforeACompactionIsForgotten(t *testing.T) {
	t.Parallel()
	used := func(at int64) message.Message {
		m := stopped(message.StopEnd, message.Text("a"))
		m.Usage, m.Timestamp = &message.Usage{Total: 9}, time.UnixMilli(at)
		return m
	}
	ms := []message.Message{message.CompactionSummary("s", 1, time.UnixMilli(50)), message.User("q"), used(40), message.User("n"), used(60)}
	out := hygiene(prune.PolicyCommon, prune.Input{}, ms...)
	require.Nil(t, out[2].Usage, "it counted what the summary replaced")
	require.Equal(t, 9, out[4].Usage.Total)
	require.NotNil(t, ms[2].Usage)
	none := ms[1:]
	require.True(t, sameList(none, prune.ForgetStaleUsage(none)))
}

func TestAlternateTurnsDropsDanglingCalls(t *testing.T) {
	t.Parallel()
	out := prune.AlternateTurns([]message.Message{message.User("q"), calling("c1"), message.User("n")})
	require.Equal(t, prune.OmittedCallsText, out[1].Text())
	thinks := stopped(message.StopToolUse, message.Thinking("t", "c2ln"), message.ToolCall("c1", "read", nil), message.ToolCall("c2", "read", nil))
	out = prune.AlternateTurns([]message.Message{message.User("q"), thinks, answering("c1", "r"), message.User("n")})
	require.Equal(t, prune.OmittedCallsText, out[1].Text(), "signed as a whole, so dropped as a whole")
}

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

func TestImageTypes(t *testing.T) {
	t.Parallel()
	webp := "UklGRiQAAABXRUJQVlA4"
	for data, want := range map[string]string{
		"iVBORw0KGgoAAAA": "image/png", "/9j/4AAQ": "image/jpeg", "R0lGODlh": "image/gif", webp: "image/webp", "AAAA": "image/x",
	} {
		ms := prune.CleanContent([]message.Message{{Role: message.RoleUser, Content: []message.Block{message.Image(data, "image/x")}}})
		require.Equal(t, want, ms[0].Content[0].MIMEType, data)
	}
	huge := message.Image(strings.Repeat("A", 8<<20), "image/png")
	ms := prune.CleanContent([]message.Message{{Role: message.RoleUser, Content: []message.Block{huge}}})
	require.Equal(t, prune.UnreadableImageText, ms[0].Text())
}
