package contextengine

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// unwindGrace is how long the guard waits, after a deadline or a cancellation,
// for an engine to come back by itself before the call counts as abandoned.
const unwindGrace = 50 * time.Millisecond

// A hook is everything the guard must know of one method. Its functions capture
// nothing and take values, so that a call allocates nothing.
type hook[P, R any] struct {
	op       string // name in records and errors, lower camel case
	optional bool   // the hook may decline
	limit    func(*Deadlines) time.Duration
	session  func(P) sessionID
	call     caller[P, R]
	// fallback is the answer of the fallback engine, or a canned result where
	// it lacks the hook.
	fallback caller[P, R]
	// present and zero tell which host-added fields P carries and remove some.
	// nil: P has none. byText are those that a validator's text may name.
	present func(P) paramMask
	zero    func(P, paramMask) P
	byText  paramMask
	// sound reports whether a result needs no second look; issue takes it, and
	// says how the result breaks the contract, or "". nil: nothing to check.
	sound func(R) bool
	issue func(P, R) string
	// surfaces: the error is returned in the same call, nobody else answers it.
	surfaces bool
	// spares: a missed deadline is returned and not recorded.
	spares bool
	// undo takes back a result that came too late for its caller. nil: nothing to undo.
	undo func(R)
}

// A caller calls one method of an engine.
type caller[P, R any] = func(context.Context, *instance, P) (R, error)

// A sessionID is what calls for one session share.
type sessionID struct{ id, key string }

func sessionOf(r SessionRef) sessionID { return sessionID{r.SessionID, r.SessionKey} }

// guard is the one place that decides what a failing engine means for a call.
func guard[P, R any](ctx context.Context, h *Handle, k *hook[P, R], p *P) (r R, err error) {
	if h.closed.Load() {
		return r, h.wrap(k.op, ErrClosed)
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if f := h.gen.failed.Load(); f != nil || h.main == nil {
		return unavailable(ctx, h, k, p, f)
	}
	if isBusy(h.main, k, p) {
		if h.main.isDefault || h.sel.Policy == Strict {
			return r, h.wrap(k.op, ErrEngineBusy)
		}
		return fallBack(ctx, h, k, p)
	}
	if err = invoke(ctx, h, h.main, k, k.call, p, &r); err == nil {
		return r, nil
	}
	return failed(ctx, h, k, p, err)
}

// unavailable answers a call whose engine is quarantined, with f, or was never
// made.
func unavailable[P, R any](ctx context.Context, h *Handle, k *hook[P, R], p *P, f *failure) (r R, err error) {
	if f != nil {
		h.registry.beat(h.gen)
		if h.sel.Policy == Strict {
			return r, f.unavailable()
		}
	}
	return fallBack(ctx, h, k, p)
}

// isBusy reports whether the call must not start on in: an abandoned call for
// its session still runs there.
func isBusy[P, R any](in *instance, k *hook[P, R], p *P) bool {
	if in.calls.abandoned.Load() == 0 || isInstant(in, k) {
		return false
	}
	return in.calls.busy(k.session(*p))
}

// isInstant reports whether in answers at once: the built-in engine does, except that
// its compaction is the host's work.
func isInstant[P, R any](in *instance, k *hook[P, R]) bool { return in.builtin && !k.surfaces }

// failed decides what an error of the selected engine means.
func failed[P, R any](ctx context.Context, h *Handle, k *hook[P, R], p *P, err error) (r R, _ error) {
	if err == ErrDeclined && k.optional {
		return r, err
	}
	_, missed := err.(ownDeadline)
	fault := examine(ctx, err)
	if fault.cancelled && !missed {
		return r, fault.err
	}
	wrapped := h.wrap(k.op, fault.err)
	if h.main.isDefault || k.spares && isMissed(fault.err, k.op) {
		return r, wrapped
	}
	strict := h.sel.Policy == Strict
	if fault.host {
		if strict || k.surfaces {
			return r, wrapped
		}
	} else if f := h.registry.fail(ctx, h.gen, k.op, fault); strict {
		return r, f.unavailable()
	} else if k.surfaces {
		return r, wrapped
	}
	r, ferr := fallBack(ctx, h, k, p)
	if ferr != nil {
		return r, wrapped
	}
	return r, nil
}

// fallBack asks the fallback engine.
func fallBack[P, R any](ctx context.Context, h *Handle, k *hook[P, R], p *P) (r R, err error) {
	noteStandIn(ctx)
	in, err := h.fallback(ctx)
	if err != nil {
		if examine(ctx, err).cancelled {
			return r, err
		}
		return r, h.wrap(k.op, err)
	}
	if isBusy(in, k, p) {
		return r, h.wrap(k.op, ErrEngineBusy)
	}
	if err = invoke(ctx, h, in, k, k.fallback, p, &r); err == nil {
		return r, nil
	}
	var zero R
	_, missed := err.(ownDeadline)
	fault := examine(ctx, err)
	if fault.cancelled && !missed {
		return zero, fault.err
	}
	return zero, h.wrap(k.op, fault.err)
}

// invoke calls one engine: fields that it does not want are zeroed, and the call
// is repeated when it rejects more of them, at most once per field.
func invoke[P, R any](ctx context.Context, h *Handle, in *instance, k *hook[P, R], call caller[P, R], p *P, r *R) error {
	for {
		q := p
		if reject := in.rejects(); reject != 0 && k.zero != nil {
			reduced := k.zero(*p, reject)
			q = &reduced
		}
		var err error
		if d := k.limit(&h.sel.Deadline); d > 0 && !isInstant(in, k) {
			err = callWithDeadline(ctx, h, in, k, call, *q, r, d, k.session(*p))
		} else {
			err = callRecovered(ctx, in, call, q, r)
		}
		if err == nil {
			return inspect(in, k, q, r)
		}
		if k.zero == nil || ctx.Err() != nil {
			return err
		}
		var byText paramMask
		if h.sel.LearnRejectedFields {
			byText = k.byText
		}
		if !in.learn(err, k.present(*q), byText) {
			return err
		}
	}
}

// inspect judges a result as far as that takes no walk over it.
func inspect[P, R any](in *instance, k *hook[P, R], p *P, r *R) error {
	if k.sound == nil || k.sound(*r) {
		return nil
	}
	issue := k.issue(*p, *r)
	if issue == "" {
		return nil
	}
	return &ContractError{Engine: in.id, Issues: []string{issue}}
}

func callRecovered[P, R any](ctx context.Context, in *instance, call caller[P, R], p *P, r *R) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	*r, err = call(ctx, in, *p)
	return err
}

