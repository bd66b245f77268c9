package contextengine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A Handle is the engine that a host holds: the selected one behind the guard,
// with every hook. Safe for concurrent use.
//
//   - A failing engine is quarantined with its first failure, and the legacy
//     engine answers, in the same call except for Compact and
//     PrepareSubagentSpawn, whose error comes back once.
//   - A done context returns its cause; that is no failure.
//   - Hooks that the engine lacks do what the package-level function of the same
//     name does.
//   - Every failure is an [*OpError], or under [Strict] an
//     [*EngineUnavailableError]; [ErrDeclined] comes back bare.
//
// Close it when its last turn, maintenance and spawn are done.
type Handle struct {
	registry *Registry
	sel      Selection
	source   SelectionSource
	gen      *generation
	main     *instance // the selected engine; nil: it could not be made
	hooks    HookSet

	closed atomic.Bool

	standIn atomic.Pointer[instance] // the fallback, once it is built; written under mu

	mu       sync.Mutex
	building chan struct{} // closed when the fallback is built; nil: nobody builds
	buildErr error         // why there is no fallback
}

var (
	_ ContextEngine       = (*Handle)(nil)
	_ Bootstrapper        = (*Handle)(nil)
	_ Maintainer          = (*Handle)(nil)
	_ BatchIngester       = (*Handle)(nil)
	_ AfterTurner         = (*Handle)(nil)
	_ TurnCommitter       = (*Handle)(nil)
	_ SubagentPreparer    = (*Handle)(nil)
	_ SubagentEndObserver = (*Handle)(nil)
	_ SessionEndObserver  = (*Handle)(nil)
	_ ToolProvider        = (*Handle)(nil)
	_ HookReporter        = (*Handle)(nil)
	_ io.Closer           = (*Handle)(nil)
)

// A Status says which engine was selected and which one answers.
type Status struct {
	// Selected is the registered id that the slot names. Answering is the Info.ID
	// of the engine that answers the next call, which need not be the same word
	// when all is well; "" when none does: under [Strict], or without a fallback.
	Selected, Answering string
	Source              SelectionSource // configured or default
	Policy              FailurePolicy
	Quarantine          *Quarantine // a copy; nil: none
	// Substituted says that the Handle has no engine of its own: it could not be
	// made, or is registered for discovery only.
	Substituted bool
	// Busy counts calls that were abandoned at a deadline and still run. The
	// other calls of their sessions go to the fallback meanwhile.
	Busy int
}

// Degraded reports whether another engine than the selected one answers, or none.
func (s Status) Degraded() bool { return s.Quarantine != nil || s.Substituted }

// Status reports how the Handle stands now.
func (h *Handle) Status() Status {
	s := Status{Selected: h.gen.id, Source: h.source, Policy: h.sel.Policy, Substituted: h.main == nil}
	if h.main != nil {
		s.Busy = int(h.main.calls.abandoned.Load())
	}
	if s.Policy == "" {
		s.Policy = Fallback
	}
	f := h.gen.failed.Load()
	if f != nil {
		q := f.Quarantine
		s.Quarantine = &q
	}
	if in := h.answering(f); in != nil {
		s.Answering = in.describe().ID
	}
	return s
}

// Info describes the engine that answers now: after a quarantine, the legacy
// engine, which is made if it was not needed before. Where nobody answers, under
// [Strict], it still describes the selected engine.
func (h *Handle) Info() Info {
	in := h.answering(h.gen.failed.Load())
	switch {
	case in != nil:
		return in.describe()
	case h.main != nil && h.sel.Policy == Strict:
		return h.main.describe()
	}
	return legacyInfo()
}

// answering returns the engine that answers while f stands; nil: none does.
func (h *Handle) answering(f *failure) *instance {
	if h.main != nil && f == nil {
		return h.main
	}
	if h.sel.Policy == Strict {
		return nil
	}
	in, err := h.fallback(context.Background())
	if err != nil {
		return nil
	}
	return in
}

// Hooks returns the hooks of the selected engine, fixed for the life of the
// Handle, whoever answers.
func (h *Handle) Hooks() HookSet { return h.hooks }

