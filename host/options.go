package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// Options configure a [Host]. Nil is all defaults.
type Options struct {
	// Registry has the engines. Optional. If nil, a new one with legacy only.
	Registry *ce.Registry
	// Selection names the engine, resolved at the first turn. What is zero in its Deadline is
	// that of [ce.DefaultDeadlines]; for none, say one that is long enough.
	Selection ce.Selection
	// Support is what the host can do for engines. Optional. If zero, that of
	// [ce.EmbeddedHost], less the completion for engines where there is no Model.
	Support ce.HostSupport
	// Model is needed by Run. It is lent to engines, and the built-in compaction
	// summarises with it.
	Model Model
	// Tools are offered to the model in every turn. nil: the host does not say; empty:
	// none. The engine's own are added.
	Tools []ce.Tool
	// System makes the system prompt of a turn. Optional. If nil, there is none.
	System func(ctx context.Context, r prompt.Run) (prompt.Prompt, error)
	// Models describes a model by name; "" is the host's default one. It is asked at
	// each turn. Optional. If nil, the window is unknown and nothing is ever too much.
	Models func(ctx context.Context, name string) (ModelInfo, error)
	// Estimator counts. Optional. If nil, tokens.ScriptAware. It is wrapped in a
	// tokens.Meter where it is none.
	Estimator tokens.Estimator
	// Compactor is lent to engines as the built-in compaction. Optional. If nil, that
	// of package compact, over the host's store: it summarises with Model, and without
	// one it extracts; under pressure it may extract too.
	Compactor ce.Compactor
	// Passes change what a request sends, whatever the engine. Asked once per session.
	// Optional. If nil, tool results are cut to the caps of prune.ToolResults where the
	// window is known, and the list is made fit for the model's provider by
	// prune.Hygiene; a function that returns nil leaves everything as it is.
	Passes func(ref ce.SessionRef) []prune.Pass
	// AllowModelOverride says whether an engine, by its id, may ask for another model than
	// the session's. Optional. If nil, none may.
	AllowModelOverride func(engine, model string) bool
	// Compaction configures the built-in compaction of package compact; a Compactor
	// replaces it. Optional. What it leaves out is the host's: Estimator, Now, Logger, the
	// Summarizer over Model and, without a Summarizer of its own, extraction under pressure.
	Compaction *compact.Options
	// Citations is passed on to engines.
	Citations ce.CitationsMode
	// State keeps what a session's log does not say over restarts: how full it is, what
	// was spent, what of its requests is cached, and how far estimates are off. Optional.
	// If nil, memory; see [DirState].
	State StateStore
	// Observer is told what happens. Optional.
	Observer Observer
	// Logger gets ids, counts and errors, never the text of messages. Optional. If nil,
	// nothing is logged.
	Logger *slog.Logger
	// Now is the clock. Optional. If nil, time.Now.
	Now func() time.Time

	// RescueCompaction runs the built-in compaction, once in a turn, when a request was too
	// large and an engine that does not own compaction did nothing about it.
	RescueCompaction bool
	// DropOldest leaves out the oldest messages of a request that was too large and that
	// nothing else made small enough: whole units, down to the last one of the user.
	DropOldest bool
	// DeliverFailedTurns delivers failed, aborted and revised turns to the engine too.
	DeliverFailedTurns bool
	// CheckOwners judges the requests of engines that own compaction too, when the
	// engine does not know their size or says that they are too large.
	CheckOwners bool
	// StoredResult is how many characters of a tool result's text are stored; the rest
	// is lost to everybody. 0: all. What is sent has caps of its own, see Passes.
	StoredResult int
	// SoftThreshold lets a turn begin with a compaction through the engine, owner or
	// not, when the context is this many tokens below the prompt budget or fuller
	// (OpenClaw 2026.7.1: 4,000). 0: it does not.
	SoftThreshold int
	// Uncalibrated takes estimates as they are, which is right for an exact Estimator.
	// Otherwise the host learns, per model, by how much they differ from what the
	// provider counts, and measures budgets by that.
	Uncalibrated bool
	// CheckMidTurn judges every request of a tool loop before it is sent, not only the
	// first of a turn.
	CheckMidTurn bool
}

// Validate lists every contradiction.
func (o *Options) Validate() error {
	if o == nil {
		return nil
	}
	var errs []error
	if err := o.Selection.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("selection: %w", err))
	}
	if !o.Citations.Valid() {
		errs = append(errs, fmt.Errorf("unknown citations mode %q", string(o.Citations)))
	}
	if o.SoftThreshold < 0 {
		errs = append(errs, fmt.Errorf("the soft threshold is negative: %d", o.SoftThreshold))
	}
	if o.StoredResult < 0 {
		errs = append(errs, fmt.Errorf("the limit of stored results is negative: %d", o.StoredResult))
	}
	errs = append(errs, checkTools(o.Tools))
	return errors.Join(errs...)
}