// An outcome is what a call came to.
type outcome[R any] struct {
	r   R
	err error
}

// callWithDeadline runs the call in a goroutine. The caller leaves at the
// deadline or its own cancellation, after a short grace; what comes back later
// is dropped, and until it does the session's calls go elsewhere. The Handle
// owns the goroutine: Close waits for it and reports it.
func callWithDeadline[P, R any](ctx context.Context, h *Handle, in *instance, k *hook[P, R], call caller[P, R], p P, r *R, d time.Duration, sid sessionID) error {
	missed := &DeadlineError{Engine: in.id, Op: k.op, After: d}
	callCtx, cancel := context.WithTimeoutCause(ctx, d, missed)
	defer cancel()
	done := make(chan outcome[R], 1)
	op, undo := k.op, k.undo
	running := in.calls.begin(op, sid)
	go func() {
		out := outcome[R]{err: errGoexit}
		defer func() {
			if in.calls.end(running) && undo != nil && out.err == nil {
				undo(out.r)
			}
			done <- out
		}()
		out.err = callRecovered(callCtx, in, call, &p, &out.r)
	}()

	select {
	case out := <-done:
		if out.err != nil && context.Cause(callCtx) == error(missed) {
			return ownDeadline{missed} // it gave up because of the deadline
		}
		*r = out.r
		return out.err
	case <-callCtx.Done():
	}
	late := context.Cause(callCtx) == error(missed)
	out, back := unwind(in, running, done)
	switch {
	case !back:
		h.registry.logger().LogAttrs(ctx, slog.LevelWarn, "context engine call abandoned; its session goes elsewhere until it returns",
			slog.String("engine", sanitise(in.id)), slog.String("operation", op), slog.String("session", sanitise(sid.id)))
	case !late:
		*r = out.r
		return out.err
	case undo != nil && out.err == nil:
		undo(out.r)
	}
	if late {
		return ownDeadline{missed}
	}
	return context.Cause(ctx)
}

// unwind gives a call that should come back a little time; false when it was
// abandoned.
func unwind[R any](in *instance, running *runningCall, done <-chan outcome[R]) (outcome[R], bool) {
	grace := time.NewTimer(unwindGrace)
	defer grace.Stop()
	select {
	case out := <-done:
		return out, true
	case <-grace.C:
	}
	if in.calls.abandon(running) {
		return outcome[R]{}, false
	}
	return <-done, true // it ended this very moment
}

// ownDeadline is a deadline that a guard itself saw missed: unlike the exported error,
// an engine cannot make one. It passes on those of a Handle that it calls.
type ownDeadline struct{ *DeadlineError }

// Unwrap returns the exported error.
func (o ownDeadline) Unwrap() error { return o.DeadlineError }

// isMissed reports whether a guard, this one or that of a Handle behind it, saw the
// deadline of op missed.
func isMissed(err error, op string) bool {
	var own ownDeadline
	return errors.As(err, &own) && own.Op == op
}

// errGoexit stands for a call whose goroutine ended without returning.
var errGoexit = errors.New("engine ended its goroutine")
