package host

import (
	"context"
	"fmt"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
)

// A ModelOverrideError says that an engine asked for another model than the
// session's, which the host does not allow.
type ModelOverrideError struct{ Engine, Model string }

// Error names engine and model.
func (e *ModelOverrideError) Error() string {
	return fmt.Sprintf("engine %q asked for the model %q; the host does not allow another model than the session's", e.Engine, e.Model)
}

// completer lends the host's model to an engine or to the built-in compaction.
type completer struct {
	h      *Host
	model  string // the session's; "": the host's default one
	engine string // who asks; "": the host itself
}

var _ ce.Completer = completer{}

// Complete implements [ce.Completer].
func (c completer) Complete(ctx context.Context, r ce.CompletionRequest) (ce.Completion, error) {
	model := c.model
	if r.Model != "" && r.Model != c.model {
		if c.engine != "" {
			return ce.Completion{}, &ModelOverrideError{Engine: c.engine, Model: r.Model}
		}
		model = r.Model
	}
	list, _ := message.RepairPairs(message.ForModel(r.Messages), nil)
	q := Request{
		System: prompt.Text(r.System), Messages: list, Model: model, MaxOutput: r.MaxTokens,
		Temperature: r.Temperature, Purpose: r.Purpose,
	}
	q.Estimated = c.h.meter.Messages(list) + c.h.meter.Text(r.System)
	if q.Purpose == "" {
		q.Purpose = "context engine"
	}
	reply, err := c.h.opts.Model.Complete(ctx, q)
	if err != nil {
		return ce.Completion{}, err
	}
	if reply.Failed() {
		return ce.Completion{}, fmt.Errorf("the model's answer broke off (%s): %s", reply.StopReason, reply.ErrorMessage)
	}
	return ce.Completion{Text: reply.Text(), Provider: reply.Provider, Model: reply.Model, Usage: reply.Usage}, nil
}
