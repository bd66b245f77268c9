package transcript

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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

	retired []io.Closer // files that were replaced, still read by old snapshots

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
	return &snapshot{
		src: s.src, header: s.header, rows: s.t.rows, leaf: s.t.leaf, gen: s.t.gen,
		problems: problems, version: s.t.version, view: v, mark: s.back.mark(),
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

// place fills in ids, parents, times and keys, and lets the redaction see every message.
func (s *session) place(entries []Entry) error {
	taken := make(map[string]bool, len(entries))
	parent := s.rowID(s.t.canonical(s.t.under))
	for i := range entries {
		e := &entries[i]
		if err := s.checkTarget(*e, taken); err != nil {
			return err
		}
		if e.Timestamp.IsZero() {
			e.Timestamp = s.now().UTC().Truncate(time.Millisecond)
		}
		e.refuseReserved()
		s.redactEntry(e)
		if e.ID == "" {
			e.Key = ""
		}
		if err := s.identify(e, taken); err != nil {
			return err
		}
		e.ParentID = parent
		e.settle(e.Key)
		if !e.Side {
			parent = e.ID
		}
	}
	return nil
}

// identify gives e its id.
func (s *session) identify(e *Entry, taken map[string]bool) error {
	used := func(id string) bool { _, ok := s.t.ids[id]; return ok || taken[id] }
	derived := ""
	if s.derive != nil {
		derived = s.derive(e)
	}
	switch {
	case e.ID != "":
		if used(e.ID) {
			return fmt.Errorf("entry id %q is taken", e.ID)
		}
	case derived != "" && !used(derived):
		e.ID = derived
	default:
		e.ID = s.freeID(used)
	}
	taken[e.ID] = true
	return nil
}

// freeID tries short ids first.
func (s *session) freeID(used func(string) bool) string {
	const tries = 100
	for range tries {
		if id := s.newID(); id != "" && !used(id) {
			return id
		}
	}
	return newUUID(s.now())
}

// checkTarget makes sure that a label names something.
func (s *session) checkTarget(e Entry, taken map[string]bool) error {
	if e.Type != EntryLabel {
		return nil
	}
	target := e.Field("targetId")
	if _, ok := s.t.ids[target]; !ok && !taken[target] {
		return &EntryNotFoundError{ID: target}
	}
	return nil
}

// redactEntry lets the redaction see what e says. What the caller handed in is not changed.
func (s *session) redactEntry(e *Entry) {
	switch {
	case e.Message != nil:
		m := *e.Message
		m.Timestamp = orTime(m.Timestamp, e.Timestamp)
		m = s.redacted(m)
		e.Message = &m
	case s.redact == nil:
	case e.Compaction != nil:
		c := *e.Compaction
		c.Summary = s.redacted(compactionMessage(*e)).Summary
		e.Compaction = &c
	case e.Summary != nil:
		b := *e.Summary
		b.Summary = s.redacted(branchSummaryMessage(*e)).Summary
		e.Summary = &b
	case e.Type == EntryCustomMessage:
		if row, err := customRow(*e, s.redacted(customMessage(*e))); err == nil {
			*e = row
		}
	}
}

// settle fills in what follows from the id. key is "" where it is the id.
func (e *Entry) settle(key string) {
	if key == "" {
		key = e.ID
	}
	e.Key = key
	if e.Message != nil {
		e.Message.Key = key
	}
	if e.Compaction != nil {
		c := *e.Compaction
		if c.FirstKeptEntryID == "" {
			c.FirstKeptEntryID = e.ID
		}
		c.Through = ""
		e.Compaction = &c
	}
}

func orTime(t, other time.Time) time.Time {
	if t.IsZero() {
		return other
	}
	return t
}

func (s *session) redacted(m message.Message) message.Message {
	if s.redact == nil {
		return m
	}
	return s.redact(m)
}

func (s *session) rowID(i int32) string {
	if i == none {
		return ""
	}
	return s.t.rows[i].id
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
		s.publish(b.next(before.known()))
	} else {
		s.publish(before.known().extend(b.entries, s.t.gen))
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

// commitCompaction appends c if gen still holds.
func (s *session) commitCompaction(ctx context.Context, gen Generation, c Compaction) (Entry, error) {
	var out Entry
	err := s.write(ctx, func() error {
		if s.t.gen != gen {
			return fmt.Errorf("committing a compaction of generation %d: the log is at %d: %w", gen, s.t.gen, ErrSuperseded)
		}
		kept, err := s.resolveKept(c)
		if err != nil {
			return fmt.Errorf("committing a compaction: %w", err)
		}
		c.FirstKeptEntryID = kept
		b := &batch{entries: []Entry{{Type: EntryCompaction, Compaction: &c}}, own: make([]rowOwn, 1), sync: true}
		if err := s.place(b.entries); err != nil {
			return err
		}
		if err := s.commit(ctx, b); err != nil {
			return err
		}
		out = b.entries[0]
		return nil
	})
	return out, err
}

// resolveKept finds the row from which a compaction keeps: "" when it keeps none.
func (s *session) resolveKept(c Compaction) (string, error) {
	branch := path(s.t.rows, s.t.leaf)
	if c.FirstKeptEntryID != "" {
		at := s.find(branch, c.FirstKeptEntryID)
		if at < 0 {
			return "", &EntryNotFoundError{ID: c.FirstKeptEntryID}
		}
		return s.t.rows[branch[at]].id, nil
	}
	if c.Through == "" {
		return "", nil
	}
	at := s.find(branch, c.Through)
	switch {
	case at < 0:
		return "", &EntryNotFoundError{ID: c.Through}
	case at+1 == len(branch):
		return "", nil
	}
	return s.t.rows[branch[at+1]].id, nil
}

// find returns the position on a branch of the row with an id or, failing that, with a message
// key; -1 if there is none.
func (s *session) find(branch []int32, id string) int {
	byKey := -1
	for at, i := range branch {
		if s.t.rows[i].id == id {
			return at
		}
		if s.t.rows[i].key == id {
			byKey = at
		}
	}
	return byKey
}

// setLeaf moves the active branch.
func (s *session) setLeaf(ctx context.Context, id string) error {
	return s.write(ctx, func() error {
		target := none
		if id != "" {
			i, ok := s.t.ids[id]
			if !ok {
				return &EntryNotFoundError{ID: id}
			}
			target = s.t.canonical(i)
		}
		if target == s.t.leaf && target == s.t.canonical(s.t.under) {
			return nil
		}
		e := s.leafRow(s.rowID(target))
		return s.commit(ctx, &batch{entries: []Entry{e}, own: []rowOwn{{generation: s.t.gen + 1}}, sync: true})
	})
}

// leafRow makes the control row that moves the leaf. Readers that do not know such rows take it
// for an entry under its target, which leads them to the same branch.
func (s *session) leafRow(target string) Entry {
	extra := rawFields("targetId", target)
	if target == "" {
		extra = rawFields("targetId", nil)
	}
	used := func(id string) bool { _, ok := s.t.ids[id]; return ok }
	e := Entry{
		Type: EntryLeaf, ID: s.freeID(used), ParentID: target, Extra: extra,
		Timestamp: s.now().UTC().Truncate(time.Millisecond),
	}
	e.settle("")
	return e
}

// refuseReserved drops members that would be mistaken for this package's own.
func (e *Entry) refuseReserved() {
	for _, name := range [...]string{"type", "id", "parentId", "appendMode", fieldKey, fieldBatch} {
		if _, ok := e.Extra[name]; ok {
			e.Extra = withoutFields(e.Extra, name)
		}
	}
}

// publishNew shows rows that were read since known rows were there.
func (s *session) publishNew(known int) {
	before, snap := s.snap.Load().known(), s.freeze(nil)
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
		snap.view = before.extend(entries, s.t.gen)
	}
}

// retire closes a file that was replaced when the session is closed: snapshots may be read still.
func (s *session) retire(f io.Closer) { s.retired = append(s.retired, f) }

// close ends the session for everyone who has it open.
func (s *session) close() error {
	<-s.writer
	defer s.unlock()
	s.closed.Store(true)
	err := s.back.close()
	for _, f := range s.retired {
		err = errors.Join(err, f.Close())
	}
	s.retired = nil
	return err
}
