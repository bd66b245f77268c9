package message

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// MarshalJSON returns the message as [Message.AppendJSON] writes it.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil) }

// MarshalJSON returns the block as [Block.AppendJSON] writes it.
func (b Block) MarshalJSON() ([]byte, error) { return b.AppendJSON(nil) }

// MarshalJSON returns the counts in the wire form.
func (u Usage) MarshalJSON() ([]byte, error) { return u.appendJSON(nil) }

// AppendJSON appends the message to dst, role and content first, the fields of Extra in key
// order, the timestamp last. Text is not HTML-escaped and raw values are written byte for
// byte, so the result can contain line breaks where Arguments or Extra have them. The error,
// if any, says which field of Extra is not JSON; dst's contents are then unspecified.
func (m Message) AppendJSON(dst []byte) ([]byte, error) {
	e := encoder{object: jsonx.NewObject(dst), extra: m.Extra}
	std := standardKeys(m.Role)
	e.text("role", string(m.Role), false)
	e.text("toolCallId", m.ToolCallID, false)
	e.text("toolName", m.ToolName, false)
	e.content(m.Content, std.content)
	e.text("api", m.API, false)
	e.text("provider", m.Provider, false)
	e.text("model", m.Model, false)
	e.usage("usage", m.Usage)
	e.text("stopReason", m.StopReason, false)
	e.text("errorMessage", m.ErrorMessage, false)
	e.text("summary", m.Summary, std.summary)
	e.int("tokensBefore", m.TokensBefore, std.tokensBefore)
	e.bool("isError", m.IsError, std.isError)
	e.object.Extra(m.Extra, func(key string) bool { return messageKey([]byte(key)) >= 0 })
	e.time("timestamp", m.Timestamp)
	out, err := e.object.Close()
	if err != nil {
		return out, fmt.Errorf("encoding %s message: %w", m.Role, err)
	}
	return out, nil
}

// AppendJSON appends the block to dst under the rules of [Message.AppendJSON].
func (b Block) AppendJSON(dst []byte) ([]byte, error) {
	e := encoder{object: jsonx.NewObject(dst), extra: b.Extra}
	keys := keysOf(b.Type)
	e.text(bType.name(), string(b.Type), false)
	e.text(keys.id.name(), b.ID, keys.call)
	e.text(keys.toolName.name(), b.Name, keys.call)
	e.text(keys.text.name(), b.Text, keys.textual)
	e.raw(keys.arguments.name(), b.Arguments)
	e.text(bData.name(), b.Data, keys.image)
	e.text(bMIMEType.name(), b.MIMEType, keys.image)
	e.text(keys.signature.name(), b.Signature, false)
	e.object.Extra(b.Extra, keys.owns)
	out, err := e.object.Close()
	if err != nil {
		return out, fmt.Errorf("%s block: %w", b.Type, err)
	}
	return out, nil
}

func (u Usage) appendJSON(dst []byte) ([]byte, error) {
	e := encoder{object: jsonx.NewObject(dst), extra: u.Extra}
	e.int("input", u.Input, true)
	e.int("output", u.Output, true)
	e.int("cacheRead", u.CacheRead, true)
	e.int("cacheWrite", u.CacheWrite, true)
	e.int("totalTokens", u.Total, false)
	e.object.Extra(u.Extra, func(key string) bool { return usageKey([]byte(key)) >= 0 })
	out, err := e.object.Close()
	if err != nil {
		return out, fmt.Errorf("usage: %w", err)
	}
	return out, nil
}

// An encoder writes Go fields, giving way to what Extra holds under the same key as
// [Message.Extra] describes. Its methods mirror those of decoder.
type encoder struct {
	object jsonx.Object
	extra  map[string]json.RawMessage
}

// kept decides who writes a key: it writes the raw value and reports true when the field
// is still what the raw value decodes to, and reports true without writing when the source
// had no such key.
func (e *encoder) kept(key string, zero bool, matches func(raw json.RawMessage) (same bool, fit jsonx.Fit)) bool {
	raw, ok := e.extra[key]
	if !ok {
		return false
	}
	if len(raw) == 0 {
		return zero
	}
	same, fit := matches(raw)
	if same && fit != jsonx.Unfit || zero && fit == jsonx.Unfit {
		e.object.Raw(key, raw)
		return true
	}
	return false
}

