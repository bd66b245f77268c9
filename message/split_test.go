package message_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

func TestSplitResults(t *testing.T) {
	t.Parallel()
	m := decode(t, `{"role":"user","timestamp":7,"content":[
		{"type":"text","text":"before"},
		{"type":"toolResult","toolCallId":"c1","toolName":"read","content":"one","isError":true,"k":1},
		{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"},{"type":"image","data":"AA==","mimeType":"image/png"}]}]}`)
	parts := message.SplitResults(m)
	require.Len(t, parts, 2)
	require.Equal(t, "c1", parts[0].ToolCallID)
	require.Equal(t, "read", parts[0].ToolName)
	require.Equal(t, "one", parts[0].Text())
	require.True(t, parts[0].IsError)
	require.JSONEq(t, `1`, string(parts[0].Extra["k"]))
	require.Equal(t, m.Timestamp, parts[0].Timestamp)
	require.Equal(t, message.RoleUser, parts[1].Role)
	require.Equal(t, []message.Block{m.Content[0], m.Content[2]}, parts[1].Content, "another provider's spelling stays")

	own := decode(t, `{"role":"assistant","content":[
		{"type":"toolCall","id":"c1","name":"search","arguments":{}},
		{"type":"toolResult","tool_use_id":"c1","name":"search","data":"AA==","mimeType":"image/png","text":"found"}]}`)
	parts = message.SplitResults(own)
	require.Len(t, parts, 2)
	require.Equal(t, own.Content[:1], parts[0].Content, "the call of a provider's own tool comes first")
	require.Equal(t, "c1", parts[1].ToolCallID)
	require.Equal(t, "search", parts[1].ToolName)
	require.Equal(t, []message.Block{message.Text("found"), message.Image("AA==", "image/png")}, parts[1].Content)

	alone := message.Message{Role: message.RoleUser, Content: []message.Block{{Type: message.BlockToolResult, ID: "c1", Text: "x"}}}
	require.Equal(t, []message.Message{message.ToolResult("c1", "", message.Text("x"))}, message.SplitResults(alone))

	require.Equal(t, []message.Message{message.User("x")}, message.SplitResults(message.User("x")))

	flags := decode(t, `{"role":"user","content":[
		{"type":"toolResult","toolCallId":" c1","isError":false,"is_error":true},
		{"type":"toolResult","toolCallId":"c2","isError":true,"is_error":false},
		{"type":"toolResult","toolCallId":"c3","isError":false}]}`)
	for i, part := range message.SplitResults(flags) {
		require.Equal(t, i < 2, part.IsError, i)
		require.Nil(t, part.Extra, "the flag is in its field")
	}
	require.Equal(t, " c1", message.SplitResults(flags)[0].ToolCallID, "as its call may spell it")

	result := message.ToolResult("c1", "read", message.Block{Type: message.BlockToolResult, ID: "c2"}, message.Text("x"))
	require.Equal(t, []message.Message{result}, message.SplitResults(result), "is one already")
}

// What a result's fields cannot hold is in Extra, and in the JSON of the message.
func TestSplitResultsKeepsOddContent(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`42`:                            `42`,
		`["a",3]`:                       `["a",3]`,
		`{"type":"text","text":"x"}`:    `[{"type":"text","text":"x"}]`,
		`null`:                          `[]`,
		`[{"type":"blob","bytes":"x"}]`: `[{"type":"blob","bytes":"x"}]`,
	} {
		part := message.SplitResults(decode(t, `{"role":"user","content":[
			{"type":"toolResult","toolCallId":"c1","isError":"yes","content":`+content+`}]}`))[0]
		raw, err := json.Marshal(part)
		require.NoError(t, err)
		require.JSONEq(t, `{"role":"toolResult","toolCallId":"c1","isError":"yes","content":`+want+`}`, string(raw))
	}
}
