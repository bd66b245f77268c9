package transcript

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// graftRows is how many rows are stored at once while a session is copied.
const graftRows = 512

// grafter is a log that takes rows with their ids, parents and keys: those of a log of the same
// store as they are, others through the redaction.
type grafter interface {
	graft(ctx context.Context, entries []Entry, own bool) error
}

// Copy brings a session into another store without touching the source: every row with its id,
// and the active branch. Rows that could not be read are left out; src.Problems names them. A
// session that dst already has is an error matching [io/fs.ErrExist]; when copying fails, dst is
// left without the session. What dst redacts passes through its redaction, whatever the source
// did; [Store.Fork] and [Store.Rotate] take what is stored as it is.
func Copy(ctx context.Context, dst Store, src Reader) (Log, error) {
	return transplant(ctx, dst, src.Header(), func(to Log) error {
		if err := copyRows(ctx, to, src); err != nil {
			return err
		}
		return copyLeaf(ctx, to, src)
	})
}

// transplant makes a session and lets fill put rows into it, or leaves no session.
func transplant(ctx context.Context, dst Store, h Header, fill func(Log) error) (Log, error) {
	log, err := dst.Create(ctx, h)
	if err != nil {
		return nil, fmt.Errorf("copying session: %w", err)
	}
	id := log.Header().ID
	if err := fill(log); err != nil {
		clean := context.WithoutCancel(ctx)
		return nil, errors.Join(fmt.Errorf("copying session %q: %w", id, err), log.Close(), dst.Delete(clean, id))
	}
	return log, nil
}

func copyRows(ctx context.Context, to Log, src Reader) error {
	put := treeAppender(to)
	if g, ok := to.(grafter); ok {
		put = func(ctx context.Context, entries []Entry) error { return g.graft(ctx, entries, false) }
	}
	var rows []Entry
	for e, err := range src.Entries(ctx) {
		if err != nil {
			return err
		}
		rows = append(rows, e)
		if len(rows) == graftRows {
			if err := put(ctx, rows); err != nil {
				return err
			}
			rows = nil
		}
	}
	return put(ctx, rows)
}

