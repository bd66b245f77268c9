package contextengine

import (
	"context"
	"errors"
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
	if h.main == nil || h.gen.failed.Load() != nil {
		return unavailable(ctx, h, k, p)
	}
	if isBusy(h.main, k, p) {
		return busy(ctx, h, k, p)
	}
	if err = invoke(ctx, h, h.main, k, k.call, p, &r); err == nil {
		return r, nil
	}
	return failed(ctx, h, k, p, err)
}

// unavailable answers a call whose engine is quarantined or was never made.
func unavailable[P, R any](ctx context.Context, h *Handle, k *hook[P, R], p *P) (r R, err error) {
	if f := h.gen.failed.Load(); f != nil {
		h.registry.beat(ctx, f)
		if h.sel.Policy == Strict {
			return r, f.unavailable()
		}
	}
	return fallBack(ctx, h, k, p)
}

// isBusy reports whether the call must not start on in: an abandoned call for
// its session still runs there.
func isBusy[P, R any](in *instance, k *hook[P, R], p *P) bool {
	if in.calls.abandoned.Load() == 0 || in.stateless && !k.surfaces {
		return false
	}
	return in.calls.busy(k.session(*p))
}

// busy answers a call for a session in which an abandoned call still runs.
func busy[P, R any](ctx context.Context, h *Handle, k *hook[P, R], p *P) (r R, err error) {
	if h.main.isDefault || h.sel.Policy == Strict {
		return r, h.wrap(k.op, ErrEngineBusy)
	}
	return fallBack(ctx, h, k, p)
}

// failed decides what an error of the selected engine means.
func failed[P, R any](ctx context.Context, h *Handle, k *hook[P, R], p *P, err error) (r R, _ error) {
	missed := isMissedDeadline(err, h, k.op)
	switch {
	case err == ErrDeclined && k.optional:
		return r, err
	case cancelled(ctx, err) && !missed:
		return r, err
	}
	wrapped := h.wrap(k.op, err)
	if h.main.isDefault || k.spares && missed {
		return r, wrapped
	}
	strict := h.sel.Policy == Strict
	if he := (*HostError)(nil); errors.As(err, &he) {
		if strict || k.surfaces {
			return r, wrapped
		}
	} else if f := h.registry.fail(ctx, h.gen, k.op, err); strict {
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
	in, err := h.fallback(ctx)
	if err != nil {
		return r, err
	}
	if isBusy(in, k, p) {
		return r, h.wrap(k.op, ErrEngineBusy)
	}
	if err = invoke(ctx, h, in, k, k.fallback, p, &r); err == nil {
		return r, nil
	}
	var zero R
	if cancelled(ctx, err) {
		return zero, err
	}
	return zero, h.wrap(k.op, err)
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
		err := callOnce(ctx, h, in, k, call, q, r)
		if err == nil {
			return inspect(h, k, q, r)
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
func inspect[P, R any](h *Handle, k *hook[P, R], p *P, r *R) error {
	if k.sound == nil || k.sound(*r) {
		return nil
	}
	issue := k.issue(*p, *r)
	if issue == "" {
		return nil
	}
	return &ContractError{Engine: h.gen.id, Issues: []string{issue}}
}

func callOnce[P, R any](ctx context.Context, h *Handle, in *instance, k *hook[P, R], call caller[P, R], p *P, r *R) error {
	if d := k.limit(&h.sel.Deadline); d > 0 {
		return callWithDeadline(ctx, h, in, k, call, *p, r, d)
	}
	return callRecovered(ctx, in, call, p, r)
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

// callWithDeadline runs the call in a goroutine. The caller leaves at the
// deadline or its own cancellation, after a short grace; what comes back later
// is dropped, and until it does the session's calls go elsewhere. The Handle
// owns the goroutine: Close waits for it and reports it.
func callWithDeadline[P, R any](ctx context.Context, h *Handle, in *instance, k *hook[P, R], call caller[P, R], p P, r *R, d time.Duration) error {
	type outcome struct {
		r   R
		err error
	}
	missed := &DeadlineError{Engine: h.gen.id, Op: k.op, After: d}
	callCtx, cancel := context.WithTimeoutCause(ctx, d, missed)
	defer cancel()
	done := make(chan outcome, 1)
	running := in.calls.begin(k.op, k.session(p))
	go func() {
		out := outcome{err: errGoexit}
		defer func() {
			in.calls.end(running)
			done <- out
		}()
		out.err = callRecovered(callCtx, in, call, &p, &out.r)
	}()

	select {
	case out := <-done:
		if out.err != nil && context.Cause(callCtx) == error(missed) {
			return missed // it gave up because of the deadline
		}
		*r = out.r
		return out.err
	case <-callCtx.Done():
	}
	late := context.Cause(callCtx) == error(missed)
	grace := time.NewTimer(unwindGrace)
	defer grace.Stop()
	select {
	case out := <-done:
		if !late {
			*r = out.r
			return out.err
		}
	case <-grace.C:
		in.calls.abandon(running)
	}
	if late {
		return missed
	}
	return context.Cause(ctx)
}

// errGoexit stands for a call whose goroutine ended without returning.
var errGoexit = errors.New("engine ended its goroutine")

// isMissedDeadline reports whether err is the deadline of this very call, rather
// than of something the engine called.
func isMissedDeadline(err error, h *Handle, op string) bool {
	d, ok := err.(*DeadlineError)
	return ok && d.Engine == h.gen.id && d.Op == op
}
