// Package message models the messages of an agent session.
package message

import (
	"encoding/json"
	"time"
)

// Role names who produced a message. Unknown roles are legal and survive.
type Role string

const (
	RoleUser              Role = "user"
	RoleAssistant         Role = "assistant"
	RoleToolResult        Role = "toolResult"
	RoleCustom            Role = "custom"
	RoleBashExecution     Role = "bashExecution"
	RoleBranchSummary     Role = "branchSummary"
	RoleCompactionSummary Role = "compactionSummary"
)

// BlockType names what a block holds. Unknown types are legal and survive.
type BlockType string

const (
	BlockText     BlockType = "text"
	BlockThinking BlockType = "thinking"
	BlockImage    BlockType = "image"
	BlockToolCall BlockType = "toolCall"
	// BlockToolResult is a result inside another message, as some providers send it.
	// Logs normalise it into a RoleToolResult message when it is appended.
	BlockToolResult BlockType = "toolResult"
)

// A Message is an immutable value once handed over.
type Message struct {
	// Key is the message's stable identity in its session: the entry id where there is one,
	// else a chained occurrence hash. Set by transcript; in memory only: not in JSON, not in Equal.
	Key string

	Role      Role
	Content   []Block
	Timestamp time.Time // zero: unknown; epoch milliseconds in JSON

	ToolCallID string // tool results
	ToolName   string
	IsError    bool

	API, Provider, Model string // assistant: who answered
	StopReason           string
	ErrorMessage         string
	Usage                *Usage // nil: unknown

	Summary      string // branch and compaction summaries
	TokensBefore int

	Extra map[string]json.RawMessage // everything else, kept
}

// A Block is one piece of content.
type Block struct {
	Type      BlockType
	Text      string          // text and thinking
	Signature string          // thinking, text or call signature, replayed only to the same model
	ID, Name  string          // tool call; ID also on a tool result block
	Arguments json.RawMessage // tool call, byte-exact
	Data      string          // image, base64
	MIMEType  string
	Extra     map[string]json.RawMessage
}

// Usage is what the provider reported for one call, never a sum of calls.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, Total int
	Extra                                       map[string]json.RawMessage
}

// A Unit is a run of messages that is kept or dropped whole: one message, or an
// assistant message with the results of its calls.
type Unit struct {
	Start, End int  // half-open range in the list
	Open       bool // a call has no result yet
}

// Repair says what RepairPairs did.
type Repair struct {
	DroppedResults, AddedResults, MovedResults, DroppedBlocks int
}

type RepairOptions struct {
	KeepOpenTail bool // the last unit's calls are still running
}