// treeAppender copies rows with what every Log can do. Leaf rows are not appended: it moves the
// leaf itself, and what hangs under them hangs under their target.
func treeAppender(to Log) func(context.Context, []Entry) error {
	targets := make(map[string]string)
	seen := map[string]bool{"": true}
	return func(ctx context.Context, entries []Entry) error {
		for _, e := range entries {
			parent := e.ParentID
			if target, ok := targets[parent]; ok {
				parent = target
			}
			if e.Type == EntryLeaf {
				targets[e.ID] = parent
				if target := e.Field("targetId"); seen[target] {
					targets[e.ID] = target
				}
				continue
			}
			if !seen[parent] { // it comes later, in a circle
				parent = ""
			}
			seen[e.ID] = true
			if err := to.SetLeaf(ctx, parent); err != nil {
				return err
			}
			if _, err := to.Append(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}
}

// copyLeaf makes the active branch of src the active one of the copy.
func copyLeaf(ctx context.Context, to Log, src Reader) error {
	want, err := leafOf(ctx, src)
	if err != nil {
		return err
	}
	got, err := leafOf(ctx, to)
	if err != nil || got == want {
		return err
	}
	return to.SetLeaf(ctx, want)
}

// leafOf returns the id of the last row on the active branch.
func leafOf(ctx context.Context, r Reader) (string, error) {
	leaf := ""
	for e, err := range r.Branch(ctx) {
		if err != nil {
			return "", err
		}
		leaf = e.ID
	}
	return leaf, nil
}

// fork makes a new session of a branch.
func fork(ctx context.Context, st Store, sessionID, leafEntryID string) (Log, error) {
	h, rows, err := readBranch(ctx, st, sessionID, leafEntryID)
	if err != nil {
		return nil, fmt.Errorf("forking session %q: %w", sessionID, err)
	}
	forked := Header{Cwd: h.Cwd, ParentSession: sessionID, Boundary: "forked"}
	return transplant(ctx, st, forked, func(to Log) error { return graftLine(ctx, to, rows) })
}

// rotate makes a successor that shows a model what it sees of the session now.
func rotate(ctx context.Context, st Store, sessionID string, successor Header) (Log, error) {
	h, rows, err := readBranch(ctx, st, sessionID, "")
	if err != nil {
		return nil, fmt.Errorf("rotating session %q: %w", sessionID, err)
	}
	if successor.ParentSession == "" {
		successor.ParentSession = sessionID
	}
	if successor.Boundary == "" {
		successor.Boundary = "rotated"
	}
	if successor.Cwd == "" {
		successor.Cwd = h.Cwd
	}
	return transplant(ctx, st, successor, func(to Log) error { return graftLine(ctx, to, visible(rows)) })
}

// readBranch reads the branch that ends in leaf, the active one for "".
func readBranch(ctx context.Context, st Store, sessionID, leaf string) (_ Header, _ []Entry, err error) {
	log, err := st.Open(ctx, sessionID)
	if err != nil {
		return Header{}, nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var rows []Entry
	if leaf == "" {
		for e, err := range log.Branch(ctx) {
			if err != nil {
				return Header{}, nil, err
			}
			rows = append(rows, e)
		}
		return log.Header(), rows, nil
	}
	byID := make(map[string]Entry)
	for e, err := range log.Entries(ctx) {
		if err != nil {
			return Header{}, nil, err
		}
		byID[e.ID] = e
	}
	if _, ok := byID[leaf]; !ok {
		return Header{}, nil, &EntryNotFoundError{ID: leaf}
	}
	return log.Header(), lineage(byID, leaf), nil
}

// lineage walks from leaf to the root and returns the rows of the tree proper, root first.
func lineage(byID map[string]Entry, leaf string) []Entry {
	var rows []Entry
	for id := leaf; id != ""; {
		e, ok := byID[id]
		if !ok {
			break
		}
		delete(byID, id) // ends a circle
		id = e.ParentID
		switch {
		case e.Type == EntryLeaf:
			id = e.Field("targetId")
		case e.Type.Valid():
			rows = append(rows, e)
		}
	}
	slices.Reverse(rows)
	return rows
}

// visible drops what the last compaction hides, except the last of each kind of state.
func visible(rows []Entry) []Entry {
	last := -1
	for i, e := range rows {
		if e.Type == EntryCompaction {
			last = i
		}
	}
	if last < 0 {
		return rows
	}
	from := last
	for i, e := range rows[:last] {
		if e.ID == rows[last].Compaction.FirstKeptEntryID {
			from = i
			break
		}
	}
	out := lastStates(rows[:from])
	for _, e := range rows[from:last] {
		if e.Type != EntryCompaction {
			out = append(out, e)
		}
	}
	return append(out, rows[last:]...)
}

// lastStates returns the last row of each type that sets state.
func lastStates(rows []Entry) []Entry {
	last := make(map[EntryType]int)
	for i, e := range rows {
		switch e.Type {
		case EntryModelChange, EntryThinkingLevelChange, EntrySessionInfo:
			last[e.Type] = i
		}
	}
	var out []Entry
	for i, e := range rows {
		if at, ok := last[e.Type]; ok && at == i {
			out = append(out, e)
		}
	}
	return out
}

// graftLine stores rows as one line, without labels for rows that are not there.
func graftLine(ctx context.Context, to Log, rows []Entry) error {
	there := make(map[string]bool, len(rows))
	for _, e := range rows {
		there[e.ID] = true
	}
	parent := ""
	line := make([]Entry, 0, len(rows))
	for _, e := range rows {
		if e.Type == EntryLabel && !there[e.Field("targetId")] {
			continue
		}
		e.ParentID = parent
		parent = e.ID
		line = append(line, e)
	}
	g, ok := to.(grafter)
	if !ok {
		_, err := to.Append(ctx, line...)
		return err
	}
	for len(line) > 0 {
		n := min(graftRows, len(line))
		if err := g.graft(ctx, line[:n:n], true); err != nil {
			return err
		}
		line = line[n:]
	}
	return nil
}

// graft stores rows of another log.
func (h *handle) graft(ctx context.Context, entries []Entry, own bool) error {
	if len(entries) == 0 {
		return nil
	}
	return h.s.write(ctx, func() error {
		b := newBatch(slices.Clone(entries))
		b.sync = true
		for i := range b.entries {
			if !own {
				h.s.redactEntry(&b.entries[i])
			}
			b.entries[i].settle(b.entries[i].Key)
		}
		return h.s.commit(ctx, b)
	})
}
