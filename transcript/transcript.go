// Package transcript is the session log: an append-only tree of entries.
//
//	store, err := transcript.OpenDir("sessions", nil)
//	// …
//	session, err := store.Create(ctx, transcript.Header{}) // or store.Open(ctx, id)
//	// …
//	defer session.Close()
//	_, err = session.Append(ctx, transcript.MessageEntry(message.User("hello")))
//	// …
//	view, err := session.View(ctx) // what a model should see
//
// Hosts that use package host need a Store only: it opens, appends and reads.
//
// # The log
//
// A session is a list of rows. Each row names its parent, so the rows form a tree; the leaf says
// which branch is the active one. Nothing is ever changed in place: a correction, a compaction or
// a change of branch is another row. [Reader] reads a session, [Log] also writes it, [Store] keeps
// many of them.
//
// # The view
//
// What a model should see is not the log but a [View] of it: the summary of the last compaction on
// the active branch, the rows that this compaction kept, and the rows after it. A View is cheap to
// ask for again; appending to the log extends it instead of building it anew.
//
// # Stores
//
// [OpenDir] keeps sessions as JSON Lines files that OpenClaw and pi read and write as well
// (versions 1, 2 and 3). [NewMemory] keeps them in memory. [FromHistory] makes a store of a message
// list that lives in a database of the host. Package storetest checks that a Store keeps the
// contract described here.
//
// # Damage
//
// A row that cannot be read never makes a session unreadable: it is reported as a [Problem] with
// its line number, stays in the file, and is left out of the tree. See [OpenFile] for the list of
// repairs that reading makes.
//
// # Files
//
// Beside a session file NAME.jsonl its other states may stand: NAME.jsonl.v1.bak and .v2.bak, the
// file before it was migrated; NAME.jsonl.corrupt-TIME-ID.jsonl, before it got the header that it
// lacked; NAME.jsonl.bak-TIME, before [Repair]; NAME.jsonl.torn-OFFSET, a row that was never
// written to its end; NAME.jsonl.tmp-ID, a file that a process which ended was about to put in
// place. [Store.Delete] removes them with the session. Where the system locks no folders, a file
// .lock stands in for it.
//
// Rows are those of OpenClaw and pi, with one member more where it is needed: "contextengine", an
// object that holds the key of a row that has another id, says which rows were appended together,
// and numbers generations. Messages that [FromHistory] stores have it among their Extra. It is
// reserved: [Entry.Extra] never shows it, and what a caller sets under its name is dropped.
//
// # Concurrency
//
// Every Log, Reader and Store is safe for concurrent use, within a process and, for files, between
// processes. Readers work on immutable snapshots and are never blocked by a writer.
package transcript

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// A Header says which session a log holds. It is not part of the tree.
type Header struct {
	// Boundary says why the session began, where known: new, reset, rotated, forked.
	Boundary string
	// ID names the session. Optional in [Store.Create]; if zero, a time-ordered UUID is made.
	ID string
	// Cwd is the working directory of the session, ParentSession the session (an id, or a file in
	// sessions written elsewhere) that it continues. Both may be empty.
	Cwd, ParentSession string
	// Version is the file format as stored: 1 or 2 until the first append migrates the file,
	// else 3. It is ignored by [Store.Create].
	Version int
	// Timestamp is when the session began. Optional in [Store.Create]; if zero, the clock's now.
	Timestamp time.Time
}

// A Generation counts compactions, rewrites and leaf moves of a log, not appends. It is derived
// from the stored rows: two processes with the same session open agree on it, and a restart does
// not change it.
type Generation uint64

// A Reader reads one session's transcript. What an engine is lent is a Reader, valid during the
// call.
//
// Every method looks at one consistent state of the log. Rows that other processes appended are
// picked up at the start of a call, except while somebody appends through this process: a reader
// does not wait for that, and sees what was known when it began. The values are shared and
// read-only.
type Reader interface {
	// Header describes the session.
	Header() Header
	// Branch yields the active branch from root to leaf, without rows of unknown types. The
	// ParentID of each entry is the one before it.
	Branch(ctx context.Context) iter.Seq2[Entry, error]
	// Entries yields every row in file order, rows of unknown types and abandoned branches
	// included, unreadable ones excepted.
	Entries(ctx context.Context) iter.Seq2[Entry, error]
	// View is what a model would see: the last compaction's summary, the kept rows, the rows
	// after it.
	View(ctx context.Context) (View, error)
	// Problems lists what could not be read, with line numbers; such rows are kept.
	Problems() []Problem
}