// Owner returns who registered the engine that answers now: "core" for legacy,
// "" where nobody answers.
func (h *Handle) Owner() string {
	if h.main != nil && h.gen.failed.Load() == nil {
		return h.gen.owner
	}
	if h.sel.Policy == Strict {
		return ""
	}
	return coreOwner
}

// Stale reports whether resolving the same selection again could give another
// engine: the id was registered anew or unregistered, or it was healed while
// this Handle has no engine of its own. Hosts ask at the start of a turn.
func (h *Handle) Stale() bool {
	if h.registry.lookup(h.gen.id) != h.gen {
		return true
	}
	return h.main == nil && h.gen.number > 0 && !h.gen.discovery && h.gen.failed.Load() == nil
}

// wrap makes err an OpError of this Handle.
func (h *Handle) wrap(op string, err error) error {
	return &OpError{Engine: h.gen.id, Op: op, Err: err}
}

// fallback returns the legacy engine, made at the first need, once. A factory
// that failed is not asked again; one that was cancelled is.
func (h *Handle) fallback(ctx context.Context) (*instance, error) {
	for {
		if in := h.standIn.Load(); in != nil {
			return in, nil
		}
		h.mu.Lock()
		in, err, wait := h.standIn.Load(), h.buildErr, h.building
		if err == nil && h.closed.Load() {
			err = ErrClosed
		}
		if in == nil && err == nil && wait == nil {
			h.building = make(chan struct{})
		}
		h.mu.Unlock()
		switch {
		case in != nil:
			return in, nil
		case err != nil:
			return nil, err
		case wait == nil:
			return h.makeFallback(ctx)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// makeFallback builds the fallback; h.building says that this call does.
func (h *Handle) makeFallback(ctx context.Context) (in *instance, err error) {
	err = errGoexit
	defer func() {
		h.mu.Lock()
		tooLate := h.closed.Load() // Close has been here: nobody else will close it
		switch {
		case err == nil && !tooLate:
			h.standIn.Store(in)
		case err != nil && ctx.Err() == nil:
			h.buildErr = err
		}
		close(h.building)
		h.building = nil
		h.mu.Unlock()
		if err == nil && tooLate {
			in, err = nil, errors.Join(ErrClosed, closeInstance(in))
		}
	}()
	in, _, err = h.registry.build(ctx, h.registry.lookup(LegacyID), h.sel.Factory)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil:
		err = fmt.Errorf("no fallback for engine %q: %w", h.gen.id, err)
	}
	return in, err
}

// Close releases the selected engine and the fallback, once; later calls return
// at once. Call it after the last turn, maintenance and spawn. It is not guarded:
// an error is returned, a panic becomes a [*PanicError], and neither quarantines.
//
// [Deadlines.Close] bounds it as a whole. Calls that were abandoned at a deadline
// get that time to come back, and are named by the error when they do not: their
// engine is closed all the same.
func (h *Handle) Close() error {
	h.mu.Lock()
	again := h.closed.Swap(true)
	h.mu.Unlock()
	if again {
		return nil
	}
	limit := h.sel.Deadline.Close
	until := time.Now().Add(max(limit, unwindGrace))
	var errs []error
	for _, in := range []*instance{h.main, h.standIn.Load()} {
		if in == nil {
			continue
		}
		for _, op := range in.calls.wait(time.Until(until)) {
			errs = append(errs, h.wrap("close", fmt.Errorf("%s never came back: %w", op, ErrEngineBusy)))
		}
		left := time.Duration(0)
		if limit > 0 {
			left = max(time.Until(until), unwindGrace)
		}
		if err := closeWithin(in, left, limit); err != nil {
			errs = append(errs, h.wrap("close", err))
		}
	}
	return errors.Join(errs...)
}

// closeWithin closes an engine, at most for left where that is set.
func closeWithin(in *instance, left, limit time.Duration) error {
	if left <= 0 {
		return closeInstance(in)
	}
	done := make(chan error, 1)
	go func() { done <- closeInstance(in) }()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return &DeadlineError{Engine: in.id, Op: "close", After: limit}
	}
}
