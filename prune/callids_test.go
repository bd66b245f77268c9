package prune_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

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

// TestCallIDsOfResultBlocks: a result inside a user's message follows its call too.
func TestCallIDsOfResultBlocks(t *testing.T) {
	t.Parallel()
	answer := message.Message{Role: message.RoleUser, Content: []message.Block{
		message.Text("mine"), {Type: message.BlockToolResult, ID: "call_1", Text: "a"},
	}}
	ms := []message.Message{calling("call_1"), answer, calling("call_1"), answer}
	for _, policy := range []prune.Policy{prune.PolicyAnthropic, prune.PolicyGemini, prune.PolicyOpenAIChat, prune.PolicyMistral} {
		out := prune.Apply(append([]message.Message{message.User("go")}, ms...), prune.Input{}, prune.Hygiene(policy)...)
		var calls, results []string
		for _, m := range out {
			for _, b := range m.Content {
				switch {
				case b.IsCall():
					calls = append(calls, b.ID)
				case b.Type == message.BlockToolResult:
					results = append(results, b.ID)
				}
			}
		}
		require.Len(t, calls, 2, policy)
		require.Equal(t, calls, results, policy)
		require.NotEqual(t, calls[0], calls[1], policy)
	}
	require.Equal(t, "call_1", answer.Content[1].ID, "what is stored stays")
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

func TestAnthropicTakesItsOwnIDsAndNamesOnly(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"functions.read:0", "functions." + strings.Repeat("x", 60) + ":12", "toolu_" + strings.Repeat("a", 58), "toolu_" + strings.Repeat("a", 59), "call|fc", "日本",
	} {
		out := hygiene(prune.PolicyAnthropic, prune.Input{}, message.User("hi"), calling(id), answering(id, "ok"))
		require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, out[1].Content[0].ID)
		require.Equal(t, out[1].Content[0].ID, out[2].ToolCallID)
	}
	named := func(name string) []message.Message {
		return []message.Message{message.User("hi"), message.Assistant(message.ToolCall("c1", name, nil)), message.ToolResult("c1", name, message.Text("ok"))}
	}
	for _, policy := range []prune.Policy{prune.PolicyAnthropic, prune.PolicyOpenAIChat, prune.PolicyOpenAIResponses, prune.PolicyMistral} {
		out := hygiene(policy, prune.Input{}, named("mcp.read:all")...)
		require.Equal(t, []string{"mcp_read_all", "mcp_read_all"}, []string{out[1].Content[0].Name, out[2].ToolName}, "%s", policy)
	}
	out := hygiene(prune.PolicyGemini, prune.Input{}, named("mcp.read")...)
	require.Equal(t, "mcp.read", out[1].Content[0].Name)
}

// TestNumberedIDsKeepTheirForm: models that count their calls read the number.
func TestNumberedIDsKeepTheirForm(t *testing.T) {
	t.Parallel()
	long := "functions." + strings.Repeat("x", 60)
	var ms []message.Message
	for _, id := range []string{long + ":12", long + "y:12", long + ":13", "functions." + "read:1234567890123"} {
		ms = append(ms, calling(id), answering(id, "r"))
	}
	out := prune.SanitizeCallIDs(ms, prune.IDsStrict)
	seen := map[string]bool{}
	for i, form := range []string{`^functions\.x+:12$`, `^functions\.x+[0-9a-f]{8}:12$`, `^functions\.x+:13$`, `^functionsread1234567890123$`} {
		id := out[2*i].Content[0].ID
		require.Regexp(t, form, id)
		require.LessOrEqual(t, len(id), 40)
		require.False(t, seen[id])
		seen[id] = true
		require.Equal(t, id, out[2*i+1].ToolCallID)
	}
	require.True(t, equalLists(out, prune.SanitizeCallIDs(out, prune.IDsStrict)))
}
