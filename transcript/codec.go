package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-contextengine/contextengine/internal/jsonx"
	"github.com/go-contextengine/contextengine/message"
)

// timeLayout is how rows and headers write times: UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// encodeRow writes e as one line without the newline.
func encodeRow(e Entry, own rowOwn) ([]byte, error) {
	w := objectWriter{}
	w.str("type", string(e.Type))
	w.str("id", e.ID)
	if e.ParentID == "" {
		w.raw("parentId", []byte("null"))
	} else {
		w.str("parentId", e.ParentID)
	}
	w.raw("timestamp", e.rawTimestamp())
	if e.Side {
		w.str("appendMode", "side")
	}
	if e.Key != e.ID {
		own.key = e.Key
	}
	if raw := own.encode(); raw != nil {
		w.raw(fieldOwn, raw)
	}
	if err := w.content(e); err != nil {
		return nil, fmt.Errorf("encoding entry %q: %w", e.ID, err)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
		if name == "timestamp" || w.has(name) {
			continue
		}
		if !json.Valid(e.Extra[name]) {
			return nil, fmt.Errorf("encoding entry %q: field %q is not valid JSON", e.ID, name)
		}
		w.raw(name, e.Extra[name])
	}
	return w.end(), nil
}

// rawTimestamp writes the time. One that was read in another form than ours keeps it.
func (e *Entry) rawTimestamp() []byte {
	if raw, ok := e.Extra["timestamp"]; ok {
		if t, _ := parseTime(raw); t.Equal(e.Timestamp) {
			return raw
		}
	}
	return encodeString(e.Timestamp.UTC().Format(timeLayout))
}

// objectWriter builds one JSON object on one line.
type objectWriter struct {
	buf   bytes.Buffer
	names []string
}

func (w *objectWriter) raw(name string, value []byte) {
	if w.buf.Len() == 0 {
		w.buf.WriteByte('{')
	} else {
		w.buf.WriteByte(',')
	}
	w.names = append(w.names, name)
	w.buf.Write(jsonx.AppendKey(nil, name))
	w.buf.WriteByte(':')
	w.buf.Write(jsonx.OneLine(value)) // a row is one line
}

func (w *objectWriter) str(name, value string) { w.raw(name, encodeString(value)) }

func (w *objectWriter) has(name string) bool { return slices.Contains(w.names, name) }

// content writes the fields that have a place of their own in Entry.
func (w *objectWriter) content(e Entry) error {
	switch {
	case e.Type == EntryMessage && e.Message != nil:
		raw, err := encodeMessage(*e.Message)
		if err != nil {
			return err
		}
		w.raw("message", raw)
	case e.Type == EntryCompaction && e.Compaction != nil:
		c := e.Compaction
		w.str("summary", c.Summary)
		w.str("firstKeptEntryId", c.FirstKeptEntryID)
		w.raw("tokensBefore", fmt.Append(nil, c.TokensBefore))
		if c.Details != nil {
			if !json.Valid(c.Details) {
				return fmt.Errorf("compaction details are not valid JSON")
			}
			w.raw("details", c.Details)
		}
	case e.Type == EntryBranchSummary && e.Summary != nil:
		w.str("fromId", e.Summary.FromID)
		w.str("summary", e.Summary.Summary)
	}
	return nil
}

func (w *objectWriter) end() []byte {
	if w.buf.Len() == 0 {
		w.buf.WriteByte('{')
	}
	w.buf.WriteByte('}')
	return w.buf.Bytes()
}

// decodeRow reads the row in line. What only the whole log can tell (id and parent of old rows,
// the key) the caller fills in.
func decodeRow(line []byte, version int) (Entry, error) {
	fields, err := scanObject(line, make([]field, 0, 8))
	if err != nil {
		return Entry{}, err
	}
	var e Entry
	for _, f := range fields {
		if string(f.Key) == "type" {
			s, _ := rawString(f.Value)
			e.Type = EntryType(s)
		}
	}
	for _, f := range fields {
		if err := e.decodeField(f, version); err != nil {
			return Entry{}, err
		}
	}
	return e, nil
}

