package host

import (
	"context"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// autoCompact is the automatic compaction of engines that do not own it: when the
// context is above the budget after an answer of the provider, or before a
// request of a tool loop, the host's own compaction runs.
func (t *Turn) autoCompact(ctx context.Context) error {
	if len(t.own.messages) == 0 { // nothing was appended that a model could see
		return nil
	}
	last := t.own.messages[len(t.own.messages)-1]
	due := last.Role == message.RoleAssistant || t.own.awaitsModel()
	if !due || !t.model.Budget.Known() || t.engine.Info().OwnsCompaction || t.tries.automatic >= maxCompactions {
		return nil
	}
	used := t.contextTokens()
	if t.budget().Overflow(used) == 0 {
		return nil
	}
	done, err := t.compactInTurn(ctx, compactRequest{
		trigger: ce.TriggerThreshold, goal: ce.GoalThreshold, current: used, active: t.own.waits(), builtin: true,
	})
	switch {
	case err == nil:
	case last.Role == message.RoleAssistant && !t.own.waits():
		t.warn(ctx, "the compaction after the answer failed", err) // the turn has its answer
		return nil
	default:
		return err
	}
	t.tries.automatic++
	if done.counts {
		t.tries.automatic = 0
	}
	return nil
}

// contextTokens is how full the context is: by the provider's last report where
// there is one since the last compaction, else by the estimate.
func (t *Turn) contextTokens() int {
	if t.session.used() > 0 {
		if all := t.unwindowed(); tokens.Anchored(t.h.meter, all).Anchor >= 0 {
			return t.anchored(all)
		}
	}
	if n := len(t.own.messages); t.sent != nil && !t.stale && t.counted == n-1 && t.own.messages[n-1].Role == message.RoleAssistant {
		return t.sent.Estimated + t.h.meter.Message(t.own.messages[n-1]) // no pass makes an answer smaller
	}
	return t.current().Estimated
}

// anchored is the size of a list in the unit of the estimate, by the provider's last
// report on it where there is one.
func (v *visit) anchored(ms []message.Message) int {
	e := tokens.Anchored(v.h.meter, ms)
	return v.estimated(e.Usage) + e.Trailing
}
