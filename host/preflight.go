package host

import (
	"context"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

// A PreflightClass says how a compaction before a turn went.
type PreflightClass string

// Preflight classes.
const (
	PreflightCompacted PreflightClass = "compacted"
	// PreflightIdle: there was nothing to do, and that is fine.
	PreflightIdle PreflightClass = "nothing_to_do"
	// PreflightDeferred: the engine will do it in the background.
	PreflightDeferred PreflightClass = "deferred"
	// PreflightFailed: something should have been done and was not. The turn goes on:
	// the precheck and the provider have their say.
	PreflightFailed PreflightClass = "failed"
)

// ClassifyPreflight says what a compaction result means before a turn.
func ClassifyPreflight(r ce.CompactResult) PreflightClass {
	if r.OK && r.Compacted {
		return PreflightCompacted
	}
	switch r.Reason {
	case ce.ReasonDeferred:
		return PreflightDeferred
	case ce.ReasonBelowThreshold, ce.ReasonNothingToCompact, ce.ReasonNoRealConversation, ce.ReasonDisabled:
		return PreflightIdle
	}
	return PreflightFailed
}

// preflight compacts before a turn whose context comes near the budget, so that the
// turn has room for its tools. Heartbeats are not worth it.
func (t *Turn) preflight(ctx context.Context, input message.Message) error {
	soft, b := t.h.opts.SoftThreshold, t.budget()
	if soft <= 0 || !b.Known() || t.opts.IsHeartbeat || b.Prompt() <= soft {
		return nil
	}
	view, err := t.log.View(ctx)
	if err != nil {
		return err
	}
	used := t.upcoming(view.Messages, input)
	if used < b.Prompt()-soft {
		return nil
	}
	if t.defers(used) {
		t.observe(ctx, Event{Operation: OpPreflight, Outcome: OutcomeOK, Reason: string(PreflightDeferred), TokensBefore: used}, nil)
		return nil
	}
	done, err := t.compact(ctx, compactRequest{trigger: ce.TriggerBudget, goal: ce.GoalBudget, force: true, current: used})
	if err != nil {
		return err
	}
	if done.counts {
		t.guard.arm()
		after, err := t.log.View(ctx)
		if err != nil {
			return err
		}
		t.summary = done.summary(after, after.Generation != view.Generation)
	}
	class := ClassifyPreflight(done.told())
	t.observe(ctx, Event{
		Operation: OpPreflight, Outcome: OutcomeOK, Reason: string(class), TokensBefore: done.before, TokensAfter: done.after,
	}, nil)
	return nil
}

// upcoming is how full the context will be with the input; 0: nobody can say, as only the
// provider knows how much of the view an owner of compaction sends.
func (t *Turn) upcoming(view []message.Message, input message.Message) int {
	used := 0
	switch {
	case t.session.used() > 0:
		used = t.anchored(view)
	case t.engine.Info().OwnsCompaction:
		return 0
	default:
		used = t.h.meter.Messages(view)
	}
	if !isZero(input) {
		used += t.h.meter.Message(input)
	}
	return used
}

// defers reports whether a compaction before the turn can wait for the maintenance
// after it: the engine owns compaction and maintains in the background, where it has
// leave to compact, and the turn still fits.
func (t *Turn) defers(used int) bool {
	info := t.engine.Info()
	return info.OwnsCompaction && info.TurnMaintenance == ce.MaintenanceBackground &&
		ce.HooksOf(t.engine.Handle).Has(ce.HookMaintain) && t.budget().Overflow(used) == 0
}