func (e *encoder) text(key, value string, standard bool) {
	if e.extra != nil && e.kept(key, value == "", func(raw json.RawMessage) (bool, jsonx.Fit) {
		s, fit := jsonx.String(raw)
		return s == value, fit
	}) {
		return
	}
	if value != "" || standard {
		e.object.String(key, value)
	}
}

func (e *encoder) int(key string, value int, standard bool) {
	if e.extra != nil && e.kept(key, value == 0, func(raw json.RawMessage) (bool, jsonx.Fit) {
		n, fit := intOf(raw)
		return n == value, fit
	}) {
		return
	}
	if value != 0 || standard {
		e.object.Int(key, int64(value))
	}
}

func (e *encoder) bool(key string, value, standard bool) {
	if e.extra != nil && e.kept(key, !value, func(raw json.RawMessage) (bool, jsonx.Fit) {
		v, fit := jsonx.Bool(raw)
		return v == value, fit
	}) {
		return
	}
	if value || standard {
		e.object.Bool(key, value)
	}
}

func (e *encoder) time(key string, value time.Time) {
	if e.extra != nil && e.kept(key, value.IsZero(), func(raw json.RawMessage) (bool, jsonx.Fit) {
		t, fit := timeOf(raw)
		return t.Equal(value), fit
	}) {
		return
	}
	if !value.IsZero() {
		e.object.Int(key, value.UnixMilli())
	}
}

func (e *encoder) usage(key string, value *Usage) {
	if value != nil {
		e.object.Key(key)
		e.object.Append(value.appendJSON)
		return
	}
	if raw := e.extra[key]; len(raw) > 0 && jsonx.KindOf(raw) != jsonx.Map {
		e.object.Raw(key, raw)
	}
}

func (e *encoder) raw(key string, value json.RawMessage) {
	switch {
	case len(value) > 0:
		e.object.Key(key)
		e.object.Append(func(dst []byte) ([]byte, error) { return append(dst, validArguments(value)...), nil })
	case len(e.extra[key]) > 0:
		e.object.Raw(key, e.extra[key])
	}
}

func (e *encoder) content(blocks []Block, standard bool) {
	raw, marked := e.extra[keyContent]
	switch {
	case marked && len(blocks) == 0 && len(raw) == 0:
		return
	case marked && e.contentAs(raw, blocks):
		return
	case len(blocks) == 0 && !standard:
		return
	}
	e.object.Key(keyContent)
	e.object.Append(func(dst []byte) ([]byte, error) { return appendBlocks(dst, blocks) })
}

// contentAs writes the content in the form that raw stands for, if the blocks allow it.
func (e *encoder) contentAs(raw json.RawMessage, blocks []Block) bool {
	switch kind := jsonx.KindOf(raw); {
	case kind == jsonx.Text && len(blocks) == 1 && isPlainText(blocks[0]):
		inner := encoder{object: e.object, extra: blocks[0].Extra}
		if whole, ok := blocks[0].Extra[bText.name()]; ok {
			inner.extra = map[string]json.RawMessage{keyContent: whole}
		}
		inner.text(keyContent, blocks[0].Text, true)
		e.object = inner.object
	case kind == jsonx.Map && len(blocks) == 1:
		e.object.Key(keyContent)
		e.object.Append(blocks[0].AppendJSON)
	case kind == jsonx.Array:
		if decoded, _ := contentOf(raw); !equalBlocks(decoded, blocks) {
			return false
		}
		e.object.Raw(keyContent, raw)
	case kind != jsonx.Text && kind != jsonx.Map && len(blocks) == 0:
		e.object.Raw(keyContent, raw)
	default:
		return false
	}
	return true
}

// isPlainText reports whether a string says all that is in the block.
func isPlainText(b Block) bool {
	for key, raw := range b.Extra {
		if key != bText.name() || len(raw) == 0 {
			return false
		}
	}
	return b.Type == BlockText && b.Signature == "" && b.ID == "" && b.Name == "" &&
		len(b.Arguments) == 0 && b.Data == "" && b.MIMEType == ""
}

func appendBlocks(dst []byte, blocks []Block) ([]byte, error) {
	dst = append(dst, '[')
	for i := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = blocks[i].AppendJSON(dst); err != nil {
			return dst, fmt.Errorf("content %d: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}
