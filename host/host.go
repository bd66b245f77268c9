package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/internal/lane"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/report"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A Host takes sessions through turns with one engine. Turns of different
// sessions run concurrently, those of one session one after the other. Safe for
// concurrent use. Make it with [New]; close it when no more turns are to come.
type Host struct {
	opts    Options
	store   transcript.Store
	meter   *tokens.Meter
	engines *roster
	open    *sessions
	lane    *lane.Lane
	logs    logCache

	calibrator *calibrator
	// defaultModel is the last description of the host's default model; nil: none yet.
	defaultModel atomic.Pointer[ModelInfo]

	// life ends with Close. What runs in a turn ends with it.
	life context.Context
	end  context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	turns   map[*Turn]struct{} // begun and not ended
	working int                // calls of Begin, Compact and EndSession
	quiet   chan struct{}      // closed when working is 0; nil: nobody waits
}

// errHostClosed is why a host does nothing any more.
var errHostClosed = fmt.Errorf("the host is %w", ce.ErrClosed)

// New returns a Host over a store. The options are copied. The engine is not
// resolved yet: the first turn does that.
func New(store transcript.Store, opts *Options) (*Host, error) {
	if store == nil {
		return nil, errors.New("making a host: no transcript store")
	}
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("making a host: %w", err)
	}
	o := opts.withDefaults()
	h := &Host{
		opts: o, store: store, meter: tokens.NewMeter(o.Estimator, nil),
		open: newSessions(), lane: lane.New(),
		turns: map[*Turn]struct{}{},
	}
	h.engines = newRoster(o.Registry, o.Selection, h.closedEngine)
	h.calibrator = newCalibrator(&h.opts)
	h.life, h.end = context.WithCancelCause(context.Background())
	if h.opts.Compactor == nil {
		c, err := h.builtinCompactor()
		if err != nil {
			return nil, fmt.Errorf("making a host: %w", err)
		}
		h.opts.Compactor = c
	}
	return h, nil
}

// builtinCompactor is the compaction of a host that brings none of its own.
func (h *Host) builtinCompactor() (ce.Compactor, error) {
	var o compact.Options
	if h.opts.Compaction != nil {
		o = *h.opts.Compaction
	}
	if o.Estimator == nil {
		o.Estimator = h.meter
	}
	if o.Now == nil {
		o.Now = h.opts.Now
	}
	if o.Logger == nil {
		o.Logger = h.opts.Logger
	}
	if o.Summarizer == nil {
		if o.Extractive == "" {
			o.Extractive = compact.PolicyPressure
		}
		if h.opts.Model != nil {
			o.Summarizer = summarizer{compact.WithCompleter(completer{h: h, purpose: turn.PurposeCompaction}), h}
		}
	}
	return compact.New(h.store, &o)
}

// Select changes the engine from the next turn on. The transcript stays; the new
// engine bootstraps from it. The former one is closed after its last work.
func (h *Host) Select(s ce.Selection) { h.engines.choose(s) }

// Status tells how a session stands: what its last turn left, in this run of the program or
// an earlier one, and how the engine stands now. Before the engine is resolved, only Selected
// and Policy of it are known.
func (h *Host) Status(ref ce.SessionRef) report.Status {
	out := report.Status{Engine: h.engines.status()}
	r := h.standing(ref)
	out.Window, out.Used, out.Reserve, out.Compactions = r.Window, r.Used, r.Reserve, r.Compactions
	out.Settings, out.LastPrecheck, out.LastNoProgress = maps.Clone(r.Settings), r.LastPrecheck, r.LastNoProgress
	return out
}

// EndSession tells the engine that a session is deleted, reset, rotated or
// archived; successor is the session that goes on in its place, where there is
// one. It waits for the open turn. The log is not touched: who deletes a session calls
// this with [ce.BoundaryDeleted], which removes what Options.State has of it, and then
// Delete of the store. The successor begins with a turn that says so, see
// TurnOptions.Boundary and Previous.
func (h *Host) EndSession(ctx context.Context, ref ce.SessionRef, reason ce.Boundary, successor ce.SessionRef) error {
	switch reason {
	case ce.BoundaryDeleted, ce.BoundaryReset, ce.BoundaryRotated, ce.BoundaryArchived:
	default:
		return fmt.Errorf("ending session %q: %q is no reason for a session to end", ref.SessionID, string(reason))
	}
	if ref.SessionID == "" {
		return errors.New("ending a session: it has no id")
	}
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	c, err := h.open.claim(ctx, ref)
	if err != nil {
		return fmt.Errorf("ending session %q: %w", ref.SessionID, err)
	}
	defer c.release()
	if err := h.awaitBackground(ctx, ref); err != nil {
		return fmt.Errorf("ending session %q: %w", ref.SessionID, err)
	}
	e, err := h.lease(ctx)
	if err != nil {
		return fmt.Errorf("ending session %q: %w", ref.SessionID, err)
	}
	defer h.release(ctx, e)
	start := time.Now()
	err = ce.OnSessionEnded(ctx, e.Handle, ce.SessionEndedParams{SessionRef: ref, Reason: reason, Successor: successor})
	if err != nil || ce.HooksOf(e.Handle).Has(ce.HookSessionEnded) {
		w := notifier{h: h, engine: e, session: ref.SessionID, journal: &journal{}, known: &session{}}
		w.observe(ctx, Event{Operation: OpSessionEnded, Reason: string(reason), Duration: time.Since(start)}, err)
	}
	h.open.forget(ref.SessionID)
	err = errors.Join(err, h.logs.drop(ref.SessionID))
	if reason == ce.BoundaryDeleted {
		err = errors.Join(err, h.opts.State.Delete(ctx, ref))
	}
	return err
}

