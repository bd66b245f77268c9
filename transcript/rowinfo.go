package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// rowInfo is what the tree must learn of a row to place it.
type rowInfo struct {
	typ         EntryType
	id          string
	hasID       bool
	parent      string
	parentKnown bool // the row says what its parent is, if only that it has none
	side        bool
	target      string // leaf
	targetKnown bool
	appendUnder *string
	kept        string // compaction
	keptIndex   int    // version 1 compaction, counting the header; 0: none
	own         rowOwn
	role        string
	void        bool  // the rest of the row's batch never came: it is no part of the conversation
	bad         error // the row cannot be used, but its id bridges
}

var errNotRow = errors.New("not a session row")

// readInfo finds what the tree must know in a scanned row.
func readInfo(fields []field, scanErr error) (rowInfo, error) {
	var info rowInfo
	var role error
	for _, f := range fields {
		switch string(f.Key) {
		case "type":
			info.typ = entryType(f.Value)
		case "id":
			info.id, info.hasID = rawString(f.Value)
			if !info.hasID && string(f.Value) != "null" {
				info.bad = errors.New("id is not a string")
			}
			info.hasID = info.id != ""
		case "parentId":
			info.parent, info.parentKnown = rawRef(f.Value)
		case "appendMode":
			info.side = string(f.Value) == `"side"`
		case "message":
			info.role, role = readRole(f.Value)
		default:
			info.readRest(f)
		}
	}
	return info.check(fields, role, scanErr)
}

// readRest looks at members that few rows have.
func (info *rowInfo) readRest(f field) {
	switch string(f.Key) {
	case "targetId":
		info.target, info.targetKnown = rawRef(f.Value)
	case "appendParentId":
		if s, ok := rawString(f.Value); ok {
			info.appendUnder = &s
		}
	case "firstKeptEntryId":
		info.kept, _ = rawString(f.Value)
	case "firstKeptEntryIndex":
		info.keptIndex, _ = rawInt(f.Value)
	case fieldOwn:
		info.own = decodeOwn(f.Value)
	}
}

// rawRef decodes a reference to a row, which may be null.
func rawRef(raw []byte) (string, bool) {
	s, ok := rawString(raw)
	return s, ok || string(raw) == "null"
}

// entryType decodes a type; the common ones without allocating.
func entryType(raw []byte) EntryType {
	switch string(raw) {
	case `"message"`:
		return EntryMessage
	case `"custom"`:
		return EntryCustom
	case `"session"`:
		return "session"
	}
	s, _ := rawString(raw)
	return EntryType(s)
}

// check decides what a scanned row is good for.
func (info rowInfo) check(fields []field, role, scanErr error) (rowInfo, error) {
	known := kindOf(info.typ) != kindOpaque
	switch {
	case scanErr != nil && info.hasID && info.parentKnown:
		info.bad = scanErr // what can still be read of the row keeps its children attached
		return info, nil
	case scanErr != nil:
		return info, scanErr
	case strings.TrimSpace(string(info.typ)) == "":
		return info, errNotRow
	case info.typ == "session":
		return info, errors.New("session header in the middle of a session")
	case info.bad != nil:
		return info, info.bad
	case !known && !(info.hasID && info.parentKnown):
		return info, fmt.Errorf("row of type %q has no id and parent", info.typ)
	case info.typ == EntryMessage && !hasField(fields, "message"):
		info.bad = errors.New("message row without a message")
	case info.typ == EntryMessage && role != nil:
		info.bad = role
	}
	return info, nil
}

func hasField(fields []field, name string) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return string(f.Key) == name })
}

// readRole returns the role of a message, or what is wrong with a message that cannot be one. The
// message is valid JSON.
func readRole(raw []byte) (string, error) {
	if jsonx.KindOf(raw) != jsonx.Map {
		return "", errors.New("message is not an object")
	}
	switch role := jsonx.Get(raw, "role"); string(role) {
	case `"user"`:
		return "user", nil
	case `"assistant"`:
		return "assistant", nil
	case `"toolResult"`:
		return "toolResult", nil
	default:
		if s, ok := rawString(role); ok && !blank(s) {
			return s, nil
		}
		return "", errors.New("message has no role")
	}
}
