package message_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

func TestText(t *testing.T) {
	t.Parallel()
	require.Empty(t, message.Assistant().Text())
	require.Equal(t, "a", message.Assistant(message.Thinking("hm", ""), message.Text("a")).Text())
	require.Equal(t, "\na\nb", message.Assistant(message.Text(""), message.Text("a"), message.Image("", ""), message.Text("b")).Text())
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	m := message.Assistant(message.Text("x"), message.ToolCall("a", "f", nil), message.ToolCall("b", "g", json.RawMessage(`{"x":1}`)))
	var ids []string
	for c := range m.ToolCalls() {
		ids = append(ids, c.ID+string(c.Arguments))
	}
	require.Equal(t, []string{"a{}", `b{"x":1}`}, ids)
	for range m.ToolCalls() {
		break
	}
	broken := message.ToolCall("a", "f", json.RawMessage(`{"x":`))
	require.Equal(t, `"{\"x\":"`, string(broken.Arguments))
}
