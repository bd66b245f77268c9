package host

import (
	"context"
	"errors"
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

// maxTimeouts is how often a turn compacts because the provider took too long, and
// fullEnough the share of the window from which that may be why (OpenClaw 2026.7.1).
const (
	maxTimeouts = 2
	fullEnough  = 0.65
)

// tries count what a turn did for nothing.
type tries struct {
	overflow  int // compactions after an overflow; an answer of the provider resets it
	timeouts  int // compactions after a timeout
	automatic int // automatic compactions that freed nothing
	rescued   bool
	silent    bool // a reply told of an overflow by its usage alone
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

// Recover tries to make a request smaller that the provider found too large, or that
// took it too long. true: send Request again. Any other error of the provider gives
// false, nil: it is the host's to handle. When nothing helps against an overflow, the
// error is an [*OverflowError].
//
//   - The engine compacts, forced, with the budget of the precheck and the size
//     that the provider told; three times at most until the provider answers.
//     Success is a context that became smaller. An engine whose Compact fails is
//     replaced by legacy, which has the next attempt.
//   - Where the host wants it (Options.RescueCompaction), the built-in compaction
//     runs for an engine that does not own compaction and did nothing; once in a turn.
//   - Then tool results are cut as far as needed, in what is sent.
//   - Where the host wants it (Options.DropOldest), the oldest messages are left out
//     of what is sent, whole units, down to the last one of the user.
//   - After a timeout the engine compacts when the context fills more than 65 % of
//     the window, twice in a turn at most.
func (t *Turn) Recover(ctx context.Context, err error) (bool, error) {
	overflow := compact.IsContextOverflow(err)
	if !overflow && !isTimeout(err) {
		return false, nil
	}
	ctx, leave, busy := t.enter(ctx)
	if busy != nil {
		return false, busy
	}
	defer leave()
	t.running = true
	var again bool
	var failure error
	if overflow {
		again, failure = t.recoverFromOverflow(ctx, err)
	} else {
		again, failure = t.recoverFromTimeout(ctx)
	}
	t.again = t.again || again
	if again && t.stale {
		failure = t.assemble(ctx)
	}
	return again && failure == nil, failure
}

// recoverFromOverflow tries step after step until one helps.
func (t *Turn) recoverFromOverflow(ctx context.Context, err error) (bool, error) {
	failed := &OverflowError{Err: err}
	for _, step := range t.recoverySteps() {
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

// A recoveryStep answers "" when it helped, else why it did not.
type recoveryStep struct {
	name string
	try  func(ctx context.Context, err error) (outcome string, _ error)
}

// recoverySteps are those that the host allows.
func (t *Turn) recoverySteps() []recoveryStep {
	out := []recoveryStep{{"compact", t.recoverByCompaction}}
	if t.h.opts.RescueCompaction {
		out = append(out, recoveryStep{"built-in compaction", t.recoverByRescue})
	}
	out = append(out, recoveryStep{"truncate tool results", t.recoverByTruncation})
	if t.h.opts.DropOldest {
		out = append(out, recoveryStep{"drop the oldest messages", t.recoverByDropping})
	}
	return out
}

func (t *Turn) recoverByCompaction(ctx context.Context, err error) (string, error) {
	for t.tries.overflow < maxCompactions {
		t.tries.overflow++
		by := t.engine.Status().Answering
		done, failure := t.compactInTurn(ctx, compactRequest{
			trigger: ce.TriggerOverflow, goal: ce.GoalBudget, force: true, active: t.own.waits(),
			current: t.observed(err), degraded: ce.CodeContextOverflow,
		})
		if failure != nil || done.counts {
			return "", failure
		}
		t.idle = done
		if done.failure == nil || t.engine.Status().Answering == by {
			return t.session.snapshot().LastNoProgress, nil
		}
	}
	return fmt.Sprintf("tried %d times", maxCompactions), nil
}

// recoverByRescue runs the built-in compaction in place of an engine that should
// have and did not.
func (t *Turn) recoverByRescue(ctx context.Context, err error) (string, error) {
	switch {
	case t.tries.rescued:
		return "done already", nil
	case t.engine.Info().OwnsCompaction:
		return "the engine owns compaction", nil
	case t.idle.failure != nil:
		return "the engine failed", nil
	case t.idle.Compacted:
		return "the engine did something", nil
	case t.idle.delegated:
		return "the engine used it", nil
	}
	t.tries.rescued = true
	done, failure := t.compactInTurn(ctx, compactRequest{
		trigger: ce.TriggerOverflow, goal: ce.GoalBudget, force: true, active: t.own.waits(),
		current: t.observed(err), degraded: ce.CodeContextOverflow, builtin: true,
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
		return t.estimated(n)
	}
	return max(t.current().Estimated, t.budget().Window+1)
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

// Overflowed looks at a reply before it is stored: an error when the reply tells that
// its request did not fit the model's window, nil otherwise. Hand the error to Recover,
// and store the reply only if that does not help. Besides failed replies that say so,
// there are providers that cut the request in silence: then the usage tells, and only
// the first such reply of a turn is held against it.
func (t *Turn) Overflowed(reply message.Message) error {
	if !compact.ReplyOverflowed(reply, t.model.Budget.Window) {
		return nil
	}
	over := &compact.TooLargeError{Err: errSilentOverflow}
	if reply.Usage != nil {
		over.Observed = tokens.PromptTokens(*reply.Usage)
	}
	if reply.Failed() {
		over.Err = errors.New(reply.ErrorMessage)
		over.Observed, _ = compact.ObservedTokens(over.Err)
		return over
	}
	if t.tries.silent {
		return nil
	}
	t.tries.silent = true
	return over
}

var errSilentOverflow = errors.New("the provider counted more than the model's window")

// isTimeout reports whether the provider took too long.
func isTimeout(err error) bool {
	slow := (interface{ Timeout() bool })(nil)
	return errors.As(err, &slow) && slow.Timeout()
}

// recoverFromTimeout compacts where the provider may have been slow because of a full
// context. When that does not help, the timeout is the host's to handle.
func (t *Turn) recoverFromTimeout(ctx context.Context) (bool, error) {
	if t.tries.timeouts >= maxTimeouts || !t.model.Budget.Known() {
		return false, nil
	}
	used := t.contextTokens()
	if float64(used) <= fullEnough*float64(t.budget().Window) {
		return false, nil
	}
	t.tries.timeouts++
	done, err := t.compactInTurn(ctx, compactRequest{
		trigger: ce.TriggerTimeout, goal: ce.GoalBudget, force: true, active: t.own.waits(), current: used,
		degraded: ce.CodeProviderTimeout,
	})
	return err == nil && done.counts, err
}