// A Log is a Reader that its host may write. After Close every method fails with an error
// matching [io/fs.ErrClosed].
type Log interface {
	Reader
	// Append adds entries under the leaf, in order, all or none, and returns them with IDs,
	// parents, timestamps and message keys filled in.
	//
	//   - An entry without a Type is a message when it has a Message.
	//   - An ID that the caller sets is kept, and with it a Key; an ID that the log already has is
	//     an error.
	//   - ParentID is ignored: parents follow from the leaf. A Side entry hangs under the leaf
	//     without moving it.
	//   - Result blocks inside a message become messages of role toolResult of their own, so
	//     that more entries may come back than went in.
	//   - Messages of the two summary roles become rows of the type that belongs to them.
	//   - A label must name a row of the log, else the error is an [*EntryNotFoundError].
	//   - What could not be read back is refused: a blank type or role, also one that a redaction
	//     returned, and types, ids and keys that are not UTF-8.
	//
	// What comes back is as it was stored; the list is the caller's, the values are shared and
	// read-only. After an error nothing was appended, as far as this process can tell.
	Append(ctx context.Context, entries ...Entry) ([]Entry, error)
	// CommitCompaction appends c if gen still holds; rows appended meanwhile stay after the
	// summary. Otherwise it returns ErrSuperseded. FirstKeptEntryID may be an entry id or a
	// message key of the active branch; what is on neither is an [*EntryNotFoundError].
	CommitCompaction(ctx context.Context, gen Generation, c Compaction) (Entry, error)
	// Rewrite replaces messages by entry id in one branch-and-reappend publish. What it declines
	// to do is a Reason, not an error.
	Rewrite(ctx context.Context, r RewriteRequest) (RewriteResult, error)
	// SetLeaf moves the active branch; "" is the empty tree, whose next row is a new root. The
	// move is stored. An id that the log does not have is an [*EntryNotFoundError].
	SetLeaf(ctx context.Context, entryID string) error
	// Close gives the log back. It is idempotent.
	Close() error
}

// A Problem is one row that could not be read or could be read only in part.
type Problem struct {
	Line int // 1-based; 0: the session as a whole
	Err  error
}

// Error implements error, so that problems can be joined and logged.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", p.Line, p.Err)
}

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// A View is what a model would see of a session.
type View struct {
	// Messages has the summary first where there is one. The Key of a message is the id of its
	// entry, or the id of the entry that it replaces; "" for a summary. A summary whose row has
	// no time has the time of the newest row that it kept.
	Messages []message.Message
	// Provider and Model name what answered last or was selected since; empty when unknown.
	Provider string
	Model    string
	// ThinkingLevel is the last one set on the branch, "off" where none was.
	ThinkingLevel string
	Generation    Generation
}

// A Store holds many sessions.
type Store interface {
	// Create makes a session. Nothing is stored before the first append. An id that is taken is
	// an error matching [io/fs.ErrExist].
	Create(ctx context.Context, h Header) (Log, error)
	// Open returns an error matching [io/fs.ErrNotExist] for an unknown session. Opening one again
	// in the same process returns a Log over the same state; Close is counted. Reading a long
	// session ends when ctx does.
	Open(ctx context.Context, sessionID string) (Log, error)
	// List yields the headers of all sessions, oldest first. A session that cannot be read yields
	// its error and the listing goes on.
	List(ctx context.Context) iter.Seq2[Header, error]
	// Fork makes a new session of the branch that ends in leafEntryID; "" is the active leaf.
	// Entry ids and message keys are kept.
	Fork(ctx context.Context, sessionID, leafEntryID string) (Log, error)
	// Rotate makes a successor that starts from what the model sees of the session now: its
	// summary, the rows kept and the rows after it, with their ids and keys. The session itself
	// stays as it is.
	Rotate(ctx context.Context, sessionID string, successor Header) (Log, error)
	// Delete removes a session. An unknown one is an error matching [io/fs.ErrNotExist]. Logs
	// that are still open on it fail from then on.
	Delete(ctx context.Context, sessionID string) error
}

// A Follower is a [Store] that says whether its open logs show what others append to a session.
// Those of the stores in directories and in memory do. Of a Store that is no Follower, a log
// that stays open may be out of date, so that whoever comes back to a session opens it anew.
type Follower interface {
	Store
	// Follows reports whether a log that is open shows what other processes append.
	Follows() bool
}

// ErrSuperseded: another compaction, rewrite or leaf move came first.
var ErrSuperseded = errors.New("superseded")
