package contextengine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"
)

// A Selection says which engine a host wants and what happens when it fails.
// The zero value is the legacy engine.
type Selection struct {
	// Engine is the value of the slot, an id; white space around it is ignored.
	// Blank: legacy.
	Engine  string
	Policy  FailurePolicy // "": [Fallback]
	Factory FactoryContext
	// Deadline bounds each hook. Zero fields: none. See [DefaultDeadlines].
	Deadline Deadlines
	// LearnRejectedFields turns on the recognition of validator texts, for
	// engines behind a strict schema that know neither [Info.AcceptedHostParams]
	// nor [UnknownParamError]. A text can be taken wrongly; off unless asked for.
	LearnRejectedFields bool
}

// FailurePolicy says what happens when the selected engine fails.
type FailurePolicy string

// Failure policies. The zero value means [Fallback].
const (
	// Fallback: the legacy engine answers, and Status tells.
	Fallback FailurePolicy = "fallback"
	// Strict: nobody answers. Resolve and every call return an
	// [*EngineUnavailableError]; nothing is tried again until the engine is
	// registered again or its quarantine cleared.
	Strict FailurePolicy = "strict"
)

// Valid reports whether p is known; "" is.
func (p FailurePolicy) Valid() bool { return p == "" || p == Fallback || p == Strict }

// Deadlines bound the hooks of an engine; 0 means none. A hook that misses its
// deadline failed, except Compact, whose missed deadline is returned and not
// held against the engine.
type Deadlines struct {
	Bootstrap, Ingest, IngestBatch, AfterTurn, CommitTurn, Assemble, Maintain, Compact time.Duration
	PrepareSubagent, SubagentEnded, SessionEnded, Tools, Close                         time.Duration
	// EndOfTurn is the driver's, for the whole ladder at the end of a turn.
	// Missing it records nothing.
	EndOfTurn time.Duration
}

// DefaultDeadlines returns the deadlines that package host uses: bootstrap and
// foreground maintenance 30 s, the delivery of a turn 10 s in all and each of its
// hooks, assemble 15 s, compaction 180 s (OpenClaw 2026.7.1's default), subagent
// preparation and Close 10 s, tools 10 s, the end of a subagent or a session 5 s.
func DefaultDeadlines() Deadlines {
	return Deadlines{
		Bootstrap: 30 * time.Second, Assemble: 15 * time.Second, Maintain: 30 * time.Second,
		Ingest: 10 * time.Second, IngestBatch: 10 * time.Second, AfterTurn: 10 * time.Second,
		CommitTurn: 10 * time.Second, EndOfTurn: 10 * time.Second, Compact: 180 * time.Second,
		PrepareSubagent: 10 * time.Second, SubagentEnded: 5 * time.Second, SessionEnded: 5 * time.Second,
		Tools: 10 * time.Second, Close: 10 * time.Second,
	}
}

// Validate lists every contradiction of the selection.
func (s Selection) Validate() error {
	var errs []error
	if !s.Policy.Valid() {
		errs = append(errs, fmt.Errorf("unknown failure policy %q", string(s.Policy)))
	}
	v := reflect.ValueOf(s.Deadline)
	for i := range v.NumField() {
		if d := v.Field(i).Int(); d < 0 {
			errs = append(errs, fmt.Errorf("deadline %s is negative: %v", v.Type().Field(i).Name, time.Duration(d)))
		}
	}
	return errors.Join(errs...)
}

// Resolve makes the engine that s selects and returns it behind the guard. Each
// call runs the factory again; the caller owns the Handle and closes it.
//
// Under [Fallback] a missing or broken engine gives a Handle on which legacy
// answers, with a quarantine that says why. An engine that is registered for
// discovery only does too, without a quarantine. Under [Strict] both are an
// [*EngineUnavailableError]. An id that is quarantined already is not tried
// again. The legacy engine itself has no fallback: its failures are returned.
// A factory that was cancelled by ctx returns the cause, without a quarantine; one
// that ignores ctx is left behind, and its engine closed when it comes.
func (r *Registry) Resolve(ctx context.Context, s Selection) (*Handle, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("contextengine: selecting engine %q: %w", s.Engine, err)
	}
	id, source := trimBlank(s.Engine), SourceConfigured
	if id == "" {
		id, source = LegacyID, SourceDefault
	}
	g := r.lookup(id)
	if g == nil {
		g = r.absent(id)
	}
	h := &Handle{registry: r, sel: s, source: source, gen: g}
	if id == LegacyID {
		return r.resolveDefault(ctx, h)
	}
	if f := g.failed.Load(); f != nil {
		r.beat(g)
		return substitute(ctx, h, f)
	}
	if g.number == 0 {
		return substitute(ctx, h, r.fail(ctx, g, "resolve", examine(ctx, ErrNotRegistered)))
	}
	if g.discovery {
		return r.resolveDiscovery(ctx, h)
	}
	in, op, err := r.build(ctx, g, s.Factory)
	if err == nil {
		h.main, h.hooks = in, in.hooks
		return h, nil
	}
	f := examine(ctx, err)
	if f.cancelled {
		return nil, context.Cause(ctx)
	}
	return substitute(ctx, h, r.fail(ctx, g, op, f))
}

func (r *Registry) resolveDefault(ctx context.Context, h *Handle) (*Handle, error) {
	in, op, err := r.build(ctx, h.gen, h.sel.Factory)
	if err != nil {
		f := examine(ctx, err)
		if f.cancelled {
			return nil, context.Cause(ctx)
		}
		return nil, h.wrap(op, f.err)
	}
	h.main, h.hooks = in, in.hooks
	return h, nil
}

func (r *Registry) resolveDiscovery(ctx context.Context, h *Handle) (*Handle, error) {
	g := h.gen
	r.logger().LogAttrs(ctx, slog.LevelWarn, "context engine is registered for discovery only",
		slog.String("engine", sanitise(g.id)), slog.String("owner", sanitise(g.owner)))
	if h.sel.Policy == Strict {
		return nil, &EngineUnavailableError{Engine: g.id, Op: "resolve", Reason: ErrDiscoveryOnly.Error(), Err: ErrDiscoveryOnly}
	}
	return substitute(ctx, h, nil)
}

// substitute returns a Handle without an engine of its own: legacy answers.
// Under Strict, f is the answer. The fallback is made at once, so that a host
// without any engine learns it here.
func substitute(ctx context.Context, h *Handle, f *failure) (*Handle, error) {
	if f != nil && h.sel.Policy == Strict {
		return nil, f.unavailable()
	}
	in, err := h.fallback(ctx)
	if err != nil {
		if f := examine(ctx, err); f.cancelled {
			return nil, f.err
		}
		return nil, h.wrap("resolve", err)
	}
	h.hooks = in.hooks
	return h, nil
}
