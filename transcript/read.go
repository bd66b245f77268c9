package transcript

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// readAhead is how much is read at once when rows are read in file order.
	readAhead = 256 << 10
	// parallelFrom is the amount of stored bytes from which decoding is spread over processors.
	parallelFrom = 1 << 20
)

// rowReader reads rows of a snapshot one after the other.
type rowReader struct {
	s   *snapshot
	buf []byte
	off int64
}

func newRowReader(s *snapshot) *rowReader { return &rowReader{s: s} }

// entry decodes row i.
func (r *rowReader) entry(i int32) (Entry, error) {
	row := &r.s.rows[i]
	if row.held != nil {
		e := *row.held
		r.s.resolveKept(&e, i)
		return e, nil
	}
	line, err := r.line(row)
	if err != nil {
		return Entry{}, err
	}
	e, err := decodeRow(line, r.s.version)
	if err != nil {
		return Entry{}, fmt.Errorf("line %d: %w", row.line, err)
	}
	if e.ID != "" && e.ID != row.id {
		return Entry{}, fmt.Errorf("line %d: found entry %q instead of %q: the file was changed in place", row.line, e.ID, row.id)
	}
	r.s.finish(&e, i)
	return e, nil
}

// finish fills in what only the tree knows.
func (s *snapshot) finish(e *Entry, i int32) {
	row := &s.rows[i]
	e.ID = row.id
	e.ParentID = ""
	if p := s.above(i); p != none {
		e.ParentID = s.rows[p].id
	}
	s.resolveKept(e, i)
	e.Key = row.messageKey()
	if e.Message != nil {
		e.Message.Key = e.Key
	}
}

// resolveKept makes a compaction name a row that is part of a branch.
func (s *snapshot) resolveKept(e *Entry, i int32) {
	if e.Compaction == nil {
		return
	}
	if kept := s.keptRow(i); kept != none && s.rows[kept].id != e.Compaction.FirstKeptEntryID {
		c := *e.Compaction
		c.FirstKeptEntryID = s.rows[kept].id
		e.Compaction = &c
	}
}

// keptRow returns the row from which compaction i keeps, if it names one. In place of a row that
// is no part of a branch stands the one above it or, where there is none, the first one under it.
func (s *snapshot) keptRow(i int32) int32 {
	kept := s.rows[i].kept
	if kept == none {
		return none
	}
	if c := canonical(s.rows, kept); c != none {
		return c
	}
	for r, p := i, s.rows[i].parent; p != none; p = s.rows[p].parent {
		if p == kept {
			return r
		}
		if !s.rows[p].bridged() {
			r = p
		}
	}
	return none
}

// named is the row that row i names as its parent, also where that closes a circle.
func (s *snapshot) named(i int32) int32 {
	if parent, circle := s.loops[i]; circle {
		return parent
	}
	return s.rows[i].parent
}

// above returns the nearest row above row i that Entries yields, none where that is i itself.
func (s *snapshot) above(i int32) int32 {
	if p := s.readable(s.named(i)); p != i {
		return p
	}
	return none
}

// readable returns the nearest row at or above i that Entries yields.
func (s *snapshot) readable(i int32) int32 {
	closed := 0
	for i != none && s.rows[i].bad {
		if _, circle := s.loops[i]; circle {
			if closed++; closed > len(s.loops) { // nothing in the circle can be read
				return none
			}
		}
		i = s.named(i)
	}
	return i
}

func (r *row) messageKey() string {
	if r.key != "" {
		return r.key
	}
	return r.id
}

// line returns the stored bytes of a row, valid until the next call.
func (r *rowReader) line(row *row) ([]byte, error) {
	n := int64(row.n)
	if row.off < r.off || row.off+n > r.off+int64(len(r.buf)) {
		if err := r.fill(row.off, n); err != nil {
			return nil, err
		}
	}
	at := row.off - r.off
	return r.buf[at : at+n], nil
}

func (r *rowReader) fill(off, n int64) error {
	want := max(n, readAhead)
	if int64(cap(r.buf)) < want {
		r.buf = make([]byte, want)
	}
	r.buf = r.buf[:want]
	got, err := r.s.src.ReadAt(r.buf, off)
	if int64(got) >= n {
		r.buf, r.off = r.buf[:got], off
		return nil
	}
	r.buf, r.off = r.buf[:0], 0
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading row at byte %d: %w", off, err)
}

// decodeAll decodes rows, in parallel when there is much to do.
func (s *snapshot) decodeAll(ctx context.Context, rows []int32) ([]Entry, error) {
	var stored int64
	for _, i := range rows {
		if s.rows[i].held == nil {
			stored += int64(s.rows[i].n)
		}
	}
	out := make([]Entry, len(rows))
	workers := runtime.GOMAXPROCS(0)
	if stored < parallelFrom || workers < 2 {
		return out, newRowReader(s).decode(ctx, rows, out)
	}
	var (
		wg   sync.WaitGroup
		next atomic.Int64
		errs = make([]error, workers)
	)
	const piece = 64 // rows a worker takes at once
	for w := range workers {
		wg.Go(func() {
			rd := newRowReader(s)
			for errs[w] == nil {
				from := int(next.Add(piece)) - piece
				if from >= len(rows) {
					return
				}
				to := min(from+piece, len(rows))
				errs[w] = rd.decode(ctx, rows[from:to], out[from:to])
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *rowReader) decode(ctx context.Context, rows []int32, out []Entry) error {
	for k, i := range rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e, err := r.entry(i)
		if err != nil {
			return err
		}
		out[k] = e
	}
	return nil
}

// branch yields the active branch.
func (s *snapshot) branch(ctx context.Context, yield func(Entry, error) bool) {
	rd := newRowReader(s)
	parent := ""
	for _, i := range path(s.rows, s.loops, s.leaf) {
		e, err := s.next(ctx, rd, i)
		e.ParentID = parent
		if !yield(e, err) || err != nil {
			return
		}
		parent = e.ID
	}
}

// entries yields every row in file order.
func (s *snapshot) entries(ctx context.Context, yield func(Entry, error) bool) {
	rd := newRowReader(s)
	for i := range s.rows {
		if s.rows[i].bad {
			continue
		}
		e, err := s.next(ctx, rd, int32(i))
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// backward yields every row, block by block from the end.
func (s *snapshot) backward(ctx context.Context, yield func(Entry, error) bool) {
	const block = 512
	rd := newRowReader(s)
	for to := len(s.rows); to > 0; to -= block {
		for i := max(0, to-block); i < to; i++ {
			if s.rows[i].bad {
				continue
			}
			e, err := s.next(ctx, rd, int32(i))
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (s *snapshot) next(ctx context.Context, rd *rowReader, i int32) (Entry, error) {
	if ctx.Err() != nil {
		return Entry{}, context.Cause(ctx)
	}
	return rd.entry(i)
}

func (s *snapshot) listProblems() []Problem { return slices.Clip(s.problems) }