func (e *Entry) decodeField(f field, version int) error {
	switch string(f.Key) {
	case "type":
		return nil
	case fieldOwn:
		if jsonx.KindOf(f.Value) == jsonx.Map {
			return nil
		}
	case "id":
		e.ID, _ = rawString(f.Value)
		return nil
	case "parentId":
		e.ParentID, _ = rawString(f.Value)
		return nil
	case "appendMode":
		if s, _ := rawString(f.Value); s == "side" {
			e.Side = true
			return nil
		}
	case "timestamp":
		t, ours := parseTime(f.Value)
		e.Timestamp = t
		if ours {
			return nil
		}
	}
	done, err := e.decodeContent(f, version)
	if err == nil && !done {
		e.setExtra(string(f.Key), bytes.Clone(f.Value))
	}
	return err
}

// decodeContent reads a field that belongs to the entry's type. A field of the wrong kind stays
// in Extra.
func (e *Entry) decodeContent(f field, version int) (bool, error) {
	switch {
	case e.Type == EntryMessage && string(f.Key) == "message" && f.Value[0] == '{':
		m, err := decodeMessage(f.Value)
		if err != nil {
			return false, fmt.Errorf("decoding message: %w", err)
		}
		if version < 3 && m.Role == "hookMessage" {
			m.Role = message.RoleCustom
		}
		e.Message = &m
		return true, nil
	case e.Type == EntryCompaction:
		if e.Compaction == nil {
			e.Compaction = &Compaction{}
		}
		return e.Compaction.decodeField(f, version), nil
	case e.Type == EntryBranchSummary:
		if e.Summary == nil {
			e.Summary = &BranchSummary{}
		}
		var ok bool
		switch string(f.Key) {
		case "fromId":
			e.Summary.FromID, ok = rawString(f.Value)
		case "summary":
			e.Summary.Summary, ok = rawString(f.Value)
		}
		return ok, nil
	}
	return false, nil
}

func (c *Compaction) decodeField(f field, version int) bool {
	var ok bool
	switch string(f.Key) {
	case "summary":
		c.Summary, ok = rawString(f.Value)
	case "firstKeptEntryId":
		c.FirstKeptEntryID, ok = rawString(f.Value)
	case "firstKeptEntryIndex":
		ok = version < 2
	case "tokensBefore":
		c.TokensBefore, ok = rawInt(f.Value)
	case "details":
		c.Details, ok = bytes.Clone(f.Value), true
	}
	return ok
}

func (e *Entry) setExtra(name string, raw json.RawMessage) {
	if e.Extra == nil {
		e.Extra = make(map[string]json.RawMessage)
	}
	e.Extra[name] = raw
}

func encodeMessage(m message.Message) ([]byte, error) { return m.AppendJSON(nil) }

func decodeMessage(raw []byte) (message.Message, error) {
	var m message.Message
	err := m.UnmarshalJSON(raw)
	return m, err
}

func encodeString(s string) []byte { return jsonx.AppendString(nil, s) }

// rawFields builds an Extra map from names and values.
func rawFields(pairs ...any) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		raw, err := jsonx.Marshal(pairs[i+1])
		if err != nil {
			raw = []byte("null")
		}
		out[name] = raw
	}
	return out
}

func rawInt(raw []byte) (int, bool) {
	var n float64
	if len(raw) == 0 || json.Unmarshal(raw, &n) != nil || n != float64(int(n)) {
		return 0, false
	}
	return int(n), true
}

// parseTime reads a row's timestamp; what is none is the zero time. It reports whether the time
// would be written back as it is; else the text stays in Extra.
func parseTime(raw []byte) (t time.Time, ours bool) {
	s, ok := rawString(raw)
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, false
	}
	return t.UTC(), t.UTC().Format(timeLayout) == s
}
