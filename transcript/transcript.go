// Package transcript is the session log: an append-only tree of entries.
package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/go-contextengine/contextengine/message"
	"iter"
	"time"
)

type EntryType string

const (
	EntryMessage             EntryType = "message"
	EntryCompaction          EntryType = "compaction"
	EntryBranchSummary       EntryType = "branch_summary"
	EntryCustom              EntryType = "custom"
	EntryCustomMessage       EntryType = "custom_message"
	EntryLabel               EntryType = "label"
	EntryLeaf                EntryType = "leaf"
	EntryModelChange         EntryType = "model_change"
	EntryThinkingLevelChange EntryType = "thinking_level_change"
	EntrySessionInfo         EntryType = "session_info"
)

// An Entry is one row. Only the fields of its type are set; the rest is in Extra.
type Entry struct {
	Type      EntryType
	ID        string
	ParentID  string // "": root
	Timestamp time.Time
	Side      bool // does not move the leaf

	Message    *message.Message
	Compaction *Compaction
	Summary    *BranchSummary
	Extra      map[string]json.RawMessage
}

type Compaction struct {
	Summary          string
	FirstKeptEntryID string // own id: nothing kept
	TokensBefore     int
	Details          json.RawMessage
}

type BranchSummary struct{ FromID, Summary string }

type Header struct {
	Boundary               string // why the session began, where known: new, reset, rotated, forked
	ID, Cwd, ParentSession string
	Version                int
	Timestamp              time.Time
}

// A Generation counts compactions, rewrites and leaf moves of a log, not appends.
type Generation uint64

// A Reader reads one session's transcript. What an engine is lent is a Reader, valid during the call.
type Reader interface {
	Header() Header
	// Branch yields the active branch from root to leaf.
	Branch(ctx context.Context) iter.Seq2[Entry, error]
	// Entries yields every row in file order.
	Entries(ctx context.Context) iter.Seq2[Entry, error]
	// View is what a model would see: the last compaction's summary, the kept rows, the rows after it.
	View(ctx context.Context) (View, error)
	// Problems lists what could not be read, with line numbers; such rows are kept.
	Problems() []Problem
}

// A Log is a Reader that its host may write.
type Log interface {
	Reader
	// Append adds entries under the leaf, in order, all or none, and fills IDs, parents and keys.
	Append(ctx context.Context, entries ...Entry) ([]Entry, error)
	// CommitCompaction appends c if gen still holds; rows appended meanwhile stay after the
	// summary. Otherwise it returns ErrSuperseded.
	CommitCompaction(ctx context.Context, gen Generation, c Compaction) (Entry, error)
	// Rewrite replaces messages by entry id in one branch-and-reappend publish.
	Rewrite(ctx context.Context, r RewriteRequest) (RewriteResult, error)
	// SetLeaf moves the active branch; "" is the empty tree.
	SetLeaf(ctx context.Context, entryID string) error
	Close() error
}

type Problem struct {
	Line int
	Err  error
}

type View struct {
	Messages      []message.Message // Key is the entry id; "" for a summary
	Provider      string
	Model         string
	ThinkingLevel string
	Generation    Generation
}

type Replacement struct {
	EntryID string
	Message message.Message
}

type RewriteRequest struct {
	Replacements          []Replacement
	AllowedSuffixEntryIDs []string   // rows allowed from the first replacement on; nil: the branch as of Generation
	Generation            Generation // with a nil guard it must still hold, else Reason is "suffix_changed"
}

type RewriteResult struct {
	Changed          bool
	BytesFreed       int64
	RewrittenEntries int
	Reason           string
}

// A Store holds many sessions.
type Store interface {
	Create(ctx context.Context, h Header) (Log, error)
	// Open returns an error matching fs.ErrNotExist for an unknown session. Opening one again in
	// the same process returns a Log over the same state; Close is counted.
	Open(ctx context.Context, sessionID string) (Log, error)
	List(ctx context.Context) iter.Seq2[Header, error]
	Fork(ctx context.Context, sessionID, leafEntryID string) (Log, error) // a copy of a branch
	Rotate(ctx context.Context, sessionID string, successor Header) (Log, error)
	Delete(ctx context.Context, sessionID string) error
}

type RepairReport struct {
	Backup  string
	Changes []Problem
}

// ErrSuperseded: another compaction, rewrite or leaf move came first.
var ErrSuperseded = errors.New("superseded")

// A History is the least a host with its own database must offer; FromHistory makes a Store of it.
type History interface {
	Load(ctx context.Context, sessionID string) ([]message.Message, error)
	Append(ctx context.Context, sessionID string, ms ...message.Message) error
}

type DirOptions struct {
	Sync     SyncMode // when appended rows reach the disk
	Lazy     bool     // write nothing before the first assistant message, as the reference does
	ReadOnly bool
}

type SyncMode string
