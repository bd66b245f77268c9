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

func block(t *testing.T, raw string) message.Block {
	t.Helper()
	var b message.Block
	require.NoError(t, json.Unmarshal([]byte(raw), &b))
	return b
}

func TestRepairCalls(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw string
		keeps     bool
	}{
		{"whole", `{"type":"toolCall","id":"a","name":"read","arguments":{}}`, true},
		{"name with signs", `{"type":"toolCall","id":"a","name":"mcp:files.read-1","arguments":{}}`, true},
		{"other spelling", `{"type":"toolUse","id":"a","name":"read","input":{}}`, true},
		{"id elsewhere", `{"type":"tool_use","call_id":"a","name":"read","input":{}}`, true},
		{"null arguments", `{"type":"toolCall","id":"a","name":"read","arguments":null}`, false},
		{"no arguments", `{"type":"functionCall","id":"a","name":"read"}`, false},
		{"no id", `{"type":"toolCall","name":"read","arguments":{}}`, false},
		{"blank id", `{"type":"toolCall","id":" ","name":"read","arguments":{}}`, false},
		{"no name", `{"type":"toolCall","id":"a","arguments":{}}`, false},
		{"no tool name", `{"type":"toolCall","id":"a","name":"read it","arguments":{}}`, false},
		{"long name", `{"type":"toolCall","id":"a","name":"` + strings.Repeat("x", 65) + `","arguments":{}}`, false},
		{"unfinished", `{"type":"toolCall","id":"a","name":"read","arguments":{},"partialJson":"{"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ms := []message.Message{message.Assistant(message.Text("hi"), block(t, tt.raw))}
			out, r := prune.RepairCalls(ms, nil)
			require.Equal(t, tt.keeps, sameList(ms, out))
			require.Equal(t, tt.keeps, len(out[0].Content) == 2)
			require.Equal(t, tt.keeps, r == prune.CallRepair{})
		})
	}
}

func TestRepairCallsByName(t *testing.T) {
	t.Parallel()
	ms := []message.Message{
		message.User("q"),
		message.Assistant(message.ToolCall("a", " Read ", nil), message.ToolCall("b", "exec", nil)),
		message.Assistant(message.ToolCall("c", "exec", nil)),
	}
	out, r := prune.RepairCalls(ms, []string{"READ"})
	require.Equal(t, prune.CallRepair{DroppedCalls: 2, DroppedMessages: 1}, r)
	require.Len(t, out, 2)
	require.Equal(t, "Read", out[1].Content[0].Name)
}

func TestCapResultKeepsOthers(t *testing.T) {
	t.Parallel()
	user := message.User(strings.Repeat("u", 99))
	require.Equal(t, user, prune.CapResult(user, 10))
	m := message.ToolResult("c", "read", message.Text(strings.Repeat("r", 5_000)))
	require.Len(t, prune.CapResult(m, 3_000).Text(), 3_000)
	require.Len(t, m.Text(), 5_000)
}

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

func TestCleanReplay(t *testing.T) {
	t.Parallel()
	ms := []message.Message{message.User("q"), message.Assistant(message.Text(" ")), message.User("")}
	out := prune.CleanReplay(ms)
	require.Equal(t, "ua", roles(out), "blank answers are left to CleanContent")
	require.Equal(t, "u", roles(prune.CleanContent(out)))
	require.True(t, sameList(out, prune.CleanReplay(out)))
}

func TestCacheTTLMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		allow, deny []string
		tool        string
		want        bool
	}{
		{nil, nil, "any", true},
		{[]string{"web_*"}, nil, " Web_Fetch ", true},
		{[]string{"web_*"}, []string{"web_search"}, "web_search", false},
		{[]string{"read"}, nil, "reader", false},
		{[]string{"*a*c"}, nil, "xaybc", true},
		{[]string{"*a*c"}, nil, "xaybcd", false},
		{[]string{"a*b*c"}, nil, "abxc", true},
		{[]string{"a*b*c"}, nil, "ac", false},
		{[]string{"*"}, nil, "", true},
		{[]string{" "}, nil, "any", true},
		{nil, []string{"*"}, "any", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, prune.CacheTTLOptions{Allow: tt.allow, Deny: tt.deny}.Matches(tt.tool), "%v", tt)
	}
}

func TestParseCacheTTLClamps(t *testing.T) {
	t.Parallel()
	o, on, err := prune.ParseCacheTTL(json.RawMessage(`{"mode":"cache-ttl","keepLastAssistants":2.7,"softTrimRatio":3,
		"hardClearRatio":-1,"minPrunableToolChars":-5,"softTrim":{"headChars":0,"maxChars":10},"hardClear":{"enabled":false,"placeholder":"  "}}`))
	require.NoError(t, err)
	require.True(t, on)
	e := o.Effective()
	require.Equal(t, 2, e.KeepAssistants)
	require.InDelta(t, 1, e.SoftRatio, 0)
	require.Negative(t, e.HardRatio)
	require.Negative(t, e.MinPrunable)
	require.Equal(t, prune.SoftTrim{Max: 10, Head: -1, Tail: 1_500}, e.SoftTrim)
	require.True(t, e.NoHardClear)
	require.Empty(t, e.Placeholder)
}

func TestCacheTTLWithoutThinking(t *testing.T) {
	t.Parallel()
	ms := session(3, 4_500)
	thinks := message.Assistant(message.Thinking(strings.Repeat("t", 80_000), "s"))
	thinks.Key = "t"
	ms = append([]message.Message{ms[0], thinks}, ms[1:]...)
	in := compatInput(50_000, time.Hour)
	require.False(t, sameList(ms, warm(nil, in).Apply(ms, in)))
	require.True(t, sameList(ms, warm(&prune.CacheTTLOptions{ThinkingDropped: true}, in).Apply(ms, in)), "what is not sent does not count")
}
