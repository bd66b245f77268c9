package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// UnmarshalJSON replaces m by the message in data. It copies what it keeps. Anything but
// an object is an error, except null, which leaves m alone as encoding/json asks. No object
// is refused for what is in it: see [Message.Extra].
func (m *Message) UnmarshalJSON(data []byte) error {
	object, err := wantObject("message", data)
	if object == nil || err != nil {
		return err
	}
	*m = decodeMessage(object)
	return nil
}

// UnmarshalJSON replaces b by the block in data, under the rules of Message.UnmarshalJSON.
func (b *Block) UnmarshalJSON(data []byte) error {
	object, err := wantObject("block", data)
	if object == nil || err != nil {
		return err
	}
	*b = decodeBlock(object)
	return nil
}

// UnmarshalJSON replaces u by the counts in data, under the rules of Message.UnmarshalJSON.
func (u *Usage) UnmarshalJSON(data []byte) error {
	object, err := wantObject("usage", data)
	if object == nil || err != nil {
		return err
	}
	*u = decodeUsage(object)
	return nil
}

// wantObject returns data when it is an object, nil for null.
func wantObject(what string, data []byte) ([]byte, error) {
	if err := jsonx.Check(data); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", what, err)
	}
	switch kind := jsonx.KindOf(data); kind {
	case jsonx.Map:
		return data, nil
	case jsonx.Null:
		return nil, nil
	default:
		return nil, fmt.Errorf("decoding %s: want a json object, got %s", what, kind)
	}
}

func decodeMessage(object []byte) Message {
	var values [messageKeys]json.RawMessage
	var m Message
	for key, raw := range jsonx.Members(object) {
		if k := messageKey(key); k >= 0 {
			values[k] = raw
		} else {
			keep(&m.Extra, string(key), raw)
		}
	}
	d := decoder{extra: &m.Extra}
	m.Role = Role(d.text("role", values[mRole], false))
	std := standardKeys(m.Role)
	m.Content = d.content(values[mContent], std.content)
	m.Timestamp = d.time("timestamp", values[mTimestamp])
	m.ToolCallID = d.text("toolCallId", values[mToolCallID], false)
	m.ToolName = d.text("toolName", values[mToolName], false)
	m.IsError = d.bool("isError", values[mIsError], std.isError)
	m.API = d.text("api", values[mAPI], false)
	m.Provider = d.text("provider", values[mProvider], false)
	m.Model = d.text("model", values[mModel], false)
	m.StopReason = d.text("stopReason", values[mStopReason], false)
	m.ErrorMessage = d.text("errorMessage", values[mErrorMessage], false)
	m.Usage = d.usage("usage", values[mUsage])
	m.Summary = d.text("summary", values[mSummary], std.summary)
	m.TokensBefore = d.int("tokensBefore", values[mTokensBefore], std.tokensBefore)
	return m
}

func decodeBlock(object []byte) Block {
	var values [blockKeys]json.RawMessage
	var b Block
	for key, raw := range jsonx.Members(object) {
		if k := blockKey(key); k >= 0 {
			values[k] = raw
		} else {
			keep(&b.Extra, string(key), raw)
		}
	}
	d := decoder{extra: &b.Extra}
	b.Type = BlockType(d.text("type", take(&values, bType), false))
	keys := keysOf(b.Type)
	b.Text = d.text(keys.text.name(), take(&values, keys.text), keys.textual)
	b.Signature = d.text(keys.signature.name(), take(&values, keys.signature), false)
	b.ID = d.text(keys.id.name(), take(&values, keys.id), keys.call)
	b.Name = d.text(keys.toolName.name(), take(&values, keys.toolName), keys.call)
	b.Data = d.text(bData.name(), take(&values, bData), keys.image)
	b.MIMEType = d.text(bMIMEType.name(), take(&values, bMIMEType), keys.image)
	b.Arguments = d.raw(keys.arguments.name(), take(&values, keys.arguments))
	for k, raw := range values {
		if raw != nil {
			keep(&b.Extra, bKey(k).name(), raw)
		}
	}
	return b
}

func take(values *[blockKeys]json.RawMessage, k bKey) json.RawMessage {
	raw := values[k]
	values[k] = nil
	return raw
}

func decodeUsage(object []byte) Usage {
	var u Usage
	var values [usageKeys]json.RawMessage
	for key, raw := range jsonx.Members(object) {
		if k := usageKey(key); k >= 0 {
			values[k] = raw
		} else {
			keep(&u.Extra, string(key), raw)
		}
	}
	d := decoder{extra: &u.Extra}
	u.Input = d.int("input", values[uInput], true)
	u.Output = d.int("output", values[uOutput], true)
	u.CacheRead = d.int("cacheRead", values[uCacheRead], true)
	u.CacheWrite = d.int("cacheWrite", values[uCacheWrite], true)
	u.Total = d.int("totalTokens", values[uTotal], false)
	return u
}

