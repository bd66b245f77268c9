package host

import (
	"encoding/json"
	"slices"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/prune"
)

// A Request is what to send to a model now. It is read-only.
type Request struct {
	System prompt.Prompt
	// Messages has the three roles that a provider knows, every call followed by its
	// result. For a provider that takes results in user messages, the model joins the
	// results of one answer, and the user message behind them, into one.
	Messages  []message.Message
	Tools     []ce.Tool
	Model     string // "": the default one
	MaxOutput int    // tokens; 0: unknown
	Estimated int    // tokens of the whole request
	// Temperature and Purpose are set in requests of an engine or of a compaction.
	Temperature *float64 // nil: the provider's default
	Purpose     string   // "": the turn itself
	// Caller is the hook that an engine asks in, whatever purpose it names:
	// "context-engine.assemble", "context-engine.after-turn" and so on; for the built-in
	// compaction "context-engine.compaction". It is the Purpose where none is named.
	// "": the turn itself.
	Caller string
}

// Request returns what to send now. After the end of the turn it returns the last
// request again.
func (t *Turn) Request() Request {
	t.op <- struct{}{}
	defer func() { <-t.op }()
	if t.ended && t.sent != nil {
		return *t.sent
	}
	t.handed = t.current()
	return *t.handed
}

// current builds the request where it is out of date.
func (t *Turn) current() *Request {
	if t.request != nil {
		return t.request
	}
	r := &Request{
		System: t.system.With(t.assembly.SystemPromptAddition), Tools: t.offered(),
		Model: t.model.ID, MaxOutput: t.model.Budget.Output,
	}
	r.Messages = t.egress()
	r.Estimated = t.fixedTokens() + t.h.meter.Messages(r.Messages) + t.h.meter.Text(t.assembly.SystemPromptAddition)
	t.request, t.sent, t.counted = r, r, len(t.own.messages)
	return r
}

// offered are the tools without those of an engine that answers no more.
func (t *Turn) offered() []ce.Tool {
	if !t.engine.Status().Degraded() {
		return slices.Clip(t.tools)
	}
	return slices.Clip(t.tools[:len(t.tools)-t.engineTools])
}

func (t *Turn) pruneInput() prune.Input {
	return prune.Input{
		Provider: t.model.Provider, API: t.model.API, Model: t.model.ID,
		Window: t.model.Budget.Window, Estimator: t.h.meter, Now: t.h.opts.Now(),
	}
}

// fixedTokens is what system prompt and tools cost in every request of the turn.
func (t *Turn) fixedTokens() int {
	if t.fixed == 0 {
		t.fixed = t.h.meter.Text(t.system.String())
		for _, tool := range t.tools {
			t.fixed += t.h.meter.Schema(definition(tool))
		}
	}
	return t.fixed
}

// aroundTokens is what the host puts around an engine's list.
func (t *Turn) aroundTokens() int {
	return t.fixedTokens() + t.h.meter.Messages(t.opts.Context)
}

// definition is a tool as providers are told of it.
func definition(tool ce.Tool) json.RawMessage {
	schema := tool.Schema()
	if !json.Valid(schema) {
		schema = nil
	}
	raw, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}{tool.Name(), tool.Description(), schema})
	if err != nil { // cannot happen: two strings and JSON that was checked
		return nil
	}
	return raw
}
