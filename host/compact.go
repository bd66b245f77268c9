package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
)

// A compactRequest asks an engine to make a session's context smaller.
type compactRequest struct {
	trigger      ce.CompactionTrigger
	goal         ce.CompactionGoal
	force        bool
	instructions string
	current      int // observed tokens; 0: unknown
	active       bool
	degraded     ce.ReasonCode
	// measure tells the size of the context after the compaction; nil: the view's. It
	// compares with measured, the size before it by the same measure: what the provider
	// counted is none, it is larger than the estimate exactly when a request overflowed.
	// 0: with current.
	measure  func(ctx context.Context) (int, error)
	measured int
	// builtin asks the host's own compaction instead of the engine.
	builtin bool
}

// A compactOutcome is what came of a compactRequest.
type compactOutcome struct {
	ce.CompactResult
	counts        bool // it was ok, it compacted, and the context is smaller
	failure       error
	delegated     bool // the built-in compaction ran for it
	before, after int
}

// compact runs one compaction through the engine. It counts when the engine says
// that it went well and did something, and the context became smaller: by the
// engine's numbers, else by the driver's own. After one that counts the engine
// may maintain the session, which may be another one by then. The error is that
// of a context that ended, or of an engine under [ce.Strict].
func (v *visit) compact(ctx context.Context, q compactRequest) (compactOutcome, error) {
	owner := v.engine.Info().OwnsCompaction
	viewBefore, err := v.viewTokens(ctx)
	if err != nil {
		return compactOutcome{}, err
	}
	before := q.current
	if before <= 0 {
		before = max(q.measured, viewBefore)
	}
	if owner {
		v.observe(ctx, Event{Operation: OpBeforeCompaction, Outcome: OutcomeOK, TokensBefore: before}, nil)
	}
	v.refresh()
	start := time.Now()
	used := v.builtins.Load()
	res, err := v.ask(ctx, q)
	done := compactOutcome{CompactResult: res, failure: err, before: before, delegated: v.builtins.Load() > used}
	if err != nil {
		v.observe(ctx, Event{Operation: OpCompact, Duration: time.Since(start)}, err)
		return v.compactFailed(ctx, done)
	}
	if err := v.settle(ctx, &done, q, viewBefore); err != nil {
		return done, err
	}
	v.observe(ctx, Event{
		Operation: OpCompact, Outcome: outcomeOf(done), Reason: string(done.Reason), Duration: time.Since(start),
		TokensBefore: done.before, TokensAfter: done.after,
	}, nil)
	if !done.counts {
		v.noProgress(done.CompactResult, res.OK && !res.Compacted && !done.delegated && !q.builtin)
		if res.Reason == ce.ReasonNoRealConversation { // then the size that was reported is not that of this context
			v.session.update(func(r *record) { r.Used = 0 })
		}
		return done, nil
	}
	v.session.update((*record).compacted)
	if owner {
		v.observe(ctx, Event{Operation: OpAfterCompaction, Outcome: OutcomeOK, TokensBefore: done.before, TokensAfter: done.after}, nil)
	}
	v.maintain(ctx)
	return done, nil
}

// compactFailed goes on after a compaction that ended with an error, where that may be.
func (v *visit) compactFailed(ctx context.Context, done compactOutcome) (compactOutcome, error) {
	err := done.failure
	if !v.engine.settles(ctx, err) && !blameless(ctx, err) {
		return done, err
	}
	done.CompactResult = ce.CompactResult{Reason: failureReason(err), Detail: err.Error()}
	v.noProgress(done.CompactResult, false)
	return done, nil
}

// ask calls the engine, or the host's own compaction.
func (v *visit) ask(ctx context.Context, q compactRequest) (ce.CompactResult, error) {
	p := ce.CompactParams{
		SessionRef: v.ref, Target: v.target(), TokenBudget: v.promptBudget(), CurrentTokens: q.current,
		Force: q.force, Trigger: q.trigger, Goal: q.goal, CustomInstructions: q.instructions, ActiveTurn: q.active,
		Settings: v.settings(v.promptBudget(), q.degraded), Runtime: v.steps.RuntimeFor(purposeOf(q.trigger)),
	}
	if q.builtin {
		return p.Runtime.Compactor.CompactSession(ctx, p)
	}
	return v.engine.Compact(ctx, p)
}

// purposeOf is what model calls in a compaction are for.
func purposeOf(t ce.CompactionTrigger) string {
	switch t {
	case ce.TriggerOverflow:
		return turn.PurposeOverflow
	case ce.TriggerTimeout:
		return turn.PurposeTimeout
	}
	return turn.PurposeCompaction
}

// blameless reports whether err is held against no engine: a deadline, or what the
// host lent.
func blameless(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	missed, host := (*ce.DeadlineError)(nil), (*ce.HostError)(nil)
	return errors.As(err, &missed) || errors.As(err, &host)
}

// settle adopts a successor and finds out whether the compaction counts.
func (v *visit) settle(ctx context.Context, done *compactOutcome, q compactRequest, viewBefore int) error {
	if !done.OK || !done.Compacted {
		return nil
	}
	if next := done.Result.Successor(); next != "" && next != v.ref.SessionID {
		former := v.ref
		if err := v.move(ctx, next); err != nil {
			return v.rejectSuccessor(ctx, done, err)
		}
		if err := v.bootstrap(ctx, ce.BoundaryRotated, former); err != nil {
			return err
		}
	}
	d := done.Result
	switch {
	case d != nil && d.TokensAfter != nil:
		if d.TokensBefore > 0 {
			done.before = d.TokensBefore
		}
		done.after = *d.TokensAfter
		done.counts = done.after < done.before
	default:
		after, err := v.viewTokens(ctx)
		if err != nil {
			return err
		}
		done.counts = after < viewBefore
		if done.counts || q.measure == nil {
			done.before, done.after = viewBefore, after
			break
		}
		if q.measured > 0 {
			done.before = q.measured
		}
		if done.after, err = q.measure(ctx); err != nil {
			return err
		}
		done.counts = done.after < done.before
	}
	if !done.counts {
		done.Reason = ce.ReasonNoProgress
		done.Detail = fmt.Sprintf("the context has %d tokens after the compaction and had %d before it", done.after, done.before)
	}
	return nil
}