// A decoder fills Go fields and puts into extra what they cannot reproduce. Its methods
// take the key, its value (nil: absent) and whether the encoder writes the key even for a
// zero field.
type decoder struct {
	extra *map[string]json.RawMessage
}

// settle records raw under key unless the field alone reproduces it.
func (d decoder) settle(key string, raw json.RawMessage, fit jsonx.Fit, zero, standard bool) {
	switch {
	case raw == nil && standard:
		keep(d.extra, key, json.RawMessage{})
	case raw == nil:
	case fit != jsonx.Exact, zero && !standard:
		keep(d.extra, key, raw)
	}
}

func (d decoder) text(key string, raw json.RawMessage, standard bool) string {
	if raw == nil && !standard {
		return ""
	}
	s, fit := jsonx.String(raw)
	d.settle(key, raw, fit, s == "", standard)
	return s
}

func (d decoder) int(key string, raw json.RawMessage, standard bool) int {
	n, fit := intOf(raw)
	d.settle(key, raw, fit, n == 0, standard)
	return n
}

func (d decoder) bool(key string, raw json.RawMessage, standard bool) bool {
	v, fit := jsonx.Bool(raw)
	d.settle(key, raw, fit, !v, standard)
	return v
}

func (d decoder) time(key string, raw json.RawMessage) time.Time {
	t, fit := timeOf(raw)
	d.settle(key, raw, fit, t.IsZero(), false)
	return t
}

func (d decoder) usage(key string, raw json.RawMessage) *Usage {
	if jsonx.KindOf(raw) != jsonx.Map {
		d.settle(key, raw, jsonx.Unfit, true, false)
		return nil
	}
	u := decodeUsage(raw)
	return &u
}

// raw copies a value of any kind but null.
func (d decoder) raw(key string, raw json.RawMessage) json.RawMessage {
	if jsonx.KindOf(raw) == jsonx.Null {
		keep(d.extra, key, raw)
		return nil
	}
	return bytes.Clone(raw)
}

func (d decoder) content(raw json.RawMessage, standard bool) []Block {
	blocks, form := contentOf(raw)
	switch form {
	case formList:
		d.settle(keyContent, raw, jsonx.Exact, len(blocks) == 0, standard)
	case formString:
		keep(d.extra, keyContent, json.RawMessage(`""`))
	case formObject:
		keep(d.extra, keyContent, json.RawMessage(`{}`))
	default:
		d.settle(keyContent, raw, jsonx.Unfit, true, standard)
	}
	return blocks
}

// keep stores a copy of raw, which empty stands for "the key was absent".
func keep(extra *map[string]json.RawMessage, key string, raw json.RawMessage) {
	if *extra == nil {
		*extra = make(map[string]json.RawMessage)
	}
	(*extra)[key] = bytes.Clone(raw)
}

// contentForm is how a content field is written.
type contentForm uint8

const (
	formOther  contentForm = iota // absent, of a wrong kind, or a list with odd elements
	formList                      // a list of objects
	formString                    // one text
	formObject                    // one block without the list
)

// contentOf decodes the content field. In a list with other elements than objects,
// strings are text and the rest is left out; the form then is formOther.
func contentOf(raw json.RawMessage) ([]Block, contentForm) {
	switch jsonx.KindOf(raw) {
	case jsonx.Text:
		b := Block{Type: BlockText}
		b.Text = decoder{extra: &b.Extra}.text(bText.name(), raw, true)
		return []Block{b}, formString
	case jsonx.Map:
		return []Block{decodeBlock(raw)}, formObject
	case jsonx.Array:
		return contentList(raw)
	default:
		return nil, formOther
	}
}

func contentList(raw json.RawMessage) ([]Block, contentForm) {
	var blocks []Block
	form := formList
	for element := range jsonx.Elements(raw) {
		switch jsonx.KindOf(element) {
		case jsonx.Map:
			blocks = append(blocks, decodeBlock(element))
		case jsonx.Text:
			text, _ := jsonx.String(element)
			blocks = append(blocks, Text(text))
			form = formOther
		default:
			form = formOther
		}
	}
	return blocks, form
}

// intOf is jsonx.Int within the range of int.
func intOf(raw json.RawMessage) (int, jsonx.Fit) {
	n, fit := jsonx.Int(raw)
	if int64(int(n)) != n {
		return 0, jsonx.Unfit
	}
	return int(n), fit
}

func toInt(raw json.RawMessage) (int, bool) {
	n, fit := intOf(raw)
	return n, fit != jsonx.Unfit
}

// timeOf decodes epoch milliseconds. Every count has a time.
func timeOf(raw json.RawMessage) (time.Time, jsonx.Fit) {
	ms, fit := jsonx.Int(raw)
	if fit == jsonx.Unfit {
		return time.Time{}, fit
	}
	return time.UnixMilli(ms).UTC(), fit
}
