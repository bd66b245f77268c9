package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
)

// ErrRevised is the failure to end a turn with whose answer is thrown away, to be
// asked for anew.
var ErrRevised = errors.New("the turn is revised")

// An Outcome is how a turn ended.
type Outcome struct {
	// Session is to be used for the next turn; it differs from what Begin was
	// called with after a rotation, and for a session that got its id there.
	Session ce.SessionRef
	// Reply is the last assistant message of the turn; zero: there is none.
	Reply message.Message
	// Messages are what the turn stored, the input first.
	Messages []message.Message
	// Engine tells which engine was selected and which answers now.
	Engine ce.Status
	// Events are what happened in the turn, without what it left to the background.
	Events []Event
	// Spent is what the engine and compactions spent in the turn so far; maintenance in
	// the background comes later, see [Host.Spent].
	Spent Spending
}

// End ends the turn. failure is nil for one that went well; else it says why it
// failed, was aborted, or is thrown away ([ErrRevised]).
//
//   - A turn that went well is delivered to the engine, once, and the engine may
//     then maintain the transcript. Any other is not, unless the host asked for it
//     (Options.DeliverFailedTurns); what it stored stays.
//   - This work does not end with ctx; deadlines bound it.
//   - The error says that the delivery failed and nobody could stand in; it never
//     repeats failure. A delivery that was given up at its deadline is in the
//     outcome's events alone.
//
// End is idempotent: later calls return the outcome of the first.
func (t *Turn) End(ctx context.Context, failure error) (Outcome, error) {
	t.op <- struct{}{}
	defer func() { <-t.op }()
	return t.endNow(context.WithoutCancel(ctx), failure)
}

// endAborted ends the turn of a Host that is closed. It waits for what the turn
// is doing until ctx is done.
func (t *Turn) endAborted(ctx context.Context) error {
	if err := t.take(ctx); err != nil {
		return fmt.Errorf("the open turn of session %q: %w", t.ref.SessionID, err)
	}
	defer func() { <-t.op }()
	_, err := t.endNow(context.WithoutCancel(ctx), errHostClosed)
	return err
}

func (t *Turn) endNow(ctx context.Context, failure error) (Outcome, error) {
	if !t.ended {
		t.ended = true
		t.leave(ctx, failure)
	}
	return t.outcome, t.endErr
}

// leave ends the turn, once. Even when something panics that the host brought, the session
// is free afterwards.
func (t *Turn) leave(ctx context.Context, failure error) {
	defer t.h.drop(t)
	defer func() { t.endErr = errors.Join(t.endErr, t.close(ctx, true)) }()
	defer func() {
		t.outcome = Outcome{
			Session: t.ref, Reply: t.reply(), Messages: slices.Clip(t.own.messages),
			Engine: t.engine.Status(), Events: t.journal.all(), Spent: t.journal.cost(),
		}
	}()
	t.finish(ctx, failure)
	t.remember(ctx)
}

// endGrace is added to the deadline of the end of a turn, so that a hook whose own
// deadline is the same misses that one: it hangs, and would hang again.
const endGrace = 100 * time.Millisecond

// finish delivers the turn.
func (t *Turn) finish(ctx context.Context, failure error) {
	soon, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	if failure != nil {
		if err := t.closeCalls(soon); err != nil {
			t.warn(ctx, "closing the turn's calls failed", err)
		}
	}
	t.leaveOver(true)
	if failure != nil && !t.h.opts.DeliverFailedTurns {
		return
	}
	view, err := t.log.View(soon)
	if err != nil {
		t.endErr = err
		return
	}
	t.moveTo(view.Generation, view.Messages)
	end := t.ending()
	end.Failed, end.DeliverFailed = failure != nil, t.h.opts.DeliverFailedTurns
	if limit := t.engine.limits.EndOfTurn; limit > 0 {
		end.Within = limit + endGrace
	}
	err = turn.Finish(ctx, t.engine.Handle, t.steps, end)
	if !errors.Is(err, turn.ErrEndOfTurn) { // a slow engine is told of in the events
		t.endErr = err
	}
	t.leaveOver(t.endErr != nil)
}

// ending is the turn as engines see it.
func (t *Turn) ending() turn.Ending {
	end := turn.Ending{
		Messages: t.unwindowed(), PrePromptMessageCount: len(t.base) + t.delivered,
		IsHeartbeat: t.opts.IsHeartbeat, Settings: t.settings(t.promptBudget(), ""),
		AutoCompactionSummary: t.summary, TokenBudget: t.promptBudget(),
		Admission: t.own.first, Terminal: t.own.last,
	}
	if t.own.first.ID != "" {
		end.AdvancementKey = t.ref.SessionID + "/" + t.own.first.ID
	}
	return end
}

// reply is the last assistant message of the turn.
func (t *Turn) reply() message.Message {
	for i := len(t.own.messages) - 1; i >= 0; i-- {
		if t.own.messages[i].Role == message.RoleAssistant {
			return t.own.messages[i]
		}
	}
	return message.Message{}
}

// closeCalls stores a stand-in for every result that the turn did not get, so that the
// log has no open calls. A result that comes later takes its place.
func (t *Turn) closeCalls(ctx context.Context) error {
	n := len(t.own.messages)
	if n == 0 {
		return nil
	}
	var open message.Unit
	for u := range message.Units(t.own.messages) {
		open = u
	}
	if !open.Open {
		return nil
	}
	unit := t.own.messages[open.Start:]
	whole, _ := message.RepairPairs(unit, nil)
	var missing []message.Message
	for _, m := range whole {
		if message.IsMissingResult(m) && m.Key == "" {
			m.Timestamp = t.h.opts.Now()
			missing = append(missing, m)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return t.persist(ctx, missing...)
}
