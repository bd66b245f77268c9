package transcript

import (
	"context"
	"io/fs"
	"sync"
)

// registry has the sessions of a store that are open, so that opening one twice gives one state.
// Opening, closing and deleting a session exclude each other; other sessions do not wait for it.
type registry struct {
	mu    sync.Mutex
	slots map[string]*slot // by session id
}

// slot is one session that is open, or about to be opened, closed or deleted.
type slot struct {
	s    *session
	logs int
	busy chan struct{} // closed when whoever works on the slot is done; nil: nobody does
}

func newRegistry() *registry { return &registry{slots: make(map[string]*slot)} }

// claim returns the slot of a session for work on it, a new one if it is not open.
func (r *registry) claim(ctx context.Context, id string) (*slot, error) {
	for {
		r.mu.Lock()
		sl, ok := r.slots[id]
		if !ok {
			sl = &slot{}
			r.slots[id] = sl
		}
		if sl.busy == nil {
			sl.busy = make(chan struct{})
			r.mu.Unlock()
			return sl, nil
		}
		busy := sl.busy
		r.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// done ends the work on a slot. One that no session is open in goes.
func (r *registry) done(id string, sl *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(sl.busy)
	sl.busy = nil
	if sl.s == nil && r.slots[id] == sl {
		delete(r.slots, id)
	}
}

// open gives out a log on a session, which load reads if it is not open.
func (r *registry) open(ctx context.Context, id string, load func() (*session, error)) (Log, error) {
	return r.lend(ctx, id, func(sl *slot) (err error) {
		if sl.s == nil {
			sl.s, err = load()
		}
		return err
	})
}

// create gives out a log on a session that make makes. One that is open exists.
func (r *registry) create(ctx context.Context, id string, make func() (*session, error)) (Log, error) {
	return r.lend(ctx, id, func(sl *slot) (err error) {
		if sl.s != nil {
			return fs.ErrExist
		}
		sl.s, err = make()
		return err
	})
}

func (r *registry) lend(ctx context.Context, id string, fill func(*slot) error) (Log, error) {
	sl, err := r.claim(ctx, id)
	if err != nil {
		return nil, err
	}
	defer r.done(id, sl)
	if err := fill(sl); err != nil {
		return nil, err
	}
	sl.logs++
	s := sl.s
	return &handle{s: s, release: func() error { return r.release(id, s) }}, nil
}

// release gives a log back; the last one closes the session.
func (r *registry) release(id string, s *session) error {
	sl, err := r.claim(context.Background(), id)
	if err != nil {
		return err
	}
	defer r.done(id, sl)
	if sl.s != s { // deleted meanwhile
		return nil
	}
	sl.logs--
	if sl.logs > 0 {
		return nil
	}
	sl.s = nil
	return s.close()
}

// remove lets f delete what is stored of a session, and ends the logs that are open on it.
func (r *registry) remove(ctx context.Context, id string, f func(open *session) error) error {
	sl, err := r.claim(ctx, id)
	if err != nil {
		return err
	}
	defer r.done(id, sl)
	if err := f(sl.s); err != nil {
		return err
	}
	s := sl.s
	sl.s, sl.logs = nil, 0
	if s == nil {
		return nil
	}
	return s.close()
}

// headers describes the open sessions.
func (r *registry) headers() []Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Header, 0, len(r.slots))
	for _, sl := range r.slots {
		if sl.busy == nil && sl.s != nil { // the fields of a busy slot are someone else's
			out = append(out, sl.s.snap.Load().header)
		}
	}
	return out
}
