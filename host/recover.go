package host

import (
	"context"
	"fmt"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// maxCompactions is how often a turn compacts for one purpose until the provider
// answers again (OpenClaw 2026.7.1).
const maxCompactions = 3

// tries count what a turn did for nothing.
type tries struct {
	overflow  int // compactions after an overflow; an answer of the provider resets it
	automatic int // automatic compactions that freed nothing
}

// An OverflowError is how a turn ends whose request the provider finds too large
// and that nothing made small enough.
type OverflowError struct {
	Steps []OverflowStep // what was tried since the provider's last answer, in order
	Err   error          // the provider's
}

// An OverflowStep is one thing that was tried.
type OverflowStep struct{ Step, Outcome string }

// Error names each step and its outcome.
func (e *OverflowError) Error() string {
	parts := make([]string, len(e.Steps))
	for i, s := range e.Steps {
		parts[i] = s.Step + ": " + s.Outcome
	}
	return fmt.Sprintf("the context is too large for the model (%s): %v", strings.Join(parts, "; "), e.Err)
}

// Unwrap returns the provider's error.
func (e *OverflowError) Unwrap() error { return e.Err }

// Recover tries to make a request smaller that the provider found too large. true:
// send Request again. Any other error of the provider gives false, nil: it is the
// host's to handle. When nothing helps, the error is an [*OverflowError].
//
//   - The engine compacts, forced, with the budget of the precheck and the size
//     that the provider told; three times at most until the provider answers.
//     Success is a context that became smaller.
//   - Then tool results are cut as far as needed, in what is sent.
func (t *Turn) Recover(ctx context.Context, err error) (bool, error) {
	if !compact.IsContextOverflow(err) {
		return false, nil
	}
	ctx, leave, busy := t.enter(ctx)
	if busy != nil {
		return false, busy
	}
	defer leave()
	t.running = true
	failed := &OverflowError{Err: err}
	for _, step := range []rung{{"compact", t.recoverByCompaction}, {"truncate tool results", t.recoverByTruncation}} {
		outcome, stepErr := step.try(ctx, err)
		if stepErr != nil {
			return false, stepErr
		}
		if outcome == "" {
			return true, nil
		}
		failed.Steps = append(failed.Steps, OverflowStep{step.name, outcome})
	}
	return false, failed
}

// A rung of the ladder answers "" when it helped, else why it did not.
type rung struct {
	name string
	try  func(ctx context.Context, err error) (outcome string, _ error)
}

func (t *Turn) recoverByCompaction(ctx context.Context, err error) (string, error) {
	if t.tries.overflow >= maxCompactions {
		return fmt.Sprintf("tried %d times", maxCompactions), nil
	}
	t.tries.overflow++
	done, failure := t.squeeze(ctx, squeeze{
		trigger: ce.TriggerOverflow, goal: ce.GoalBudget, force: true, active: t.own.waits(),
		current: t.observed(err), degraded: ce.CodeContextOverflow,
	})
	if failure != nil || done.counts {
		return "", failure
	}
	return t.session.snapshot().LastNoProgress, nil
}

// observed is the size of the request that was too large: what the provider told,
// else the estimate, else more than the window.
func (t *Turn) observed(err error) int {
	if n, ok := compact.ObservedTokens(err); ok {
		return n
	}
	return max(t.current().Estimated, t.model.Budget.Window+1)
}

func (t *Turn) recoverByTruncation(context.Context, error) (string, error) {
	if t.shortened {
		return "done already", nil
	}
	if prune.Reducible(t.passed(), t.pruneInput()) <= 0 {
		return "no tool result is too long", nil
	}
	t.shortened, t.request = true, nil
	return "", nil
}

// autoCompact is the automatic compaction of engines that do not own it: when the
// context is above the budget after an answer of the provider, or before a
// request of a tool loop, the host's own compaction runs.
func (t *Turn) autoCompact(ctx context.Context) error {
	last := t.own.messages[len(t.own.messages)-1]
	due := last.Role == message.RoleAssistant || t.own.awaitsModel()
	if !due || t.engine.Info().OwnsCompaction || t.tries.automatic >= maxCompactions {
		return nil
	}
	used := t.contextTokens()
	if t.model.Budget.Overflow(used) == 0 {
		return nil
	}
	done, err := t.squeeze(ctx, squeeze{
		trigger: ce.TriggerThreshold, goal: ce.GoalThreshold, current: used, active: t.own.waits(), builtin: true,
	})
	if err != nil {
		return err
	}
	t.tries.automatic++
	if done.counts {
		t.tries.automatic = 0
	}
	return nil
}

// waits reports whether the turn is in the middle of a tool loop.
func (r *rows) waits() bool {
	if len(r.messages) == 0 {
		return false
	}
	last := r.messages[len(r.messages)-1]
	for range last.ToolCalls() {
		return true
	}
	return last.Role == message.RoleToolResult
}

// contextTokens is how full the context is: by the provider's last report where
// there is one since the last compaction, else by the estimate.
func (t *Turn) contextTokens() int {
	if t.session.used() > 0 {
		if e := tokens.Anchored(t.h.meter, t.unwindowed()); e.Anchor >= 0 {
			return e.Tokens
		}
	}
	return t.current().Estimated
}