// checkTools finds tools that could not be called: nil, without a name, or with one that
// another has.
func checkTools(tools []ce.Tool) error {
	var errs []error
	taken := make(map[string]bool, len(tools))
	for i, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("tool %d is nil", i))
			continue
		}
		name := t.Name()
		if name == "" {
			errs = append(errs, fmt.Errorf("tool %d has no name", i))
		} else if taken[name] {
			errs = append(errs, fmt.Errorf("two tools are named %q", name))
		}
		taken[name] = true
	}
	return errors.Join(errs...)
}

// withDefaults returns a copy in which everything optional is there.
func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Registry == nil {
		out.Registry = &ce.Registry{Logger: out.Logger}
	}
	if out.Support.ID == "" && out.Support.Capabilities == nil {
		out.Support = ce.EmbeddedHost()
		if out.Model == nil {
			out.Support.Capabilities = slices.DeleteFunc(out.Support.Capabilities, func(c ce.Capability) bool {
				return c == ce.CapRuntimeLLMComplete
			})
		}
	}
	out.Selection = withDeadlines(out.Selection)
	out.Estimator = tokens.NewMeter(out.Estimator, nil)
	if out.Models == nil {
		out.Models = func(_ context.Context, name string) (ModelInfo, error) { return ModelInfo{ID: name}, nil }
	}
	if out.System == nil {
		out.System = func(context.Context, prompt.Run) (prompt.Prompt, error) { return prompt.Prompt{}, nil }
	}
	if out.Passes == nil {
		out.Passes = func(ce.SessionRef) []prune.Pass { return defaultPasses() }
	}
	if out.State == nil {
		out.State = newMemoryState()
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	if out.Now == nil {
		out.Now = time.Now
	}
	return out
}

// capped is the pass of hosts that name none: without a window nothing says that a
// result is too long.
type capped struct{ prune.Stateful }

// Apply implements [prune.Pass].
func (c capped) Apply(ms []message.Message, in prune.Input) []message.Message {
	if in.Window <= 0 {
		return ms
	}
	return c.Stateful.Apply(ms, in)
}

func defaultPasses() []prune.Pass {
	pass := prune.ToolResults(nil)
	if stateful, ok := pass.(prune.Stateful); ok {
		pass = capped{stateful}
	}
	return append([]prune.Pass{pass}, prune.Hygiene(prune.PolicyAuto)...)
}

func withDeadlines(s ce.Selection) ce.Selection {
	d, usual := reflect.ValueOf(&s.Deadline).Elem(), reflect.ValueOf(ce.DefaultDeadlines())
	for i := range d.NumField() {
		if d.Field(i).IsZero() {
			d.Field(i).Set(usual.Field(i))
		}
	}
	return s
}

// A ModelInfo describes a model. All is optional. The zero Budget is an unknown window.
type ModelInfo struct {
	// Provider and API ("anthropic", "openai-responses") say by whose rules a request is
	// made, see [prune.PolicyFor], and with ID what calibration is learnt of. Family is
	// told to engines.
	Provider, API, ID, Family string
	Budget                    tokens.Budget
	// FullWindow is the model's own window where that of Budget is a cap on it, in
	// tokens. 0: they are the same.
	FullWindow int
}

// A Model answers requests. Safe for concurrent use.
type Model interface {
	// Complete returns the assistant message that answers r: its content, and as far as
	// known its stop reason, usage, provider and model. r is read-only.
	//
	//   - An error keeps the provider's text, wrapped or as it is: by it the host knows a
	//     request that was too large, see [compact.IsContextOverflow]. A
	//     *compact.TooLargeError is one whatever its text.
	//   - The host sends again what was too large or timed out, once it is smaller. All
	//     else, such as waiting for a rate limit to pass, is the model's own affair.
	//   - The built-in compaction knows more kinds of errors, see [compact.WithCompleter].
	//   - When ctx ends, the error is the context's or wraps it.
	Complete(ctx context.Context, r Request) (message.Message, error)
}

// TurnOptions are about one turn. Nil is all defaults.
type TurnOptions struct {
	// IsHeartbeat marks turns that no person asked for.
	IsHeartbeat bool
	// Model asks for a model by name. "": the host's default one.
	Model string
	// Tools replace Options.Tools in this turn; nil: they do not. The engine's own are
	// added.
	Tools []ce.Tool
	Mode  prompt.Mode // "": full
	// Settings are hints of this turn, kept for Status; nil: those of the turn before.
	Settings map[string]string
	// Context goes to the model in front of the input, never to engines or the log.
	Context []message.Message
	// Boundary says why a session that begins with this turn does so. "": new, or
	// what the session's header says.
	Boundary ce.Boundary
	// Previous is the session that this one was rotated or forked from.
	Previous ce.SessionRef
}
