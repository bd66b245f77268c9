package compact

import (
	"context"
	"errors"
	"fmt"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A Compactor compacts sessions of one store. It is safe for concurrent use; of two
// compactions of the same session one is superseded. It keeps a bounded memory of models
// that fail and of sessions whose compaction failed in their present turn.
type Compactor struct {
	store  transcript.Store
	s      *settings
	memory *memory
}

var _ ce.Compactor = (*Compactor)(nil)

// New returns a compactor over the host's store. The options are copied; nil is all
// defaults. It fails for a nil store and for options that contradict themselves.
func New(store transcript.Store, opts *Options) (*Compactor, error) {
	if store == nil {
		return nil, errors.New("compactor without a store")
	}
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	s.counter = tokens.NewMeter(s.counter, nil)
	return &Compactor{store: store, s: s, memory: newMemory()}, nil
}

// CompactSession compacts one session.
//
//   - The target size is p.TokenBudget, else Options.Budget. Automatic triggers do nothing
//     below it, and nothing where it is unknown; Force, manual and the triggers that
//     report a fact (overflow, timeout, bytes) compact all the same.
//   - Nothing of the log changes unless a summary is stored, which is one append. Rows
//     that arrived meanwhile stay. Another compaction that came first makes this one
//     superseded.
//   - A summary is stored only when the context gets smaller by it. When it is still
//     larger than the target the reason is target_not_reached, with Compacted set.
//   - After a failure, further calls in the same turn of the session answer the same
//     without asking a model, unless they are forced. A turn may be long: a host forces
//     what a user asks for, and what a provider refused as too large.
//   - With nothing new a second call does nothing. An overflow is news: the provider refused
//     what the estimate says, so half of what is there goes each time, while there is source.
//   - TokensAfter is an estimate in the unit of TokensBefore. What the provider reported
//     for messages that were kept describes the context before; the next call tells.
//
// An ordinary failure is a result with OK=false and a reason. An error means that the
// session could not be opened, read or written, or that ctx ended; the result then still
// has the reason cancelled or deadline.
func (c *Compactor) CompactSession(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if c.s.Mode == ModeOff && p.Trigger != ce.TriggerManual {
		return harmless(ce.ReasonDisabled), nil
	}
	id := p.SessionID
	if id == "" {
		id = p.Target.SessionID
	}
	log, err := c.store.Open(ctx, id)
	if err != nil {
		return ce.CompactResult{}, fmt.Errorf("compacting session %q: %w", id, err)
	}
	defer func() {
		if cerr := log.Close(); cerr != nil { // what was stored is stored
			c.s.Logger.WarnContext(ctx, "closing session failed", "session", id, "error", cerr)
		}
	}()
	res, err := c.compact(ctx, log, p)
	if err != nil && ctx.Err() != nil {
		return ended(ctx)
	}
	return res, err
}

// ended is the answer once the caller's context is done.
func ended(ctx context.Context) (ce.CompactResult, error) {
	reason := ce.ReasonCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = ce.ReasonDeadline
	}
	return ce.CompactResult{Reason: reason, Detail: reason.Sentence()}, context.Cause(ctx)
}

// harmless is the answer when there is nothing to do.
func harmless(reason ce.CompactionReason) ce.CompactResult {
	return ce.CompactResult{OK: true, Reason: reason, Detail: reason.Sentence()}
}

func failed(reason ce.CompactionReason, err error) ce.CompactResult {
	res := ce.CompactResult{Reason: reason, Detail: reason.Sentence()}
	if err != nil {
		res.Detail += " (" + err.Error() + ")"
	}
	return res
}

// A run is one call of CompactSession with what it found.
type run struct {
	c    *Compactor
	log  transcript.Log
	p    ce.CompactParams
	view transcript.View
	want want
	plan Plan
	// source is the plan with everything redacted that a summary is made of.
	source Plan
	turn   string // key of the last message of the user
}

func (c *Compactor) compact(ctx context.Context, log transcript.Log, p ce.CompactParams) (ce.CompactResult, error) {
	r := run{c: c, log: log, p: p}
	var err error
	if r.view, err = log.View(ctx); err != nil {
		return ce.CompactResult{}, fmt.Errorf("reading session: %w", err)
	}
	r.want = c.s.want(p)
	if r.plan, err = c.s.plan(r.view, r.want); err != nil {
		return ce.CompactResult{}, fmt.Errorf("planning compaction: %w", err)
	}
	r.turn = turnOf(r.view)
	if res, stop := r.decline(); stop {
		return res, nil
	}
	switch res, err := r.failedBefore(); {
	case err != nil:
		return ce.CompactResult{}, err
	case res != nil:
		return *res, nil
	}
	if res, stop := r.begin(ctx); stop {
		return res, nil
	}
	if ctx.Err() != nil {
		return ce.CompactResult{}, context.Cause(ctx)
	}
	res, err := r.summarise(ctx)
	if err == nil || ctx.Err() == nil { // what the caller ended did not fail
		c.memory.ended(r.session(), r.turn, res, err)
	}
	if err != nil {
		return res, err
	}
	if res.Compacted && c.s.After != nil {
		err := c.s.hook(ctx, func(ctx context.Context) error {
			c.s.After(ctx, r.cycle(), *res.Result)
			return nil
		})
		if err != nil {
			c.s.Logger.WarnContext(ctx, "after-compaction hook did not return", "session", r.session(), "error", err)
		}
	}
	r.report(ctx, res)
	return res, nil
}

