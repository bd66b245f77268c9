package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-contextengine/contextengine/message"
)

// ErrNothingToContinue is why Begin refuses the zero Message: the session is empty.
var ErrNothingToContinue = errors.New("there is nothing to continue")

// A leftover is the turn that failed and nobody was given: the unfinished part of a
// conversation. The rows themselves are in the log.
type leftover struct {
	First     string `json:"first"`               // key of the first message
	Delivered int    `json:"delivered,omitempty"` // how many were, in a tool loop
	To        string `json:"to,omitempty"`        // the engine that got those
}

// leaveOver remembers that the turn is to be continued, or that it is finished.
func (t *Turn) leaveOver(unfinished bool) {
	var left *leftover
	if unfinished && len(t.own.messages) > 0 {
		left = &leftover{First: t.own.messages[0].Key, Delivered: t.delivered, To: t.deliveredTo}
	}
	t.session.update(func(r *record) { r.Left = left })
}

// resume takes up what a failed turn left. Where nobody knows of one, it is what came
// after the model's last answer.
func (t *Turn) resume(ctx context.Context, view []message.Message) error {
	if len(view) == 0 {
		return fmt.Errorf("no input, and no stored history: %w", ErrNothingToContinue)
	}
	left := t.session.snapshot().Left
	first := ""
	switch {
	case left != nil:
		first = left.First
	case !t.h.opts.DeliverFailedTurns:
		first = unanswered(view)
	}
	own, err := rowsFrom(ctx, t.log, first)
	if err != nil {
		return err
	}
	t.own = own
	if left != nil && left.To == t.engine.Info().ID && len(own.messages) >= left.Delivered {
		t.delivered, t.deliveredTo = left.Delivered, left.To
	}
	t.base = t.own.without(view)
	t.running, t.again = true, true
	return nil
}

// answers reports whether m is a last word of the model.
func answers(m message.Message) bool {
	if m.Role != message.RoleAssistant || m.Failed() {
		return false
	}
	for range m.ToolCalls() {
		return false
	}
	return true
}

// unanswered is the key of the first message after the model's last answer; "": there is
// none.
func unanswered(view []message.Message) string {
	first := ""
	for i := len(view) - 1; i >= 0 && !answers(view[i]); i-- {
		if view[i].Key != "" { // summaries have none
			first = view[i].Key
		}
	}
	return first
}
