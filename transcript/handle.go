package transcript

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
)

// A handle is one opened log on a session.
type handle struct {
	s       *session
	release func() error

	once sync.Once
	gone atomic.Bool
	err  error
}

var _ Log = (*handle)(nil)

func (h *handle) state() (*snapshot, error) {
	if h.gone.Load() {
		return h.s.snap.Load(), errClosed
	}
	return h.s.current()
}

func (h *handle) Header() Header {
	snap, _ := h.state() // a header is known even when following fails
	return snap.header
}

func (h *handle) Problems() []Problem {
	snap, err := h.state()
	if err != nil && !errors.Is(err, errClosed) {
		return append([]Problem{{Err: err}}, snap.problems...)
	}
	return snap.listProblems()
}

func (h *handle) Branch(ctx context.Context) iter.Seq2[Entry, error] {
	return h.each(ctx, (*snapshot).branch)
}

func (h *handle) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	return h.each(ctx, (*snapshot).entries)
}

func (h *handle) each(ctx context.Context, walk func(*snapshot, context.Context, func(Entry, error) bool)) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		snap, err := h.state()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		walk(snap, ctx, yield)
	}
}

func (h *handle) View(ctx context.Context) (View, error) {
	snap, err := h.state()
	if err != nil {
		return View{}, err
	}
	return snap.readView(ctx)
}

func (h *handle) Append(ctx context.Context, entries ...Entry) ([]Entry, error) {
	if h.gone.Load() {
		return nil, errClosed
	}
	return h.s.append(ctx, entries)
}

func (h *handle) CommitCompaction(ctx context.Context, gen Generation, c Compaction) (Entry, error) {
	if h.gone.Load() {
		return Entry{}, errClosed
	}
	return h.s.commitCompaction(ctx, gen, c)
}

func (h *handle) SetLeaf(ctx context.Context, entryID string) error {
	if h.gone.Load() {
		return errClosed
	}
	return h.s.setLeaf(ctx, entryID)
}

func (h *handle) Close() error {
	h.once.Do(func() {
		h.gone.Store(true)
		h.err = h.release()
	})
	return h.err
}
