package transcript

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-contextengine/contextengine/internal/jsonx"
	"github.com/go-contextengine/contextengine/message"
)

// message mends the message of a row. What is not damaged stays byte for byte.
func (r *repairer) message(row []byte, line int32) ([]byte, error) {
	if stringField(row, "type") != string(EntryMessage) {
		return row, nil
	}
	m := jsonx.Get(row, "message")
	content := jsonx.Get(m, "content")
	mended := content
	switch role := message.Role(stringField(m, "role")); {
	case role == message.RoleAssistant && emptyList(content) && stringField(m, "stopReason") == "error":
		mended = textList(RepairAnswerText)
		r.change(line, RepairFailedAnswer, "")
	case role == message.RoleUser:
		mended = r.input(content, line)
	}
	mended = r.images(mended, line)
	if bytes.Equal(mended, content) {
		return row, nil
	}
	return patched(row, "message", patched(m, "content", mended)), nil
}

func emptyList(raw []byte) bool {
	return jsonx.KindOf(raw) == jsonx.Array && len(elements(raw)) == 0
}

func textList(text string) []byte {
	return fmt.Appendf(nil, `[{"type":"text","text":%s}]`, encodeString(text))
}

func elements(list []byte) [][]byte {
	var out [][]byte
	for raw := range jsonx.Elements(list) {
		out = append(out, raw)
	}
	return out
}

func joinList(items [][]byte) []byte {
	return append(append([]byte("["), bytes.Join(items, []byte(","))...), ']')
}

// input makes sure that a user says something.
func (r *repairer) input(content []byte, line int32) []byte {
	if s, ok := rawString(content); ok {
		if !blank(s) {
			return content
		}
		r.change(line, RepairBlankInput, "")
		return encodeString(RepairInputText)
	}
	if jsonx.KindOf(content) != jsonx.Array {
		return content
	}
	blocks := elements(content)
	var kept [][]byte
	for _, b := range blocks {
		if stringField(b, "type") != string(message.BlockText) || !blank(stringField(b, "text")) {
			kept = append(kept, b)
		}
	}
	if len(kept) == len(blocks) {
		return content
	}
	r.change(line, RepairBlankInput, "")
	if len(kept) == 0 {
		return textList(RepairInputText)
	}
	return joinList(kept)
}

// images takes out images that no provider can decode.
func (r *repairer) images(content []byte, line int32) []byte {
	if jsonx.KindOf(content) != jsonx.Array {
		return content
	}
	blocks := elements(content)
	changed := false
	for i, b := range blocks {
		if stringField(b, "type") != string(message.BlockImage) {
			continue
		}
		data, ok := rawString(jsonx.Get(b, "data"))
		if !ok || isBase64(data) {
			continue
		}
		blocks[i] = fmt.Appendf(nil, `{"type":"text","text":%s}`, encodeString(RepairImageText))
		r.change(line, RepairImage, "")
		changed = true
	}
	if !changed {
		return content
	}
	return joinList(blocks)
}

// isBase64 accepts the standard alphabet with white space and with or without padding.
func isBase64(s string) bool {
	n, padding := 0, 0
	for _, c := range []byte(s) {
		switch {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case c == '=':
			padding++
		case padding > 0:
			return false
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/':
			n++
		default:
			return false
		}
	}
	return n > 0 && padding <= 2 && n%4 != 1 && (padding == 0 || (n+padding)%4 == 0)
}

// addResults answers calls that nothing answers and whose provider will not go on without it.
func (r *repairer) addResults(s *session, i, line int32) error {
	if r.snap.rows[i].kind != kindAssistant {
		return nil
	}
	e, err := newRowReader(r.snap).entry(i)
	if err != nil || e.Message == nil {
		return err
	}
	parent := e.ID
	for call := range e.Message.ToolCalls() {
		needed := strictResults(*e.Message) || call.Name == "message" && r.mirrored[i]
		if !needed || r.answered[call.ID] {
			continue
		}
		added := s.missingResult(parent, call)
		text, err := encodeRow(added, rowOwn{})
		if err != nil {
			return err
		}
		r.line(text)
		r.change(line, RepairMissingResult, fmt.Sprintf("call %q", call.ID))
		parent = added.ID
		r.under[i] = parent
	}
	return nil
}

// strictResults reports whether the API that m came from refuses a call without its result.
func strictResults(m message.Message) bool {
	return strings.EqualFold(m.Provider, "openai") && m.API == "openai-chatgpt-responses"
}

// missingResult makes the row for the result of a call that was cut short.
func (s *session) missingResult(parent string, call message.Block) Entry {
	now := s.now().UTC()
	m := message.MissingResult(call.ID, call.Name, RepairResultText)
	m.Timestamp = now
	return Entry{Type: EntryMessage, ID: "repair-" + newUUID(now), ParentID: parent, Timestamp: now, Message: &m}
}
