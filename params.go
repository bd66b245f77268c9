package contextengine

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A SessionRef names a session. SessionID is the transcript's id; SessionKey is
// the host's routing key, stable across rotations; SessionFile is set only
// where the session lives in a file.
type SessionRef struct {
	SessionID   string `json:"sessionId"`
	SessionKey  string `json:"sessionKey,omitempty"`
	SessionFile string `json:"sessionFile,omitempty"`
}

// A SessionTarget names a session in the host's store, independent of files.
// All fields are optional.
type SessionTarget struct {
	AgentID    string `json:"agentId,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	StorePath  string `json:"storePath,omitempty"`
	ThreadID   string `json:"threadId,omitempty"`
}

// IngestParams are the params of [ContextEngine.Ingest].
type IngestParams struct {
	SessionRef
	Message message.Message
	// IsHeartbeat marks a message of a scheduled wake-up rather than of a person.
	IsHeartbeat bool
}

// An IngestResult says whether the message was stored. False is a duplicate or
// an engine that stores nothing.
type IngestResult struct{ Ingested bool }

// IngestBatchParams are the params of [BatchIngester].
type IngestBatchParams struct {
	SessionRef
	Messages    []message.Message // borrowed; oldest first
	Delivery    Delivery          // "": delta
	IsHeartbeat bool
}

// An IngestBatchResult counts the messages that were stored.
type IngestBatchResult struct{ IngestedCount int }

// Delivery says what a list of messages is. De-duplicate by [message.Message.Key]
// either way.
type Delivery string

// Kinds of delivery. The zero value means [DeliveryDelta].
const (
	// DeliveryDelta: messages that were not delivered before.
	DeliveryDelta Delivery = "delta"
	// DeliverySnapshot: the whole conversation or a window of it; most of it may
	// have been delivered before.
	DeliverySnapshot Delivery = "snapshot"
)

// Valid reports whether d is known; "" is.
func (d Delivery) Valid() bool {
	return d == "" || d == DeliveryDelta || d == DeliverySnapshot
}

// AssembleParams are the params of [ContextEngine.Assemble].
type AssembleParams struct {
	SessionRef
	// Messages is the transcript's view, oldest first, borrowed. At the first
	// assembly of a turn it is the view without the turn's input; at a
	// re-assembly in the tool loop it has everything.
	Messages []message.Message
	// TokenBudget is what the returned messages may cost, in tokens, after the
	// host took off its reserve and the rendered system prompt and input. 0:
	// unknown.
	TokenBudget int
	// AvailableTools names the tools of the run. nil: the host does not know;
	// empty: there are none.
	AvailableTools []string
	CitationsMode  CitationsMode
	Model          string // the model that will be asked; "": unknown
	// Prompt is the text of the turn's input at the first assembly. nil: the
	// input is in Messages, or there is none.
	Prompt   *string
	Settings *RuntimeSettings
	Runtime  *RuntimeContext
}

// An AssembleResult is what an engine wants to send.
type AssembleResult struct {
	// Messages to send, oldest first. It may be a part of the input; whoever
	// receives it treats it as read-only. nil for a non-empty input is a
	// contract violation, empty is deliberate.
	Messages []message.Message
	// EstimatedTokens is the engine's own count of Messages; 0: unknown. Hosts
	// keep it beside their own count and decide by the larger.
	EstimatedTokens int
	// SystemPromptAddition goes into the system prompt right after its cache
	// boundary, or in front where there is none. "": none.
	SystemPromptAddition string
	// PromptAuthority says which list the host's overflow precheck judges.
	// "": [AuthorityAssembled].
	PromptAuthority PromptAuthority
	// Projection tells hosts with persistent backend threads how long what was
	// assembled stays valid. nil: project every turn.
	Projection *Projection
	// Details are diagnostics for events and reports; they never reach a model.
	Details json.RawMessage
}

// PromptAuthority says which message list decides whether a prompt overflows.
type PromptAuthority string

// Prompt authorities. The zero value means [AuthorityAssembled].
const (
	AuthorityAssembled PromptAuthority = "assembled"
	// AuthorityPreassembly also judges the list before assembly: the engine's
	// window may hide an overflow that a later fallback would meet.
	AuthorityPreassembly PromptAuthority = "preassembly_may_overflow"
)

// Valid reports whether a is known; "" is.
func (a PromptAuthority) Valid() bool {
	return a == "" || a == AuthorityAssembled || a == AuthorityPreassembly
}

// A Projection describes assembled context that a backend thread may keep.
type Projection struct {
	Mode ProjectionMode
	// Epoch names the state of the engine's context. While it stays the same a
	// bootstrapped thread need not be given the context again. Required for
	// [ProjectionThreadBootstrap].
	Epoch string
	// Fingerprint is diagnostic: a hash of what was projected.
	Fingerprint string
}

// ProjectionMode says how often context is projected into a backend thread.
type ProjectionMode string

// Projection modes. The zero value means [ProjectionPerTurn].
const (
	ProjectionPerTurn         ProjectionMode = "per_turn"
	ProjectionThreadBootstrap ProjectionMode = "thread_bootstrap"
)

// Valid reports whether m is known; "" is.
func (m ProjectionMode) Valid() bool {
	return m == "" || m == ProjectionPerTurn || m == ProjectionThreadBootstrap
}

// CitationsMode says whether memory citations are shown to people.
type CitationsMode string

// Citation modes. The zero value means that the host has no opinion.
const (
	CitationsAuto CitationsMode = "auto"
	CitationsOn   CitationsMode = "on"
	CitationsOff  CitationsMode = "off"
)

// Valid reports whether m is known; "" is.
func (m CitationsMode) Valid() bool {
	return m == "" || m == CitationsAuto || m == CitationsOn || m == CitationsOff
}

// A Boundary says why a session begins or ends.
type Boundary string

// Boundaries. The first five begin a session in [BootstrapParams]; reset,
// rotated, deleted and archived end one in [SessionEndedParams].
const (
	BoundaryNew      Boundary = "new"
	BoundaryResumed  Boundary = "resumed"
	BoundaryReset    Boundary = "reset"
	BoundaryRotated  Boundary = "rotated"
	BoundaryForked   Boundary = "forked"
	BoundaryDeleted  Boundary = "deleted"
	BoundaryArchived Boundary = "archived"
)

// Valid reports whether b is known; "" is (unknown).
func (b Boundary) Valid() bool {
	switch b {
	case "", BoundaryNew, BoundaryResumed, BoundaryReset, BoundaryRotated, BoundaryForked, BoundaryDeleted, BoundaryArchived:
		return true
	}
	return false
}

// BootstrapParams are the params of [Bootstrapper].
type BootstrapParams struct {
	SessionRef
	Target SessionTarget
	// Log reads the transcript. Valid during the call only; nil: none.
	Log transcript.Reader
	// Boundary says why the session begins here; Previous is the session that
	// it was rotated or forked from.
	Boundary Boundary
	Previous SessionRef
	Settings *RuntimeSettings
	Runtime  *RuntimeContext
}

// A BootstrapResult says what a bootstrap did. Reason is for people and logs.
type BootstrapResult struct {
	Bootstrapped     bool
	ImportedMessages int
	Reason           string
}

// MaintainReason says after what Maintain runs.
type MaintainReason string

// Reasons to maintain.
const (
	MaintainBootstrap  MaintainReason = "bootstrap"
	MaintainTurn       MaintainReason = "turn"
	MaintainCompaction MaintainReason = "compaction"
)

// Valid reports whether r is known.
func (r MaintainReason) Valid() bool {
	return r == MaintainBootstrap || r == MaintainTurn || r == MaintainCompaction
}

// MaintainParams are the params of [Maintainer]. Runtime carries the Rewriter.
type MaintainParams struct {
	SessionRef
	Target   SessionTarget
	Log      transcript.Reader // valid during the call only; nil: none
	Reason   MaintainReason
	Settings *RuntimeSettings
	Runtime  *RuntimeContext
}

// AfterTurnParams are the params of [AfterTurner].
type AfterTurnParams struct {
	SessionRef
	Target SessionTarget
	// Messages is the view that the turn started from, then everything appended
	// in the turn, the input first. Never the assembled list. Borrowed.
	Messages []message.Message
	// PrePromptMessageCount is the length of the former part, moved forward by
	// what was already delivered during the tool loop: Messages from here on are
	// new.
	PrePromptMessageCount int
	Delivery              Delivery // "": delta
	// AutoCompactionSummary is set when history was compacted in this turn.
	AutoCompactionSummary string
	IsHeartbeat           bool
	TokenBudget           int // 0: unknown
	Settings              *RuntimeSettings
	Runtime               *RuntimeContext
}

// New returns the messages from PrePromptMessageCount on, clipped. A count
// outside the list is moved to its nearer end.
func (p AfterTurnParams) New() []message.Message {
	n := min(max(p.PrePromptMessageCount, 0), len(p.Messages))
	return p.Messages[n:len(p.Messages):len(p.Messages)]
}

// CommitTurnParams are the params of [TurnCommitter].
type CommitTurnParams struct {
	AfterTurnParams
	// AdvancementKey identifies the turn: the same key is the same turn.
	AdvancementKey string
	// Admission and Terminal are the first and the last row of the turn.
	Admission, Terminal transcript.Entry
}

// A CommitTurnResult says what became of a turn.
type CommitTurnResult struct {
	// Status is "" where the engine has no CommitTurn and the turn was delivered
	// by another hook.
	Status CommitStatus
}

// CommitStatus is the answer of [TurnCommitter].
type CommitStatus string

// Commit statuses. The zero value means that no durable commit was made.
const (
	CommitCommitted CommitStatus = "committed"
	CommitDuplicate CommitStatus = "duplicate"
)

// Valid reports whether s is known; "" is.
func (s CommitStatus) Valid() bool {
	return s == "" || s == CommitCommitted || s == CommitDuplicate
}

// SessionEndedParams are the params of [SessionEndObserver]. Successor is set
// when the session was rotated or reset into another one.
type SessionEndedParams struct {
	SessionRef
	Reason    Boundary
	Successor SessionRef
}

// ToolsParams are the params of [ToolProvider].
type ToolsParams struct {
	SessionRef
	Settings *RuntimeSettings
	Runtime  *RuntimeContext // lent until the turn ends
}
