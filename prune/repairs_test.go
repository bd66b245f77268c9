package prune_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

// TestAppendingToAResultIsSafe: neither the log nor what a pass remembers changes.
func TestAppendingToAResultIsSafe(t *testing.T) {
	t.Parallel()
	failed := stopped(message.StopError, message.Text(prune.FailedText))
	array := []message.Message{message.User("hi"), message.Assistant(message.Text("yes")), message.User("go"), failed, message.User("later")}
	for _, log := range [][]message.Message{array[:4], array[:3]} {
		for name, make := range passes() {
			before, pass := message.Clone(array), make()
			out := pass.Apply(log, prune.Input{})
			_ = append(out, message.User("next"))
			require.True(t, equalLists(before, array), name)
			out = pass.Apply(append(log[:3:3], failed, message.User("other")), prune.Input{})
			require.NotContains(t, join(out), "next", name)
		}
	}
	out := prune.CleanReplay(array[:4])
	require.Len(t, out, 3)
	_ = append(out, message.User("next"))
	require.Equal(t, message.RoleAssistant, array[3].Role)
}

// TestDroppedResultsHoldNoEmptyTexts: providers refuse them.
func TestDroppedResultsHoldNoEmptyTexts(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("line of output\n", 300)
	var log []message.Message
	for i := range 200 {
		id := fmt.Sprintf("c%d", i)
		result := message.ToolResult(id, "read", message.Text(big), message.Image("R0lGODlh", "image/gif"), message.Text("tail "+big))
		result.Key = id
		log = append(log, message.User("go"), calling(id), result)
	}
	many := message.ToolResult("many", "read")
	for range 400 {
		many.Content = append(many.Content, message.Text(big))
	}
	log = append(log, calling("many"), many, message.User("go"))
	in := prune.Input{Window: 8_000}
	small := &prune.ToolResultOptions{AggregateChars: 5_000}
	shorten := func(opts *prune.ToolResultOptions) []message.Message {
		out, _ := prune.Shorten(log, in, opts)
		return out
	}
	for name, out := range map[string][]message.Message{
		"ToolResults": prune.ToolResults(nil).Apply(log, in), "ToolResults, small": prune.ToolResults(small).Apply(log, in),
		"Shorten": shorten(nil), "Shorten, small": shorten(small),
		"CapResult": {prune.CapResult(many, 100), prune.CapResult(many, 0), prune.CapResult(many, 16_000)},
	} {
		for _, m := range out {
			require.NotEmpty(t, m.Content, name)
			for _, b := range m.Content {
				require.False(t, b.Type == message.BlockText && strings.TrimSpace(b.Text) == "", "%s: %v", name, m.Content)
			}
		}
	}
	for _, limit := range []int{0, 1, 50, 100, 16_000} {
		capped := prune.CapResult(many, limit)
		require.LessOrEqual(t, len(capped.Text()), max(1, limit)+len(capped.Content), "all of them together")
	}
	out := prune.ToolResults(small).Apply(log, in)
	require.Len(t, out[2].Content, 2)
	require.Contains(t, out[2].Content[0].Text, "[tool output dropped")
	require.Equal(t, message.BlockImage, out[2].Content[1].Type, "only texts are bounded")
}

func TestOnlyHeartbeatAsksGo(t *testing.T) {
	t.Parallel()
	ok := stopped(message.StopEnd, message.Text(message.HeartbeatReply))
	marked := message.User("Look around.").WithExtra("provenance", json.RawMessage(`{"kind":"heartbeat"}`))
	joined := message.Message{Role: message.RoleUser, Content: []message.Block{message.Text("Deploy v2."), message.Text("Or say HEARTBEAT_OK.")}}
	for _, tt := range []struct {
		name string
		ask  message.Message
		goes bool
	}{
		{"a person's", message.User("Deploy v2 to /srv/prod now."), false},
		{"a prompt", message.User("If all is well, say HEARTBEAT_OK."), true},
		{"a marked one", marked, true},
		{"one by a custom message", message.Custom("heartbeat", message.Text("Look around.")), true},
		{"another custom message", message.Custom("note", message.Text("Look around.")), false},
		{"a person's and a prompt", joined, false},
		{"a summary", message.CompactionSummary("we said HEARTBEAT_OK", 9, time.Time{}), false},
		{"a converted summary", message.ForModel([]message.Message{message.CompactionSummary("we said HEARTBEAT_OK", 9, time.Time{})})[0], false},
	} {
		out := hygiene(prune.PolicyCommon, prune.Input{}, tt.ask, ok, message.User("well?"))
		require.Equal(t, tt.goes, len(out) == 1, tt.name)
	}
}

