package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// SyncMode says when appended rows are forced to the disk. Whatever the mode, an append that has
// returned survives the end of the process, however it ends; the modes differ in what survives
// the end of the machine.
type SyncMode string

const (
	// SyncNone, the zero value, leaves it to the operating system.
	SyncNone SyncMode = ""
	// SyncTurn forces them when a turn ends: with an assistant message that calls no tool, a
	// compaction, a rewrite, a leaf move or Close.
	SyncTurn SyncMode = "turn"
	// SyncEntry forces them before every Append returns.
	SyncEntry SyncMode = "entry"
)

// Valid reports whether m is one of the modes.
func (m SyncMode) Valid() bool { return m == SyncNone || m == SyncTurn || m == SyncEntry }

// DirOptions configure stored sessions. The zero value is a store that writes each append at once.
type DirOptions struct {
	// Sync says when appended rows reach the disk. Optional; if zero, [SyncNone].
	Sync SyncMode
	// Lazy writes nothing before the first assistant message, as the reference does. Until then
	// an append is only in memory.
	Lazy bool
	// ReadOnly refuses everything that would write, with an error matching [fs.ErrPermission].
	ReadOnly bool
	// Now is the clock. Optional; if nil, [time.Now].
	Now func() time.Time
	// NewID makes entry ids. Optional; if nil, eight random hexadecimal digits. An id that the
	// log has already is asked for again.
	NewID func() string
	// Redact changes what is stored: every message, summary and custom message passes through it
	// once, before it is stored; what [Store.Fork] and [Store.Rotate] copy has passed already. It
	// must not change its argument in place, nor call the log, which waits for it. Message keys do
	// not depend on what it does. Optional.
	Redact func(message.Message) message.Message
}

// Validate lists every contradiction in o.
func (o *DirOptions) Validate() error {
	if o != nil && !o.Sync.Valid() {
		return fmt.Errorf("unknown sync mode %q", o.Sync)
	}
	return nil
}

func (o *DirOptions) settings() settings {
	return settings{now: o.Now, newID: o.NewID, redact: o.Redact}.withDefaults()
}

// fileBackend keeps a session in a JSON Lines file. All fields belong to the writer.
type fileBackend struct {
	opts DirOptions
	fs   fileSystem
	name string       // in fs
	free func() error // makes sure that nobody else has the session; for one not stored yet
	x    *indexer

	f        storedFile // nil: nothing is stored yet
	readOnly error      // why the file cannot be written
	size     int64      // of the file when last looked at
	info     fs.FileInfo
	undo     undo
	unsynced bool
	trimFrom int64 // 0: trimFrom
	locked   []storedFile
	leftover storedFile // what could be made of a new session, but not lastingly
}

// undo is an append that failed and could not be taken back at once. The zero value is none.
type undo struct {
	from int64
	data []byte
}

// fileMark is what a snapshot remembers of the file.
type fileMark struct {
	size int64 // 0: there is more in the file than in the snapshot
	info fs.FileInfo
}

// OpenFile opens one session file, of version 1, 2 or 3. Opening never writes; the first append
// to an older version migrates the file and keeps the old one beside it. A file that is no session
// is a [*NotSessionError], a missing one an error matching [fs.ErrNotExist].
//
// Logs on one file exclude each other while they write, by a lock (flock) on it. A program that
// takes no such lock may write as well, and what it appended is read before anything is written;
// but what it writes in the very moment of a write here may be overwritten, and a row that it has
// written half may be set aside.
//
// Reading repairs in memory what it can, and lists it in [Reader.Problems]:
//
//   - A line that is not JSON, or no row, is left out. If its id and parent can still be read,
//     its children stay attached to the rows before it.
//   - A last line that is cut off is left out. The next append moves it into a file beside the
//     session.
//   - Rows that were to be appended together, and are not all there, are left out. They stay in
//     the file, and when something else follows they are in the tree, off the active branch.
//   - Of rows with the same id, the last one has it; each message gets a key of its own.
//   - A row that names itself as its ancestor, and one whose parent is missing, starts a branch.
//   - A message without a role is left out; its children hang under its parent.
//   - Invalid UTF-8 and lone surrogates are read as U+FFFD and stay as they are in the file.
//   - A missing header is made up from the file's name; the first append writes it.
func OpenFile(path string, opts *DirOptions) (Log, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("opening %q: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("opening session: %w", err)
	}
	dir, err := openFolder(filepath.Dir(real))
	if err != nil {
		return nil, fmt.Errorf("opening session: %w", err)
	}
	s, err := openStored(context.Background(), dir, filepath.Base(real), path, opts)
	if err != nil {
		return nil, errors.Join(err, dir.close())
	}
	return &handle{s: s, release: func() error {
		return errors.Join(s.close(), dir.close())
	}}, nil
}

// openStored opens the session in a file of dir.
func openStored(ctx context.Context, dir fileSystem, name, path string, opts *DirOptions) (*session, error) {
	b := &fileBackend{fs: dir, name: name}
	if opts != nil {
		b.opts = *opts
	}
	if err := b.load(ctx); err != nil {
		if b.f != nil {
			err = errors.Join(err, b.f.Close())
		}
		var not *NotSessionError
		if errors.As(err, &not) {
			not.Path = path
		}
		return nil, fmt.Errorf("opening session: %w", err)
	}
	return newSession(b.opts.settings(), b.x.header, b.x.t, b.f, b), nil
}

