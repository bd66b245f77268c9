package transcript

import (
	"context"
	"fmt"
	"time"
)

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
		b := newBatch([]Entry{{Type: EntryCompaction, Compaction: &c}})
		b.sync = true
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
	branch := s.t.branchTo(s.t.leaf)
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
		b := newBatch([]Entry{e})
		b.own[0].generation, b.sync = s.t.gen+1, true
		return s.commit(ctx, b)
	})
}

// leafRow makes the control row that moves the leaf. Readers that do not know such rows take it
// for an entry under its target, which leads them to the same branch.
func (s *session) leafRow(target string) Entry {
	extra := rawFields("targetId", target)
	if target == "" {
		extra = rawFields("targetId", nil)
	}
	e := Entry{
		Type: EntryLeaf, ID: s.freeID(s.t.taken), ParentID: target, Extra: extra,
		Timestamp: s.now().UTC().Truncate(time.Millisecond),
	}
	e.settle("")
	return e
}