// Close ends open turns as aborted, waits for what they do and for maintenance in the
// background, at most until ctx is done, and closes the engine. What then still runs in
// the background is cut short; what waits there is dropped at once. Begin, Run, Compact and
// EndSession then fail with [ce.ErrClosed]. It is idempotent, and after an error it can be
// called again to wait for what was left.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end(errHostClosed)

	var errs []error
	for _, t := range h.openTurns() {
		errs = append(errs, t.endAborted(ctx))
	}
	errs = append(errs, h.awaitWork(ctx), h.lane.Close(ctx), h.engines.close(), h.logs.close())
	return errors.Join(errs...)
}

// awaitWork waits until nobody is in a method of the closed Host.
func (h *Host) awaitWork(ctx context.Context) error {
	h.mu.Lock()
	if h.working == 0 {
		h.mu.Unlock()
		return nil
	}
	if h.quiet == nil {
		h.quiet = make(chan struct{})
	}
	quiet := h.quiet
	h.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing the host: %w", context.Cause(ctx))
	}
}

// keep remembers an open turn, unless the Host is closed.
func (h *Host) keep(t *Turn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.turns[t] = struct{}{}
	}
	return !h.closed
}

func (h *Host) drop(t *Turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.turns, t)
}

func (h *Host) openTurns() []*Turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	ts := make([]*Turn, 0, len(h.turns))
	for t := range h.turns {
		ts = append(ts, t)
	}
	return ts
}

// enter starts a piece of work: its context also ends with the Host, and Close
// waits until it leaves.
func (h *Host) enter(ctx context.Context) (context.Context, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, errHostClosed
	}
	h.working++
	ctx, stop := h.bound(ctx)
	return ctx, func() {
		stop()
		h.leave()
	}, nil
}

func (h *Host) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.working--; h.working == 0 && h.quiet != nil {
		close(h.quiet)
		h.quiet = nil
	}
}

// bound returns a context that also ends with the Host.
func (h *Host) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.life, func() { cancel(context.Cause(h.life)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// closedEngine tells that an engine was closed.
func (h *Host) closedEngine(e *engine, took time.Duration, err error) {
	w := notifier{h: h, engine: e, journal: &journal{}}
	w.observe(context.WithoutCancel(h.life), Event{Operation: OpClose, Duration: took}, err)
}

// lease returns the engine for a piece of work. That a former engine did not
// close well is logged: it is nobody's failure now.
func (h *Host) lease(ctx context.Context) (*engine, error) {
	e, err := h.engines.lease(ctx)
	if e == nil {
		return nil, err
	}
	h.logClosing(ctx, err)
	h.logDegraded(ctx, e)
	return e, nil
}

func (h *Host) release(ctx context.Context, e *engine) {
	h.logDegraded(ctx, e)
	h.logClosing(ctx, h.engines.release(e))
}

// logDegraded logs, once, that somebody else answers for the selected engine, where the
// registry has no logger to do so.
func (h *Host) logDegraded(ctx context.Context, e *engine) {
	if h.opts.Registry.Logger != nil {
		return
	}
	s := e.Status()
	if !s.Degraded() || !e.logged.CompareAndSwap(false, true) {
		return
	}
	attrs := []slog.Attr{slog.String("selected", s.Selected), slog.String("answering", s.Answering)}
	if q := s.Quarantine; q != nil {
		attrs = append(attrs, slog.String("op", q.Operation), slog.String("class", q.Class))
	}
	h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the selected engine does not answer", attrs...)
}

func (h *Host) logClosing(ctx context.Context, err error) {
	if err != nil {
		h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "closing a former engine failed", slog.Any("error", err))
	}
}
