package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-contextengine/contextengine/message"
)

// ErrNothingToContinue is why Begin refuses the zero Message: the session is empty.
var ErrNothingToContinue = errors.New("there is nothing to continue")

// A leftover is the turn that failed and nobody was given: the unfinished part of a
// conversation. The rows themselves are in the log.
type leftover struct {
	First     string `json:"first"`               // key of the first message
	Delivered int    `json:"delivered,omitempty"` // how many were, in a tool loop
	Last      string `json:"last,omitempty"`      // key of the last of those
	To        string `json:"to,omitempty"`        // the engine that got those
}

// deliveredOf is how many of own were delivered. whole says that own begins where the turn did.
func (l *leftover) deliveredOf(own []message.Message, whole bool) int {
	last := slices.IndexFunc(own, func(m message.Message) bool { return l.Last != "" && m.Key == l.Last })
	if last < 0 && whole && l.Delivered <= len(own) {
		return l.Delivered
	}
	return last + 1
}

// leaveOver remembers that the turn is to be continued, or that it is finished.
func (t *Turn) leaveOver(unfinished bool) {
	var left *leftover
	if unfinished && len(t.own.messages) > 0 {
		left = &leftover{First: t.own.messages[0].Key, Delivered: t.delivered, To: t.deliveredTo}
		if t.delivered > 0 {
			left.Last = t.own.messages[t.delivered-1].Key
		}
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
	whole := len(own.messages) > 0
	if left != nil && !whole { // a successor may have the end of the turn only
		if own, err = rowsFrom(ctx, t.log, unanswered(view)); err != nil {
			return err
		}
	}
	t.own = own
	if left != nil && left.To == t.engine.Info().ID {
		t.delivered, t.deliveredTo = left.deliveredOf(own.messages, whole), left.To
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
