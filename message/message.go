package message

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"
)

// Role names who produced a message. Unknown roles are legal, survive decoding and
// encoding, and are not sent to a model. The zero value is a message without a role.
type Role string

// The roles of a session log. Providers know the first three; [ForModel] converts the rest.
const (
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "toolResult"
	// RoleCustom is a message that a host or plugin put into the session; see [Custom].
	RoleCustom Role = "custom"
	// RoleBashExecution is a shell command that the user ran beside the model; see [Bash].
	RoleBashExecution Role = "bashExecution"
	// RoleBranchSummary stands for a branch of the session that was left.
	RoleBranchSummary Role = "branchSummary"
	// RoleCompactionSummary stands for the messages that a compaction replaced.
	RoleCompactionSummary Role = "compactionSummary"
)

// Valid reports whether r is one of the roles above. An invalid role is not an error.
func (r Role) Valid() bool {
	switch r {
	case RoleUser, RoleAssistant, RoleToolResult, RoleCustom, RoleBashExecution,
		RoleBranchSummary, RoleCompactionSummary:
		return true
	}
	return false
}

// Stop reasons of assistant messages that this library acts on. Others are kept as they
// are. With StopError or StopAborted the provider's answer broke off, so its tool calls may
// be incomplete.
const (
	StopEnd     = "stop"
	StopLength  = "length"
	StopToolUse = "toolUse"
	StopError   = "error"
	StopAborted = "aborted"
)

// A Message is one message of a session. It is immutable once handed over; see the package
// comment. The zero value is an empty message without a role.
type Message struct {
	// Key is the message's stable identity in its session: the entry id where there is
	// one, else a chained occurrence hash. Packages that read a session set it, and every
	// pass that keeps a message carries it. It lives in memory only: it is neither in the
	// JSON nor looked at by Equal. "" is unknown.
	Key string

	// Role says who produced the message and which fields below are in use.
	Role Role
	// Content lists the blocks in order. A bare string in JSON becomes one text block and
	// is written as a string again while it is one plain text block.
	Content []Block
	// Timestamp is when the message was made. Zero: unknown. JSON holds epoch
	// milliseconds, so finer parts are lost there.
	Timestamp time.Time

	// ToolCallID, ToolName and IsError belong to tool results: the call that is
	// answered, the tool's name, and whether the text describes a failure.
	ToolCallID string
	ToolName   string
	IsError    bool

	// API, Provider and Model say who answered, on assistant messages.
	API, Provider, Model string
	// StopReason is why an assistant message ended; see StopEnd and its siblings.
	StopReason string
	// ErrorMessage is the provider's error of a failed assistant message.
	ErrorMessage string
	// Usage is what the provider counted for this call. nil: unknown.
	Usage *Usage

	// Summary and TokensBefore belong to branch and compaction summaries. TokensBefore
	// is the size of the context before the compaction; 0: unknown.
	Summary      string
	TokensBefore int

	// Extra holds every field that has no Go field above, as raw JSON; nil: none. It is
	// shared between copies of the message: replace the map, never write to it.
	//
	// It also holds a known JSON key when the Go field alone would not give the same JSON
	// again:
	//   - the value has another kind than the field (null, a string timestamp): the field
	//     is zero, and the raw value is written while it stays zero;
	//   - the field holds the value, but not its notation (1.0, an unpaired surrogate, an
	//     explicit empty string): the raw value is written while it decodes to the field;
	//   - the content was a bare string or a single object: "" or {} marks the form;
	//   - an empty raw value marks a key that this role normally has and the source had not.
	// A changed Go field always wins over Extra.
	Extra map[string]json.RawMessage
}

// Usage is what the provider reported for one call, never a sum of calls. All counts are
// tokens; 0: none, or not reported.
type Usage struct {
	// Input is the part of the prompt that neither came from the provider's cache
	// (CacheRead) nor went into it (CacheWrite): the three add up to the prompt. Where a
	// provider's count of the prompt has the cached part in it, as OpenAI's and Google's
	// do, subtract that. Output is the answer, reasoning included. Total is the
	// provider's own total.
	Input, Output, CacheRead, CacheWrite, Total int
	// Extra holds the remaining fields, such as cost, under the rules of [Message.Extra].
	Extra map[string]json.RawMessage
}

// User returns a user message of one text block.
func User(text string) Message {
	return Message{Role: RoleUser, Content: []Block{Text(text)}}
}

// Assistant returns an assistant message of the given blocks, which it keeps.
func Assistant(blocks ...Block) Message {
	return Message{Role: RoleAssistant, Content: blocks}
}

// ToolResult returns the result of a tool call. It keeps blocks. Set IsError on the
// returned message for a failed call.
func ToolResult(callID, name string, blocks ...Block) Message {
	return Message{Role: RoleToolResult, ToolCallID: callID, ToolName: name, Content: blocks}
}

// CompactionSummary returns the message that stands for what a compaction replaced.
// tokensBefore is the context size before it, 0 when unknown; at may be zero.
func CompactionSummary(summary string, tokensBefore int, at time.Time) Message {
	return Message{Role: RoleCompactionSummary, Summary: summary, TokensBefore: tokensBefore, Timestamp: at}
}

// BranchSummary returns the message that stands for a branch that was left at the entry
// fromID, "" when unknown; at may be zero.
func BranchSummary(summary, fromID string, at time.Time) Message {
	m := Message{Role: RoleBranchSummary, Summary: summary, Timestamp: at}
	if fromID != "" {
		m.Extra = map[string]json.RawMessage{keyFromID: quote(fromID)}
	}
	return m
}

// Text returns the text blocks joined with newlines, "" when there is none. Thinking is
// not text, and neither is the Summary of a summary message.
func (m Message) Text() string {
	first := slices.IndexFunc(m.Content, isText)
	if first < 0 {
		return ""
	}
	text, rest := m.Content[first].Text, m.Content[first+1:]
	if !slices.ContainsFunc(rest, isText) {
		return text // the usual case needs no copy
	}
	var joined strings.Builder
	joined.WriteString(text)
	for i := range rest {
		if isText(rest[i]) {
			joined.WriteByte('\n')
			joined.WriteString(rest[i].Text)
		}
	}
	return joined.String()
}

func isText(b Block) bool { return b.Type == BlockText }

// ToolCalls yields the call blocks of the message in order, under every spelling that
// [Block.IsCall] knows.
func (m Message) ToolCalls() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for i := range m.Content {
			if m.Content[i].IsCall() && !yield(m.Content[i]) {
				return
			}
		}
	}
}

// Failed reports whether m is an assistant message whose answer broke off.
func (m Message) Failed() bool {
	return m.Role == RoleAssistant && (m.StopReason == StopError || m.StopReason == StopAborted)
}
