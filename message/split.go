package message

import (
	"encoding/json"
	"maps"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// SplitResults turns the result blocks of a message into messages of their own, which come
// first, followed by what is left of m, if anything. A message without such blocks, and a
// tool result, come back alone. The new messages have m's timestamp and no Key.
func SplitResults(m Message) []Message {
	if m.Role == RoleToolResult {
		return []Message{m}
	}
	var out []Message
	var rest []Block
	for k, b := range m.Content {
		if isResult(b.Type) {
			out = append(out, resultMessage(m, k))
		} else {
			rest = append(rest, b)
		}
	}
	if out == nil {
		return []Message{m}
	}
	if len(rest) > 0 {
		m.Content = rest
		out = append(out, m)
	}
	return out
}

// resultMessage makes a message of the result block m.Content[k]. Providers put the output
// into the block's text or content, and the flag under one of two names.
func resultMessage(m Message, k int) Message {
	b := m.Content[k]
	id, name := identify(&m, k)
	out := Message{Role: RoleToolResult, ToolCallID: id, ToolName: name, Timestamp: m.Timestamp}
	if b.Text != "" {
		out.Content = append(out.Content, Text(b.Text))
	}
	content, _ := contentOf(b.Extra[keyContent])
	out.Content = append(out.Content, content...)
	for _, key := range []string{"isError", "is_error"} {
		failed, _ := jsonx.Bool(b.Extra[key])
		out.IsError = out.IsError || failed
	}
	out.Extra = maps.Clone(b.Extra)
	maps.DeleteFunc(out.Extra, func(key string, _ json.RawMessage) bool {
		return key == keyContent || key == "isError" || key == "is_error" || keysOf(b.Type).owns(key)
	})
	if len(out.Extra) == 0 {
		out.Extra = nil
	}
	return out
}
