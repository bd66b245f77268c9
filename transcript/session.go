package transcript

import (
	"context"
	"crypto/rand"
	"encoding/hex"
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

// shortID makes an entry id as the reference does: eight hexadecimal digits.
func shortID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// A batch is what one publish adds to a log.
type batch struct {
	entries []Entry
	own     []rowOwn
	rows    []row // positions, filled in by the backend
	size    int64 // bytes stored, filled in by the backend
	sync    bool  // the turn ends here

	// next makes the view after the batch of the one before; nil: the batch goes on from the leaf.
	next func(before *View) *View
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
	s.publish(nil)
	return s
}

// publish makes the state of the tree visible to readers. v is its view where that is known.
func (s *session) publish(v *View) { s.snap.Store(s.freeze(v)) }

// freeze takes a snapshot of the tree.
func (s *session) freeze(v *View) *snapshot {
	s.t.shared = true
	problems := slices.Concat(s.t.problems, s.t.orphans())
	if s.t.torn != nil {
		problems = append(problems, *s.t.torn)
	}
	snap := &snapshot{
		src: s.src, header: s.header, rows: s.t.rows, leaf: s.t.leaf, gen: s.t.gen,
		problems: problems, version: s.t.version, mark: s.back.mark(),
	}
	snap.view.Store(v)
	return snap
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
		b := &batch{entries: entries, own: make([]rowOwn, len(entries)), sync: endsTurn(entries)}
		if err := s.place(b.entries); err != nil {
			return err
		}
		b.own[0].batch = len(entries)
		out = b.entries
		return s.commit(ctx, b)
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
	b.rows = make([]row, len(b.entries))
	if err := s.back.write(ctx, s, b); err != nil {
		return err
	}
	before := s.snap.Load()
	for i := range b.entries {
		s.t.add(infoOf(b.entries[i], b.own[i]), b.rows[i], nil)
	}
	if b.next != nil {
		s.publish(b.next(before.view.Load()))
	} else {
		s.publish(before.view.Load().extend(b.entries, s.t.gen))
	}
	return nil
}

// infoOf is readInfo for an entry that is at hand.
func infoOf(e Entry, own rowOwn) rowInfo {
	info := rowInfo{
		typ: e.Type, id: e.ID, hasID: true, parent: e.ParentID, parentKnown: true,
		side: e.Side, generation: own.generation,
	}
	if e.Key != e.ID {
		info.key = e.Key
	}
	if e.Message != nil {
		info.role = string(e.Message.Role)
	}
	if e.Compaction != nil {
		info.kept = e.Compaction.FirstKeptEntryID
	}
	if raw, ok := e.Extra["targetId"]; ok {
		info.target, _ = rawString(raw)
		info.targetKnown = true
	}
	return info
}

// publishNew shows rows that were read since known rows were there.
func (s *session) publishNew(known int) {
	before, snap := s.snap.Load().view.Load(), s.freeze(nil)
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