// load opens and indexes the file.
func (b *fileBackend) load(ctx context.Context) error {
	info, err := b.fs.lstat(b.name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &NotSessionError{Reason: "not a regular file"}
	}
	if err := b.openData(); err != nil {
		return err
	}
	if b.info, err = b.f.Stat(); err != nil {
		return err
	}
	b.size = b.info.Size()
	b.x, err = openIndex(ctx, b.f, b.size, strings.TrimSuffix(b.name, fileExt))
	var not notSession
	if errors.As(err, &not) {
		return &NotSessionError{Reason: not.Error()}
	}
	return err
}

// openData opens the file for writing where that is allowed.
func (b *fileBackend) openData() (err error) {
	b.readOnly = nil
	if b.opts.ReadOnly {
		b.readOnly = fmt.Errorf("the session was opened read-only: %w", fs.ErrPermission)
	} else {
		b.f, err = b.fs.open(b.name, os.O_RDWR)
		if err == nil || !isReadOnly(err) {
			return err
		}
		b.readOnly = err
	}
	b.f, err = b.fs.open(b.name, os.O_RDONLY)
	return err
}

// fileExt is the extension of session files.
const fileExt = ".jsonl"

func (b *fileBackend) mark() any {
	switch {
	case b.f == nil:
		return nil
	case b.size > b.x.end: // who takes it back may write as much of something else
		return fileMark{info: b.info}
	}
	return fileMark{size: b.size, info: b.info}
}

func (b *fileBackend) stale(snap *snapshot) bool {
	m, ok := snap.mark.(fileMark)
	if !ok {
		return false
	}
	info, err := b.fs.lstat(b.name)
	return err != nil || info.Size() != m.size || !os.SameFile(info, m.info)
}

// follow reads what was written since, or everything when the file is another one now.
func (b *fileBackend) follow(s *session) error {
	if b.f == nil {
		return nil
	}
	info, err := b.fs.lstat(b.name)
	if err != nil {
		return fmt.Errorf("following session %q: %w", s.header.ID, err)
	}
	size := info.Size()
	switch {
	case !os.SameFile(info, b.info) || size < b.x.end:
		return b.reload(s)
	case b.left(size):
		size = b.undo.from // what failed is not there
	}
	same, err := b.x.resume(b.f, size)
	if err != nil {
		return fmt.Errorf("following session %q: %w", s.header.ID, err)
	}
	if !same {
		return b.reload(s)
	}
	if err := b.x.follow(b.f, size); err != nil {
		return fmt.Errorf("following session %q: %w", s.header.ID, err)
	}
	b.size = size
	s.publishNew()
	return nil
}

// left reports whether all that is behind the place of a failed append is what that left.
func (b *fileBackend) left(size int64) bool {
	n := size - b.undo.from
	if b.undo.data == nil || n <= 0 || n > int64(len(b.undo.data)) {
		return false
	}
	found := make([]byte, n)
	_, err := b.f.ReadAt(found, b.undo.from)
	return (err == nil || err == io.EOF) && bytes.HasPrefix(b.undo.data, found)
}

// takeBack removes what a failed append left behind, unless others went on from it. It needs the
// lock.
func (b *fileBackend) takeBack() error {
	if b.undo.data == nil || b.f == nil {
		return nil
	}
	info, err := b.f.Stat()
	if err != nil {
		return err
	}
	if b.left(info.Size()) {
		if err := b.f.Truncate(b.undo.from); err != nil {
			return fmt.Errorf("taking back what could not be written: %w", err)
		}
	}
	b.undo = undo{}
	return nil
}

// reload reads the file from the start. Snapshots that are still in use keep the old one open.
func (b *fileBackend) reload(s *session) error {
	old := *b
	b.undo = undo{}
	if err := b.load(context.Background()); err != nil {
		if b.f != nil && b.f != old.f {
			err = errors.Join(err, b.f.Close())
		}
		*b = old
		return fmt.Errorf("following session %q: %w", s.header.ID, err)
	}
	s.t, s.src, s.header = b.x.t, b.f, b.x.header
	s.publish()
	return nil
}

// begin takes the file's lock and reads what others wrote.
func (b *fileBackend) begin(ctx context.Context, s *session) (func(), error) {
	if b.readOnly != nil {
		return nil, fmt.Errorf("writing session %q: %w", s.header.ID, b.readOnly)
	}
	for b.f != nil {
		f := b.f
		if err := waitLock(ctx, f); err != nil {
			return nil, fmt.Errorf("locking session %q: %w", s.header.ID, err)
		}
		b.locked = append(b.locked, f)
		err := b.takeBack()
		if err == nil {
			err = b.follow(s)
		}
		if err != nil {
			b.unlock()
			return nil, fmt.Errorf("writing session %q: %w", s.header.ID, err)
		}
		if b.f == f {
			b.settle(s)
			break
		}
		b.unlock() // the file was replaced: lock the new one
	}
	return b.unlock, nil
}

// settle makes rows of an append that was never finished what they are: nobody is at it now.
func (b *fileBackend) settle(s *session) {
	if len(b.x.parts) == 0 {
		return
	}
	b.x.give()
	if b.size == b.x.end {
		b.x.t.torn = nil
	}
	s.publish()
}

func (b *fileBackend) complete(*session, *batch) {}

func (b *fileBackend) unlock() {
	for _, f := range b.locked {
		_ = unlockFile(f) // closing the file drops the lock anyway
	}
	b.locked = nil
}

func (b *fileBackend) close() error {
	if b.leftover != nil {
		return b.leftover.Close()
	}
	if b.f == nil {
		return nil
	}
	var synced error
	if b.unsynced && b.opts.Sync != SyncNone {
		synced = b.f.Sync()
	}
	return errors.Join(synced, b.f.Close())
}

func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err)
}