// TestCustomMessagesAreCleanedLikeUsers: they become user messages.
func TestCustomMessagesAreCleanedLikeUsers(t *testing.T) {
	t.Parallel()
	for _, m := range []message.Message{
		message.Custom("n", message.Text(" ")), message.Custom("n"), message.BranchSummary("  ", "e", time.Time{}), message.CompactionSummary("", 1, time.Time{}),
	} {
		require.Len(t, hygiene(prune.PolicyCommon, prune.Input{}, message.User("hi"), m), 1, "%s", m.Role)
	}
	out := hygiene(prune.PolicyCommon, prune.Input{}, message.Custom("n", message.Text("a"), message.Image("zzzz", ""), message.Text("")))
	require.Equal(t, []message.Block{message.Text("a"), message.Text(prune.UnreadableImageText)}, out[0].Content)
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

// TestArgumentsAreObjects for every provider; what the model wrote stays to be seen.
func TestArgumentsAreObjects(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, `[]`: `{"arguments":[]}`, `"x"`: `{"arguments":"x"}`, `1`: `{"arguments":1}`, `{"a":`: `{"arguments":"{\"a\":"}`, `"{\"a\":1}"`: `{"a":1}`,
	} {
		for _, policy := range policies() {
			call := message.Block{Type: message.BlockToolCall, ID: "c1", Name: "read", Arguments: json.RawMessage(args)}
			out := hygiene(policy, prune.Input{}, message.User("hi"), message.Assistant(call), answering("c1", "ok"))
			require.Len(t, out, 3)
			require.JSONEq(t, want, string(out[1].Content[0].Arguments), "%s", policy)
		}
	}
}

func TestFailedAnswerGoesWhenWhatFollowedItGoes(t *testing.T) {
	t.Parallel()
	for _, policy := range policies() {
		out := hygiene(policy, prune.Input{}, message.User("hi"), stopped(message.StopError), answering("gone", "x"))
		require.Equal(t, "u", roles(out), "%s", policy)
	}
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

// TestStandardKeepsThePrefixWithImages: with one image in each turn, most requests begin
// like the one before.
func TestStandardKeepsThePrefixWithImages(t *testing.T) {
	t.Parallel()
	passes := prune.Standard(prune.PolicyAnthropic)
	var log, sent []message.Message
	breaks := 0
	for i := range 24 {
		user := message.User(fmt.Sprintf("see %d", i))
		user.Content = append(user.Content, message.Image("iVBORw0KGgoAAAA", "image/png"))
		log = append(log, user)
		out := prune.Apply(log, prune.Input{Provider: "anthropic", Window: 200_000}, passes...)
		if !equalLists(sent, out[:len(sent)]) {
			breaks++
		}
		sent = message.Clone(out)
		log = append(log, stopped(message.StopEnd, message.Text("ok")))
	}
	require.Equal(t, 4, breaks, "20 of the images went, five at a time")
}

// TestRestartsChangeNothing: a process that restarts before each turn sends what one that
// runs on sends, whether requests succeed and the cache goes cold or not.
func TestRestartsChangeNothing(t *testing.T) {
	t.Parallel()
	fresh := func() []prune.Pass {
		return append([]prune.Pass{prune.CacheTTL(nil)}, prune.Standard(prune.PolicyAnthropic)...)
	}
	stateful := func(passes []prune.Pass) (out []prune.Stateful) {
		for _, p := range passes {
			if s, ok := p.(prune.Stateful); ok {
				out = append(out, s)
			}
		}
		return out
	}
	runs, restarts := fresh(), fresh()
	now := time.UnixMilli(1_000_000_000)
	big := strings.Repeat("line of output\n", 900)
	var log []message.Message
	for i := range 40 {
		id := fmt.Sprintf("c%d", i%7)
		log = append(log, message.User("go"), calling(id), answering(id, big), message.Assistant(message.Text("ok")))
		for j := range log {
			log[j].Key = fmt.Sprint("k", j)
		}
		again := fresh()
		for k, p := range stateful(again) {
			require.NoError(t, p.Restore(stateful(restarts)[k].Snapshot()))
		}
		restarts = again
		in := prune.Input{Provider: "anthropic", Model: "claude-sonnet-4-5", Window: 100_000, Now: now}
		want := prune.Apply(log, in, runs...)
		requireEqualLists(t, want, prune.Apply(message.Clone(log), in, restarts...), fmt.Sprint("turn ", i))
		if i%3 != 1 {
			stateful(runs)[0].Observe(message.Usage{}, now)
			stateful(restarts)[0].Observe(message.Usage{}, now)
		}
		now = now.Add(time.Duration(i*13%400) * time.Second)
	}
	require.NotEmpty(t, stateful(runs)[0].Snapshot())
}
