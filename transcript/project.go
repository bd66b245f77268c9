package transcript

import (
	"encoding/json"
	"fmt"
	"maps"

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
	maps.Copy(extra, e.Extra)
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

// splitResults gives the result blocks of a message rows of their own, see [message.SplitResults].
func splitResults(e Entry) []Entry {
	parts := message.SplitResults(*e.Message)
	out := make([]Entry, len(parts))
	for i := range parts {
		out[i] = Entry{Type: EntryMessage, Timestamp: e.Timestamp, Side: e.Side}
		if parts[i].Role == e.Message.Role { // what is left of it
			out[i] = e
		}
		out[i].Message = &parts[i]
	}
	return out
}
