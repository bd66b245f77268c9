package host

import (
	"context"
	"fmt"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
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

// Spending is what was spent on model calls that the turn itself did not make: those
// of an engine, and the summaries of the built-in compaction. Counts of tokens are as
// the provider reported them.
type Spending struct {
	Calls      int `json:"calls,omitempty"` // that were answered
	Input      int `json:"input,omitempty"` // without what came from the cache
	Output     int `json:"output,omitempty"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
}

// add counts one call.
func (s *Spending) add(u *message.Usage) {
	s.Calls++
	if u == nil {
		return
	}
	s.Input += u.Input
	s.Output += u.Output
	s.CacheRead += u.CacheRead
	s.CacheWrite += u.CacheWrite
}

// Spent returns what engines and compactions spent on a session since the host knows
// it, restarts included.
func (h *Host) Spent(ref ce.SessionRef) Spending {
	return h.standing(ref).Spent
}

// completer lends the host's model to an engine or to the built-in compaction.
type completer struct {
	h       *Host
	model   string    // the session's; "": the host's default one
	engine  string    // who asks; "": the host itself
	purpose string    // of calls that name none
	payer   *notifier // who is told and pays; nil: whom the context names
}

var _ ce.Completer = completer{}

// payerKey is the context's key for the notifier of a built-in compaction, whose
// completer serves every session.
type payerKey struct{}

// Complete implements [ce.Completer].
func (c completer) Complete(ctx context.Context, r ce.CompletionRequest) (ce.Completion, error) {
	model := c.model
	if r.Model != "" && r.Model != c.model {
		if allow := c.h.opts.AllowModelOverride; c.engine != "" && (allow == nil || !allow(c.engine, r.Model)) {
			return ce.Completion{}, &ModelOverrideError{Engine: c.engine, Model: r.Model}
		}
		model = r.Model
	}
	list := ready(r.Messages)
	q := Request{
		System: prompt.Text(r.System), Messages: list, Model: model, MaxOutput: r.MaxTokens,
		Temperature: r.Temperature, Purpose: r.Purpose, Caller: c.purpose,
	}
	q.Estimated = c.h.meter.Messages(list) + c.h.meter.Text(r.System)
	if q.Purpose == "" {
		q.Purpose = c.purpose
	}
	start := time.Now()
	reply, err := c.h.complete(ctx, q)
	if err == nil && reply.Failed() {
		err = fmt.Errorf("the model's answer broke off (%s): %s", reply.StopReason, reply.ErrorMessage)
	}
	c.account(ctx, reply.Usage, time.Since(start), err)
	if err != nil {
		return ce.Completion{}, err
	}
	return ce.Completion{
		Text: reply.Text(), Provider: reply.Provider, Model: reply.Model, StopReason: reply.StopReason, Usage: reply.Usage,
	}, nil
}

// account tells and counts a call.
func (c completer) account(ctx context.Context, u *message.Usage, took time.Duration, err error) {
	w := c.payer
	if w == nil {
		w, _ = ctx.Value(payerKey{}).(*notifier)
	}
	if w == nil {
		return
	}
	if err == nil || u != nil {
		if !inBackground(ctx) {
			w.journal.spend(u)
		}
		w.known.update(func(r *record) { r.Spent.add(u) })
	}
	w.observe(ctx, Event{Operation: OpComplete, Reason: c.purpose, Duration: took}.costing(u), err)
}

// summarizer is the built-in compaction's access to the host's default model, sized by
// what is known of that.
type summarizer struct {
	compact.Summarizer
	h *Host
}

// Describe implements [compact.Describer].
func (s summarizer) Describe() compact.Model {
	m := s.h.defaultModel.Load()
	if m == nil {
		return compact.Model{}
	}
	return compact.Model{Provider: m.Provider, Name: m.ID, Window: m.Budget.Window, Output: m.Budget.Output}
}
