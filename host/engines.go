package host

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

// An engine is a resolved Handle and the work that still needs it.
type engine struct {
	*ce.Handle
	policy ce.FailurePolicy
	limits ce.Deadlines
	logged atomic.Bool // that somebody else answers

	uses    int  // guarded by roster.mu
	retired bool // guarded by roster.mu
}

// strict reports whether nobody may answer in the engine's place.
func (e *engine) strict() bool { return e.policy == ce.Strict }

// settles reports whether err of a step need not end the turn: somebody else can
// answer for the engine.
func (e *engine) settles(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !e.strict()
}

// A roster has the engine of a Host, and the former ones until their last work is
// done.
type roster struct {
	registry *ce.Registry
	resolver chan struct{} // a token: one resolution at a time
	closed   func(e *engine, took time.Duration, err error)

	mu      sync.Mutex
	sel     ce.Selection
	version int // of sel
	current *engine
	made    int // version that current was made from
}

func newRoster(r *ce.Registry, s ce.Selection, closed func(*engine, time.Duration, error)) *roster {
	return &roster{registry: r, sel: s, resolver: make(chan struct{}, 1), closed: closed}
}

// choose changes the engine from the next lease on.
func (r *roster) choose(s ce.Selection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sel = withDeadlines(s)
	r.version++
}

// lease returns the engine for one piece of work. It is resolved where there is
// none yet, where the selection changed, or where its registration did. The error
// is that of closing a former engine that nobody needs any more, or of resolving;
// in the latter case there is no engine.
func (r *roster) lease(ctx context.Context) (*engine, error) {
	if e := r.take(); e != nil {
		return e, nil
	}
	select {
	case r.resolver <- struct{}{}:
		defer func() { <-r.resolver }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e := r.take(); e != nil {
		return e, nil
	}
	r.mu.Lock()
	sel, version := r.sel, r.version
	r.mu.Unlock()
	h, err := r.registry.Resolve(ctx, sel)
	if err != nil {
		return nil, err
	}
	e := &engine{Handle: h, policy: sel.Policy, limits: sel.Deadline, uses: 1}
	r.mu.Lock()
	former := r.current
	r.current, r.made = e, version
	r.mu.Unlock()
	return e, r.retire(former)
}

// take leases the current engine while it is good.
func (r *roster) take() *engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || r.made != r.version || r.current.Stale() {
		return nil
	}
	r.current.uses++
	return r.current
}

// share leases an engine once more, for work that outlives the first lease.
func (r *roster) share(e *engine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.uses++
}

// release ends a lease. A retired engine is closed with its last one.
func (r *roster) release(e *engine) error {
	r.mu.Lock()
	e.uses--
	last := e.retired && e.uses == 0
	r.mu.Unlock()
	if last {
		return r.end(e)
	}
	return nil
}

// retire takes an engine out of service; it is closed now or with its last lease.
func (r *roster) retire(e *engine) error {
	if e == nil {
		return nil
	}
	r.mu.Lock()
	again := e.retired
	e.retired = true
	idle := e.uses == 0
	r.mu.Unlock()
	if again || !idle {
		return nil
	}
	return r.end(e)
}

// end closes an engine that nobody needs any more.
func (r *roster) end(e *engine) error {
	start := time.Now()
	err := e.Close()
	r.closed(e, time.Since(start), err)
	return err
}

// close retires the current engine.
func (r *roster) close() error {
	r.mu.Lock()
	e := r.current
	r.current = nil
	r.mu.Unlock()
	return r.retire(e)
}

// status is that of the current engine. Where the selection was not resolved yet, or could
// not be, it is known by name only.
func (r *roster) status() ce.Status {
	r.mu.Lock()
	e, sel := r.current, r.sel
	if r.made != r.version {
		e = nil
	}
	r.mu.Unlock()
	if e != nil {
		return e.Status()
	}
	s := ce.Status{Selected: strings.TrimSpace(sel.Engine), Source: ce.SourceConfigured, Policy: cmp.Or(sel.Policy, ce.Fallback)}
	if s.Selected == "" {
		s.Selected, s.Source = ce.LegacyID, ce.SourceDefault
	}
	return s
}