// want reads the params.
func (s *settings) want(p ce.CompactParams) want {
	w := want{
		active: p.ActiveTurn, overflow: p.Trigger == ce.TriggerOverflow,
		target: max(0, p.TokenBudget), current: max(0, p.CurrentTokens),
	}
	if w.target == 0 && s.Budget.Known() {
		w.target = s.Budget.Prompt()
	}
	return w
}

// turnOf names the turn that a session is in: by the last message that is not the
// model's or a tool's.
func turnOf(v transcript.View) string {
	for i := len(v.Messages) - 1; i >= 0; i-- {
		if startsTurn(&v.Messages[i]) {
			return v.Messages[i].Key
		}
	}
	return ""
}

func (r *run) session() string { return r.log.Header().ID }

func (r *run) cycle() Cycle {
	return Cycle{Session: r.p.SessionRef, Trigger: r.p.Trigger, Plan: r.plan}
}

// decline answers when no summary is wanted or needed.
func (r *run) decline() (ce.CompactResult, bool) {
	if !r.p.Force && r.fits() {
		res := harmless(ce.ReasonBelowThreshold)
		if r.want.target == 0 {
			res.Detail = "The model's window is unknown, so nothing is compacted automatically."
		}
		return res, true
	}
	if r.plan.Reason != "" {
		return harmless(r.plan.Reason), true
	}
	return ce.CompactResult{}, false
}

// failedBefore answers in a turn in which a compaction has failed already; nil: none has.
func (r *run) failedBefore() (*ce.CompactResult, error) {
	if r.p.Force {
		return nil, nil
	}
	failed, err := r.c.memory.failedIn(r.session(), r.turn)
	if err != nil {
		return nil, fmt.Errorf("not tried again in this turn unless it is forced: %w", err)
	}
	if failed == nil {
		return nil, nil
	}
	res := *failed
	res.Detail += " It is not tried again in this turn unless it is forced."
	return &res, nil
}

// fits reports whether a trigger that only watches the size has no reason to act. A
// trigger that is not named is one when there is a size to watch.
func (r *run) fits() bool {
	switch r.p.Trigger {
	case ce.TriggerThreshold, ce.TriggerBudget:
		return r.want.target == 0 || !r.plan.Pressure
	case "":
		return r.want.target > 0 && !r.plan.Pressure
	}
	return false
}

// begin calls the hooks that come first.
func (r *run) begin(ctx context.Context) (ce.CompactResult, bool) {
	s := r.c.s
	if s.Before != nil {
		err := s.hook(ctx, func(ctx context.Context) error { return s.Before(ctx, r.cycle()) })
		switch {
		case errors.Is(err, ErrVetoed):
			res := harmless(ce.ReasonVetoed)
			res.Detail = err.Error()
			return res, true
		case err != nil:
			s.Logger.WarnContext(ctx, "before-compaction hook failed", "session", r.session(), "error", err)
		}
	}
	if s.FlushMemory != nil && ctx.Err() == nil {
		r.flush(ctx)
	}
	return ce.CompactResult{}, false
}

// flush lets the host save its memory, once in a cycle.
func (r *run) flush(ctx context.Context) {
	cycle := cycleOf(r.view)
	if !r.c.memory.beginFlush(r.session(), cycle) {
		return
	}
	end := flushFailed // what a panic is
	defer func() { r.c.memory.endFlush(r.session(), cycle, end) }()
	err := r.c.s.hook(ctx, func(ctx context.Context) error { return r.c.s.FlushMemory(ctx, r.cycle()) })
	switch {
	case err == nil:
		end = flushDone
		return
	case ctx.Err() != nil:
		end = flushCancelled
	}
	r.c.s.Logger.WarnContext(ctx, "memory flush failed", "session", r.session(), "error", err)
}

// cycleOf names the time between two compactions by the summary that began it.
func cycleOf(v transcript.View) string {
	if len(v.Messages) > 0 && v.Messages[0].Role == message.RoleCompactionSummary {
		m := &v.Messages[0]
		return fmt.Sprintf("%d/%d", m.Timestamp.UnixNano(), len(m.Summary))
	}
	return "first"
}

func (r *run) report(ctx context.Context, res ce.CompactResult) {
	args := []any{
		"session", r.session(), "trigger", string(r.p.Trigger), "reason", string(res.Reason),
		"before", r.plan.Before,
	}
	if res.Result != nil && res.Result.TokensAfter != nil {
		args = append(args, "after", *res.Result.TokensAfter)
	}
	r.c.s.Logger.InfoContext(ctx, "compaction", args...)
}