// maintain lets the engine maintain the session after a compaction.
func (v *visit) maintain(ctx context.Context) {
	settings := v.settings(v.promptBudget(), "")
	if _, err := turn.Maintain(ctx, v.engine.Handle, v.steps, ce.MaintainCompaction, settings); err != nil {
		v.warn(ctx, "maintenance after a compaction failed", err)
	}
}

func (v *visit) viewTokens(ctx context.Context) (int, error) {
	view, err := v.log.View(ctx)
	if err != nil {
		return 0, err
	}
	return v.h.meter.Messages(view.Messages), nil
}

// noProgress keeps why a compaction freed nothing where Status finds it.
func (v *visit) noProgress(r ce.CompactResult, idle bool) {
	text := string(r.Reason)
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	switch {
	case text != "":
	case r.OK:
		text = "the engine did nothing and gave no reason"
	default:
		text = "the compaction failed and gave no reason"
	}
	if idle && !v.engine.Info().OwnsCompaction {
		text += "; it does not own compaction and did not use the built-in one"
	}
	v.session.update(func(own *record) { own.LastNoProgress = text })
}

func outcomeOf(s compactOutcome) string {
	switch {
	case s.counts:
		return OutcomeOK
	case s.OK && !s.Compacted:
		return OutcomeSkipped
	}
	return OutcomeFailed
}

// failureReason is the code for a compaction that ended with an error.
func failureReason(err error) ce.CompactionReason {
	if missed := (*ce.DeadlineError)(nil); errors.As(err, &missed) {
		return ce.ReasonDeadline
	}
	return ce.ReasonProviderUnavailable
}

// Compact is the manual /compact: it waits for the open turn and compacts through
// the selected engine, even below the threshold, towards the point where automatic
// compaction would start. instructions may say what the summary should dwell on.
//
//   - OK=false or Compacted=false with a Reason is an ordinary outcome. A result
//     that the engine calls a success and that did not make the context smaller
//     comes back with Compacted=false and the reason no_progress. Sentence and
//     NextStep of the Reason are for the user.
//   - The built-in compaction keeps the end of a session, 20,000 tokens of it unless
//     Options.Compaction says otherwise: a shorter one has nothing to compact.
//   - TokensBefore and TokensAfter are the driver's where the engine told none.
//   - The model is that of the session's last turn.
//   - How full the context is is unknown until the provider's next answer.
//   - A session that does not exist is an error matching fs.ErrNotExist.
func (h *Host) Compact(ctx context.Context, ref ce.SessionRef, instructions string) (ce.CompactResult, error) {
	bounded, leave, err := h.enter(ctx)
	if err != nil {
		return ce.CompactResult{}, err
	}
	defer leave()
	v := h.visit(ref)
	defer func() {
		if err := v.close(context.WithoutCancel(ctx), true); err != nil {
			v.warn(ctx, "leaving the session failed", err)
		}
	}()
	if err := v.open(bounded, purpose{op: ce.OpManualCompact, lastModel: true}); err != nil {
		return ce.CompactResult{}, fmt.Errorf("compacting session %q: %w", ref.SessionID, err)
	}
	q := compactRequest{
		trigger: ce.TriggerManual, goal: ce.GoalThreshold, force: true,
		instructions: instructions, current: v.estimated(v.session.used()),
	}
	if v.engine.Info().OwnsCompaction { // its list may be short already, and shorter afterwards
		if q.measured, err = v.assembledTokens(bounded); err == nil {
			q.measure = v.assembledTokens
		}
	}
	done, err := v.compact(bounded, q)
	if err != nil {
		return done.CompactResult, fmt.Errorf("compacting session %q: %w", ref.SessionID, err)
	}
	v.remember(ctx)
	return done.told(), nil
}

// assembledTokens is the size of what the engine would send of the session now.
func (v *visit) assembledTokens(ctx context.Context) (int, error) {
	view, err := v.log.View(ctx)
	if err != nil {
		return 0, err
	}
	budget := v.promptBudget()
	res, err := turn.Assemble(ctx, v.engine.Handle, v.steps, ce.AssembleParams{
		Messages: view.Messages, TokenBudget: budget, Model: v.model.ID,
		CitationsMode: v.h.opts.Citations, Settings: v.settings(budget, ""),
	})
	if err != nil {
		return 0, err
	}
	return v.h.meter.Messages(res.Messages), nil
}

// told is the result as callers see it: what does not count is not called
// compacted, and the numbers are filled in.
func (s compactOutcome) told() ce.CompactResult {
	r := s.CompactResult
	if !r.OK || !r.Compacted {
		return r
	}
	r.Compacted = s.counts
	var d ce.CompactDetails
	if r.Result != nil {
		d = *r.Result
	}
	if d.TokensBefore == 0 {
		d.TokensBefore = s.before
	}
	if d.TokensAfter == nil {
		d.TokensAfter = &s.after
	}
	r.Result = &d
	return r
}
