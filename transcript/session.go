package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// settings are what logs of a store have in common.
type settings struct {
	now    func() time.Time
	newID  func() string
	redact func(message.Message) message.Message
}

func (o settings) withDefaults() settings {
	if o.now == nil {
		o.now = time.Now
	}
	if o.newID == nil {
		o.newID = shortID
	}
	return o
}

// A batch is what one publish adds to a log.
type batch struct {
	entries []Entry
	own     []rowOwn
	sync    bool // the turn ends here
	read    int  // so many entries at the end are as they were read, and need no reading back

	lines [][]byte // the entries as stored
	infos []rowInfo
	rows  []row // positions, filled in by the backend
	size  int64 // bytes stored, filled in by the backend

	// next makes the view after the batch of the one before; nil: the batch goes on from the leaf.
	next func(before *View, now *snapshot) *View
}

func newBatch(entries []Entry) *batch {
	return &batch{entries: entries, own: make([]rowOwn, len(entries))}
}

// encode writes the entries as they are stored and reads them back: what readers see of them is
// what they will see when the log is opened again. What they would not see is refused.
func (b *batch) encode() error {
	b.lines, b.infos = make([][]byte, len(b.entries)), make([]rowInfo, len(b.entries))
	b.rows = make([]row, len(b.entries))
	var fields []field
	for i := range b.entries {
		e := &b.entries[i]
		line, err := encodeRow(*e, b.own[i])
		if err != nil {
			return err
		}
		fields, err = scanObject(line, fields[:0])
		info, err := readInfo(fields, err)
		if err == nil {
			err = info.bad
		}
		same := info.typ == e.Type && info.id == e.ID && info.parent == e.ParentID && cmp.Or(info.own.key, info.id) == e.Key
		if err == nil && !same {
			err = errors.New("its type, id or key is not valid UTF-8")
		}
		if err != nil {
			return fmt.Errorf("entry %q could not be read back: %w", e.ID, err)
		}
		b.lines[i], b.infos[i] = line, info
		if i >= len(b.entries)-b.read {
			continue
		}
		stored, err := decodeRow(line, currentVersion)
		if err != nil {
			return fmt.Errorf("entry %q could not be read back: %w", e.ID, err)
		}
		stored.settle(info.own.key)
		*e = stored
	}
	return nil
}

// backend keeps the rows of one session. Its methods are called by the one writer.
type backend interface {
	// begin keeps other processes from writing and brings the session up to date.
	begin(ctx context.Context, s *session) (end func(), err error)
	// mark describes what is stored for a snapshot about to be published.
	mark() any
	// stale reports whether snap may be behind what is stored. Any goroutine may call it.
	stale(snap *snapshot) bool
	// follow brings the session up to date without waiting for other writers.
	follow(s *session) error
	// complete adds to b what the backend needs to store it, before it is encoded.
	complete(s *session, b *batch)
	// write stores b, all or none.
	write(ctx context.Context, s *session, b *batch) error
	// trim removes what rewrites have made superfluous and returns how many bytes that were.
	trim(s *session) (int64, error)
	close() error
}

// session is the state behind all logs that are open on one session.
type session struct {
	settings
	back backend

	writer chan struct{} // holds a token while nobody writes
	header Header
	derive func(*Entry) string // makes ids that follow from the content; nil: newID makes them
	t      *tree
	src    source

	snap   atomic.Pointer[snapshot]
	closed atomic.Bool
}

func newSession(o settings, h Header, t *tree, src source, back backend) *session {
	s := &session{settings: o, back: back, writer: make(chan struct{}, 1), header: h, t: t, src: src}
	s.writer <- struct{}{}
	s.publish()
	return s
}

// publish makes the state of the tree visible to readers.
func (s *session) publish() { s.snap.Store(s.freeze()) }

// freeze takes a snapshot of the tree.
func (s *session) freeze() *snapshot {
	s.t.shared = true
	problems := slices.Concat(s.t.problems, s.t.orphaned())
	if s.t.torn != nil {
		problems = append(problems, *s.t.torn)
	}
	return &snapshot{
		src: s.src, header: s.header, rows: s.t.rows, loops: s.t.loops, leaf: s.t.leaf, gen: s.t.gen,
		problems: problems, version: s.t.version, mark: s.back.mark(),
	}
}

// lock makes the caller the writer.
func (s *session) lock(ctx context.Context) error {
	select {
	case <-s.writer:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) unlock() { s.writer <- struct{}{} }

// write runs f as the only writer of the session anywhere.
func (s *session) write(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if s.closed.Load() {
		return errClosed
	}
	end, err := s.back.begin(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	return f()
}

// current returns the state to read. It follows other processes unless someone is writing here:
// a reader never waits for a writer.
func (s *session) current() (*snapshot, error) {
	snap := s.snap.Load()
	if s.closed.Load() {
		return snap, errClosed
	}
	if !s.back.stale(snap) {
		return snap, nil
	}
	select {
	case <-s.writer:
		err := s.back.follow(s)
		s.unlock()
		return s.snap.Load(), err
	default:
		return s.snap.Load(), nil
	}
}

// append adds entries under the leaf.
func (s *session) append(ctx context.Context, entries []Entry) ([]Entry, error) {
	entries, err := normalise(entries)
	if err != nil {
		return nil, fmt.Errorf("appending: %w", err)
	}
	if len(entries) == 0 {
		return nil, ctx.Err()
	}
	var out []Entry
	err = s.write(ctx, func() error {
		b := newBatch(entries)
		b.sync = endsTurn(entries)
		if err := s.place(b.entries); err != nil {
			return err
		}
		marked(b.entries, b.own)
		if err := s.commit(ctx, b); err != nil {
			return err
		}
		out = slices.Clone(b.entries) // the log goes on with its own
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// endsTurn reports whether entries end with an answer that calls no tool.
func endsTurn(entries []Entry) bool {
	m := entries[len(entries)-1].Message
	if m == nil || m.Role != message.RoleAssistant {
		return false
	}
	for range m.ToolCalls() {
		return false
	}
	return true
}

// commit stores b and shows it to readers.
func (s *session) commit(ctx context.Context, b *batch) error {
	s.back.complete(s, b)
	if err := b.encode(); err != nil {
		return err
	}
	if err := s.back.write(ctx, s, b); err != nil {
		return err
	}
	before := s.snap.Load().view.Load()
	for i := range b.entries {
		s.t.add(b.infos[i], b.rows[i], nil)
	}
	now := s.freeze()
	if b.next != nil {
		now.view.Store(b.next(before, now))
	} else {
		now.view.Store(before.extend(b.entries, s.t.gen))
	}
	s.snap.Store(now)
	return nil
}

// publishNew shows rows that were read since the last snapshot.
func (s *session) publishNew() {
	old, snap := s.snap.Load(), s.freeze()
	before, known := old.view.Load(), len(old.rows)
	defer s.snap.Store(snap)
	if before == nil || before.Generation != s.t.gen {
		return
	}
	var added []int32
	for i := known; i < len(s.t.rows); i++ {
		if r := &s.t.rows[i]; !r.bridged() && !r.side {
			added = append(added, int32(i))
		}
	}
	entries, err := snap.decodeAll(context.Background(), added)
	if err == nil { // else the reader that asks for the view gets the error
		snap.view.Store(before.extend(entries, s.t.gen))
	}
}

// close ends the session for everyone who has it open.
func (s *session) close() error {
	<-s.writer
	defer s.unlock()
	s.closed.Store(true)
	return s.back.close()
}
