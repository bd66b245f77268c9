package transcript

import (
	"encoding/json"
	"fmt"

	"github.com/go-contextengine/contextengine/message"
)

// customFields are the members of a custom_message row that make up its message.
var customFields = [...]string{"customType", "content", "display", "details"}

// customMessage shows an extension's row as a message. Its content has the shapes that a
// message's content has, so the message codec reads it.
func customMessage(e Entry) message.Message {
	w := objectWriter{}
	w.str("role", string(message.RoleCustom))
	for _, name := range customFields {
		if raw, ok := e.Extra[name]; ok {
			w.raw(name, raw)
		}
	}
	m, err := decodeMessage(w.end())
	if err != nil {
		m = message.Message{Role: message.RoleCustom}
	}
	m.Key, m.Timestamp = e.Key, e.Timestamp
	return m
}

// customRow is the reverse: the row that stores a message of role custom as an extension's.
func customRow(e Entry, m message.Message) (Entry, error) {
	raw, err := encodeMessage(m)
	if err != nil {
		return Entry{}, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return Entry{}, err
	}
	extra := make(map[string]json.RawMessage, len(e.Extra)+len(customFields))
	for name, value := range e.Extra {
		extra[name] = value
	}
	for _, name := range customFields {
		if value, ok := fields[name]; ok {
			extra[name] = value
		}
	}
	e.Extra, e.Message = extra, nil
	return e, nil
}

func branchSummaryMessage(e Entry) message.Message {
	return message.Message{
		Role: message.RoleBranchSummary, Summary: e.Summary.Summary, Timestamp: e.Timestamp,
		Extra: rawFields("fromId", e.Summary.FromID),
	}
}

func compactionMessage(e Entry) message.Message {
	return message.Message{
		Role: message.RoleCompactionSummary, Summary: e.Compaction.Summary,
		TokensBefore: e.Compaction.TokensBefore, Timestamp: e.Timestamp,
	}
}

// normalise brings entries into the form in which they are stored.
func normalise(entries []Entry) ([]Entry, error) {
	out := make([]Entry, 0, len(entries))
	for i, e := range entries {
		if e.Type == "" && e.Message != nil {
			e.Type = EntryMessage
		}
		if err := e.validate(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		stored, err := e.asStored()
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		out = append(out, stored...)
	}
	return out, nil
}

func (e Entry) validate() error {
	switch {
	case e.Type == "":
		return fmt.Errorf("no type")
	case e.Type == "session":
		return fmt.Errorf("a session header is not an entry")
	case e.Type == EntryLeaf:
		return fmt.Errorf("the leaf is moved with SetLeaf")
	case e.Type == EntryMessage && e.Message == nil:
		return fmt.Errorf("type %q without a message", e.Type)
	case e.Type == EntryMessage && e.Message.Role == "":
		return fmt.Errorf("message without a role")
	case e.Type == EntryCompaction && e.Compaction == nil:
		return fmt.Errorf("type %q without a compaction", e.Type)
	case e.Type == EntryBranchSummary && e.Summary == nil:
		return fmt.Errorf("type %q without a summary", e.Type)
	}
	return nil
}

// asStored turns messages that have a row type of their own into such rows, and result blocks
// into messages.
func (e Entry) asStored() ([]Entry, error) {
	switch {
	case e.Type == EntryCustomMessage && e.Message != nil:
		row, err := customRow(e, *e.Message)
		return []Entry{row}, err
	case e.Type != EntryMessage:
		return []Entry{e}, nil
	case e.Message.Role == message.RoleBranchSummary:
		from, _ := rawString(e.Message.Extra["fromId"])
		if from == "" {
			from = "root"
		}
		e.Type, e.Summary = EntryBranchSummary, &BranchSummary{FromID: from, Summary: e.Message.Summary}
		e.Message = nil
	case e.Message.Role == message.RoleCompactionSummary:
		e.Type = EntryCompaction
		e.Compaction = &Compaction{Summary: e.Message.Summary, TokensBefore: e.Message.TokensBefore}
		e.Message = nil
	default:
		return splitResults(e), nil
	}
	return []Entry{e}, nil
}

// splitResults moves result blocks out of a message into toolResult messages of their own, in
// front of what remains of it: results answer the assistant message before them.
func splitResults(e Entry) []Entry {
	m := *e.Message
	if m.Role == message.RoleToolResult || !hasResultBlock(m) {
		return []Entry{e}
	}
	var results []Entry
	var rest []message.Block
	for _, b := range m.Content {
		if b.Type != message.BlockToolResult {
			rest = append(rest, b)
			continue
		}
		r := resultMessage(b)
		r.Timestamp = m.Timestamp
		results = append(results, Entry{Type: EntryMessage, Timestamp: e.Timestamp, Side: e.Side, Message: &r})
	}
	if len(rest) == 0 {
		return results
	}
	m.Content = rest
	e.Message = &m
	if m.Role == message.RoleAssistant { // a provider's own tool: the call comes first
		return append([]Entry{e}, results...)
	}
	return append(results, e)
}

func hasResultBlock(m message.Message) bool {
	for _, b := range m.Content {
		if b.Type == message.BlockToolResult {
			return true
		}
	}
	return false
}

// resultMessage makes a message of a result block. The call's id is the block's, or stands in one
// of the members in which providers write it; content may be a text or a list of blocks.
func resultMessage(b message.Block) message.Message {
	m := message.Message{Role: message.RoleToolResult, ToolCallID: b.ID, ToolName: b.Name}
	extra := make(map[string]json.RawMessage, len(b.Extra))
	for name, raw := range b.Extra {
		extra[name] = raw
	}
	for _, name := range [...]string{"toolCallId", "toolUseId", "tool_use_id", "tool_call_id"} {
		if id, ok := rawString(extra[name]); ok && m.ToolCallID == "" {
			m.ToolCallID = id
			delete(extra, name)
		}
	}
	for _, name := range [...]string{"toolName", "name"} {
		if tool, ok := rawString(extra[name]); ok && m.ToolName == "" {
			m.ToolName = tool
			delete(extra, name)
		}
	}
	for _, name := range [...]string{"isError", "is_error"} {
		switch string(extra[name]) {
		case "true", "false":
			m.IsError = string(extra[name]) == "true"
			delete(extra, name)
		}
	}
	if raw, ok := extra["content"]; ok {
		w := objectWriter{}
		w.str("role", string(message.RoleToolResult))
		w.raw("content", raw)
		if inner, err := decodeMessage(w.end()); err == nil && len(inner.Content) > 0 {
			m.Content = inner.Content
			delete(extra, "content")
		}
	}
	if b.Text != "" {
		m.Content = append([]message.Block{{Type: message.BlockText, Text: b.Text}}, m.Content...)
	}
	if b.Data != "" {
		m.Content = append(m.Content, message.Block{Type: message.BlockImage, Data: b.Data, MIMEType: b.MIMEType})
	}
	if len(extra) > 0 {
		m.Extra = extra
	}
	return m
}
