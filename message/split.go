package message

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// SplitResults turns the result blocks of a message into messages of their own. They stand
// before what is left of m, if anything: results answer the message before them. Behind an
// assistant message they follow it, because the call of a provider's own tool comes first. A
// message without such blocks, and a tool result, come back alone. The new messages have m's
// timestamp and no Key. Blocks in another provider's spelling stay, as its calls do.
func SplitResults(m Message) []Message {
	if m.Role == RoleToolResult || !slices.ContainsFunc(m.Content, isResultBlock) {
		return []Message{m}
	}
	var results []Message
	var rest []Block
	for k, b := range m.Content {
		if isResultBlock(b) {
			results = append(results, resultMessage(m, k))
		} else {
			rest = append(rest, b)
		}
	}
	if len(rest) == 0 {
		return results
	}
	m.Content = rest
	if m.Role == RoleAssistant {
		return slices.Insert(results, 0, m)
	}
	return append(results, m)
}

func isResultBlock(b Block) bool { return b.Type == BlockToolResult }

// resultMessage makes a message of the result block m.Content[k]. Providers put the output
// into the block's text, content or data, and the flag under one of two names. What has
// another form than theirs stays in Extra.
func resultMessage(m Message, k int) Message {
	b := m.Content[k]
	id, name := identify(&m, k)
	out := Message{Role: RoleToolResult, ToolCallID: id, ToolName: name, Timestamp: m.Timestamp}
	if b.Text != "" {
		out.Content = append(out.Content, Text(b.Text))
	}
	read := map[string]bool{}
	content, form := contentOf(b.Extra[keyContent])
	read[keyContent] = form != formOther || jsonx.KindOf(b.Extra[keyContent]) == jsonx.Null
	out.Content = append(out.Content, content...)
	if b.Data != "" {
		out.Content = append(out.Content, Image(b.Data, b.MIMEType))
	}
	for _, key := range []string{"isError", "is_error"} {
		failed, fit := jsonx.Bool(b.Extra[key])
		out.IsError = out.IsError || failed
		read[key] = fit != jsonx.Unfit
	}
	out.Extra = maps.Clone(b.Extra)
	maps.DeleteFunc(out.Extra, func(key string, _ json.RawMessage) bool {
		return read[key] || keysOf(b.Type).owns(key)
	})
	if len(out.Extra) == 0 {
		out.Extra = nil
	}
	return out
}
