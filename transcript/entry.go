package transcript

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// EntryType names what a row holds. Unknown types are legal and survive.
type EntryType string

const (
	// EntryMessage is a message of the conversation.
	EntryMessage EntryType = "message"
	// EntryCompaction replaces what came before it by a summary, except the rows it keeps.
	EntryCompaction EntryType = "compaction"
	// EntryBranchSummary tells what happened on a branch that was left.
	EntryBranchSummary EntryType = "branch_summary"
	// EntryCustom is data of an extension; models never see it. In Extra: customType, data.
	EntryCustom EntryType = "custom"
	// EntryCustomMessage is an extension's message to the model. In Extra: customType, content,
	// display, details.
	EntryCustomMessage EntryType = "custom_message"
	// EntryLabel names another row. In Extra: targetId, label (absent or empty clears it).
	EntryLabel EntryType = "label"
	// EntryLeaf moves the active branch. In Extra: targetId (null is the empty tree).
	EntryLeaf EntryType = "leaf"
	// EntryModelChange selects a model. In Extra: provider, modelId.
	EntryModelChange EntryType = "model_change"
	// EntryThinkingLevelChange sets the thinking level. In Extra: thinkingLevel.
	EntryThinkingLevelChange EntryType = "thinking_level_change"
	// EntrySessionInfo describes the session; the last one counts. In Extra: name.
	EntrySessionInfo EntryType = "session_info"
)

// Valid reports whether t is one of the types that this package knows. Rows of other types are
// stored and yielded, but are not part of a branch.
func (t EntryType) Valid() bool { return kindOf(t) != kindOpaque }

// An Entry is one row. Only the fields of its type are set; the rest is in Extra.
type Entry struct {
	Type      EntryType
	ID        string
	ParentID  string // "": root, or the row that it names is not in the log
	Timestamp time.Time
	Side      bool // does not move the leaf

	// Key is the entry's identity across rewrites, forks and copies: the ID under which it was
	// first appended. It is the Key of the entry's message. Set by the log, except
	// that an entry appended with an ID keeps the Key that it brings.
	Key string

	// Message is set for EntryMessage.
	Message *message.Message
	// Compaction is set for EntryCompaction.
	Compaction *Compaction
	// Summary is set for EntryBranchSummary.
	Summary *BranchSummary
	// Extra has the row's other fields by name, as raw JSON.
	Extra map[string]json.RawMessage
}

// A Compaction is the content of a row that replaces what came before it.
type Compaction struct {
	// Summary is the text that stands for what was summarised.
	Summary string
	// FirstKeptEntryID is the first row that stays visible. The compaction's own id, or "" in
	// [Log.CommitCompaction], means that nothing before it is kept.
	FirstKeptEntryID string
	// TokensBefore is the size of the context before; 0: unknown.
	TokensBefore int
	// Details is free-form data of whoever compacted; nil: none.
	Details json.RawMessage
	// Through is the last row that the summary covers, an entry id or a message key. It is read
	// by [Log.CommitCompaction] only, and only when FirstKeptEntryID is "": rows after it, which
	// the summary cannot know, are kept. Not stored.
	Through string
}

// A BranchSummary is the content of a row that tells what happened on a branch that was left.
type BranchSummary struct {
	FromID  string // the leaf that was left; "root" where there was none
	Summary string
}

// MessageEntry returns an entry that appends m.
func MessageEntry(m message.Message) Entry { return Entry{Type: EntryMessage, Message: &m} }

// CustomEntry returns an entry of an extension that models never see. Data that cannot be
// encoded is stored as null.
func CustomEntry(customType string, data any) Entry {
	return Entry{Type: EntryCustom, Extra: rawFields("customType", customType, "data", data)}
}

// CustomMessageEntry returns an extension's message to the model. Hosts do not display it.
func CustomMessageEntry(customType, content string) Entry {
	return Entry{Type: EntryCustomMessage, Extra: rawFields("customType", customType, "content", content, "display", false)}
}

// ModelChangeEntry returns an entry that selects a model.
func ModelChangeEntry(provider, model string) Entry {
	return Entry{Type: EntryModelChange, Extra: rawFields("provider", provider, "modelId", model)}
}

// ThinkingLevelEntry returns an entry that sets the thinking level.
func ThinkingLevelEntry(level string) Entry {
	return Entry{Type: EntryThinkingLevelChange, Extra: rawFields("thinkingLevel", level)}
}

// LabelEntry returns an entry that labels another one; the empty label clears it.
func LabelEntry(targetID, label string) Entry {
	if label == "" {
		return Entry{Type: EntryLabel, Extra: rawFields("targetId", targetID)}
	}
	return Entry{Type: EntryLabel, Extra: rawFields("targetId", targetID, "label", label)}
}

// BranchSummaryEntry returns an entry that tells what happened on the branch ending in fromID.
func BranchSummaryEntry(fromID, summary string) Entry {
	return Entry{Type: EntryBranchSummary, Summary: &BranchSummary{FromID: fromID, Summary: summary}}
}

// Field returns a field of Extra as a string; "" when it is absent or something else.
func (e Entry) Field(name string) string {
	s, _ := rawString(e.Extra[name])
	return s
}

// InView returns the message that the entry contributes to a view, and whether it does. A
// compaction answers its summary, although only the last one on a branch is shown.
func (e Entry) InView() (message.Message, bool) {
	switch e.Type {
	case EntryMessage:
		if e.Message != nil {
			return *e.Message, true
		}
	case EntryCustomMessage:
		return customMessage(e), true
	case EntryBranchSummary:
		if e.Summary != nil && e.Summary.Summary != "" {
			return branchSummaryMessage(e), true
		}
	case EntryCompaction:
		if e.Compaction != nil {
			return compactionMessage(e), true
		}
	}
	return message.Message{}, false
}

// kind is the compact form of a known EntryType.
type kind uint8

const (
	kindOpaque kind = iota
	kindMessage
	kindAssistant // a message of role assistant, which sets the model
	kindCompaction
	kindBranchSummary
	kindCustom
	kindCustomMessage
	kindLabel
	kindLeaf
	kindModelChange
	kindThinking
	kindSessionInfo
)

func kindOf(t EntryType) kind {
	switch t {
	case EntryMessage:
		return kindMessage
	case EntryCompaction:
		return kindCompaction
	case EntryBranchSummary:
		return kindBranchSummary
	case EntryCustom:
		return kindCustom
	case EntryCustomMessage:
		return kindCustomMessage
	case EntryLabel:
		return kindLabel
	case EntryLeaf:
		return kindLeaf
	case EntryModelChange:
		return kindModelChange
	case EntryThinkingLevelChange:
		return kindThinking
	case EntrySessionInfo:
		return kindSessionInfo
	}
	return kindOpaque
}

// withoutFields returns m without some names.
func withoutFields(m map[string]json.RawMessage, names ...string) map[string]json.RawMessage {
	out := maps.Clone(m)
	for _, name := range names {
		delete(out, name)
	}
	return out
}
