package message

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// Repair says what [RepairPairs] did. The zero Repair means that nothing was wrong.
type Repair struct {
	// DroppedResults counts result messages without a call and repeated ones.
	DroppedResults int
	// AddedResults counts the stand-ins for missing results.
	AddedResults int
	// MovedResults counts results that were brought to their call, and blocks that became
	// messages to get its id.
	MovedResults int
	// DroppedBlocks counts result blocks without a call and repeated ones.
	DroppedBlocks int
	// FilledResults counts result messages that got their call's id or tool name.
	FilledResults int
	// DroppedTurns counts assistant messages that FailedTurnsDrop removed.
	DroppedTurns int
}

// FailedTurnPolicy says what RepairPairs does with an assistant message whose answer
// broke off ([Message.Failed]) after it had begun calls.
type FailedTurnPolicy string

const (
	// FailedTurnsAnswer, the default, treats it like any other: unanswered calls get a
	// stand-in, so that the list is valid for every provider.
	FailedTurnsAnswer FailedTurnPolicy = ""
	// FailedTurnsKeep keeps it with the results that exist and adds none, as OpenClaw
	// 2026.7.1 does for stored history. The list is not valid for a provider then.
	FailedTurnsKeep FailedTurnPolicy = "keep"
	// FailedTurnsDrop removes it with its results, as OpenClaw 2026.7.1 does before a request.
	FailedTurnsDrop FailedTurnPolicy = "drop"
)

// Valid reports whether p is one of the constants. RepairPairs treats others as the default.
func (p FailedTurnPolicy) Valid() bool {
	return p == FailedTurnsAnswer || p == FailedTurnsKeep || p == FailedTurnsDrop
}

// RepairOptions are the options of [RepairPairs]; nil stands for the zero value.
type RepairOptions struct {
	// KeepOpenTail leaves the last unit's calls without results alone: they are still
	// running. Calls before the last unit get stand-ins all the same.
	KeepOpenTail bool
	// MissingText is the text of a stand-in. Optional. If empty, DefaultMissingText.
	MissingText string
	// FailedTurns is the policy for answers that broke off. Optional.
	FailedTurns FailedTurnPolicy
}

// DefaultMissingText tells the model that a result is missing, in a stand-in.
const DefaultMissingText = "No result was recorded for this tool call; whether it ran is not known."

// keySynthetic marks a stand-in in its details. The name is OpenClaw's, so that each side
// recognises the other's.
const keySynthetic = "openclawSyntheticMissingToolResult"

// IsMissingResult reports whether m is a stand-in for a missing result. A real result of
// the same call replaces it when both are in a list.
func IsMissingResult(m Message) bool {
	if m.Role != RoleToolResult || m.Extra == nil {
		return false
	}
	marked, _ := jsonx.Bool(jsonx.Get(m.Details(), keySynthetic))
	return marked
}

// RepairPairs returns ms with every call followed by exactly one result and no result
// without its call. It returns ms itself, and the zero Repair, when nothing is wrong; else
// a new list that shares the untouched messages. Repairing twice changes nothing more.
//
//   - A result belongs to the nearest assistant message before it that has a call with its
//     id, since ids recur from turn to turn; space around an id is ignored unless calls of
//     the message differ in it. Stored before its call, it belongs to it only if its
//     timestamp is later.
//   - A result that stands apart is moved behind its call. Results that already follow
//     their message directly keep their order, whatever the order of the calls.
//   - A second result for a call is dropped, unless the first was a stand-in.
//   - A missing result gets a stand-in directly behind the message of the call: an error
//     with the message's timestamp and no Key.
//   - A result without an id answers a call without one in the last group whose tool name
//     agrees. It also answers that group's only call if the names agree, and is marked as
//     an error because that is a guess: a result with the id is preferred.
//   - Result blocks in other messages are treated alike. What else such a message holds is
//     kept; when nothing else is left the message goes. A block that is moved, or lacks the
//     id as its call spells it, becomes a message.
func RepairPairs(ms []Message, opts *RepairOptions) ([]Message, Repair) {
	var o RepairOptions
	if opts != nil {
		o = *opts
	}
	if o.MissingText == "" {
		o.MissingText = DefaultMissingText
	}
	state := inspect(ms)
	if state == tidyClosed && o.FailedTurns != FailedTurnsDrop || state == tidyTail && o.KeepOpenTail && o.FailedTurns != FailedTurnsDrop {
		return ms, Repair{}
	}
	md := newMender(ms, o)
	md.plan()
	out := md.emit()
	if md.done == (Repair{}) {
		return ms, Repair{}
	}
	return out, md.done
}

// MissingResult returns the stand-in for the result of a call that has none: an error that
// says text. [IsMissingResult] recognises it.
func MissingResult(callID, tool, text string) Message {
	m := ToolResult(callID, tool, Text(text))
	m.IsError = true
	m.Extra = map[string]json.RawMessage{keyDetails: json.RawMessage(`{"` + keySynthetic + `":true}`)}
	return m
}

// standIn is the stand-in for a call of an assistant message.
func standIn(assistant Message, c call, text string) Message {
	m := MissingResult(c.id, toolName("", c.name), text)
	m.Timestamp = assistant.Timestamp
	return m
}
