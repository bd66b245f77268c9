package contextengine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
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
		return nil, f.err
	}
	return substitute(ctx, h, r.fail(ctx, g, op, f))
}

func (r *Registry) resolveDefault(ctx context.Context, h *Handle) (*Handle, error) {
	in, op, err := r.build(ctx, h.gen, h.sel.Factory)
	if err != nil {
		f := examine(ctx, err)
		if f.cancelled {
			return nil, f.err
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

// build runs a factory and checks what it made. On failure it names the operation:
// factory or contract-validation. A caller whose context ends does not wait for code
// that ignores it: the engine that comes too late is closed by the goroutine that
// made it.
func (r *Registry) build(ctx context.Context, g *generation, fc FactoryContext) (*instance, string, error) {
	m := &making{g: g, fc: fc}
	if ctx.Done() == nil {
		m.construct(ctx)
		return m.in, m.op, m.err
	}
	m.op, m.err, m.back = opFactory, errGoexit, make(chan struct{})
	go r.construct(ctx, m)
	select {
	case <-m.back:
		return m.in, m.op, m.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(unwindGrace)
	defer grace.Stop()
	select {
	case <-m.back:
		return m.in, m.op, m.err
	case <-grace.C:
	}
	if !m.left.Swap(true) {
		return nil, opFactory, context.Cause(ctx)
	}
	<-m.back // it came back this very moment
	return m.in, m.op, m.err
}

// construct makes an engine in a goroutine of its own, and closes it when nobody
// waits for it any more.
func (r *Registry) construct(ctx context.Context, m *making) {
	defer close(m.back)
	defer func() {
		if !m.left.Swap(true) || m.in == nil {
			return
		}
		if err := closeInstance(m.in); err != nil {
			r.logger().LogAttrs(ctx, slog.LevelWarn, "closing a context engine that came too late failed",
				slog.String("engine", sanitise(m.g.id)), slog.String("error", oneLine(err)))
		}
	}()
	m.construct(ctx)
}

// A making is an engine that is being made. Its frames are small on purpose: they
// fit into the stack that a goroutine begins with.
type making struct {
	g  *generation
	fc FactoryContext

	in   *instance
	op   string // that failed
	err  error
	left atomic.Bool   // the caller is gone, or the engine is made: the first decides
	back chan struct{} // closed when in, op and err can be read
}

// Operations that fail before there is an engine.
const (
	opFactory  = "factory"
	opContract = "contract-validation"
)

// construct makes the engine, or closes what was made of it.
func (m *making) construct(ctx context.Context) {
	op := opFactory
	e, err := m.callFactory(ctx)
	if err == nil {
		op = opContract
		in := &instance{id: m.g.id, engine: e, isDefault: m.g.id == LegacyID}
		if err = in.introduce(); err == nil {
			m.in, m.op, m.err = in, "", nil
			return
		}
	}
	if derr := discard(e); derr != nil {
		err = errors.Join(err, derr)
	}
	m.op, m.err = op, err
}

func (m *making) callFactory(ctx context.Context) (e ContextEngine, err error) {
	defer func() {
		if v := recover(); v != nil {
			e, err = nil, newPanicError(v)
		}
	}()
	return m.g.factory(ctx, m.fc)
}

// introduce learns what the engine says of itself, and whether that keeps the
// contract.
func (in *instance) introduce() error {
	if isNil(in.engine) {
		return &ContractError{Engine: in.id, Issues: []string{"the factory returned no engine"}}
	}
	if err := in.ask(); err != nil {
		return err
	}
	if issues := in.info.issues(); issues != nil {
		return &ContractError{Engine: in.id, Issues: issues}
	}
	_, in.builtin = in.engine.(legacyEngine)
	in.rejected.Store(uint32(rejectedBy(in.info.AcceptedHostParams)))
	return nil
}

func (in *instance) ask() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	in.info, in.hooks = in.engine.Info(), HooksOf(in.engine)
	return nil
}

// issues lists everything by which a description breaks the contract.
func (i *Info) issues() []string {
	var issues []string
	if trimBlank(i.ID) == "" {
		issues = append(issues, "Info.ID is blank")
	}
	if trimBlank(i.Name) == "" {
		issues = append(issues, "Info.Name is blank")
	}
	if !i.TurnMaintenance.Valid() {
		issues = append(issues, fmt.Sprintf("Info.TurnMaintenance is %q", string(i.TurnMaintenance)))
	}
	return issues
}

// isNil finds nil engines, also those inside a non-nil interface value.
func isNil(e ContextEngine) bool {
	if e == nil {
		return true
	}
	switch v := reflect.ValueOf(e); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface:
		return v.IsNil()
	}
	return false
}

// discard closes an engine that was refused.
func discard(e ContextEngine) (err error) {
	if isNil(e) {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("closing the refused engine: %w", newPanicError(v))
		}
	}()
	return presentable(Close(e))
}
