package contextengine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/go-contextengine/contextengine/internal/paramcompat"
)

// An instance is one engine with what the guard knows of it.
type instance struct {
	id        string // the registered id
	engine    ContextEngine
	info      Info
	hooks     HookSet
	isDefault bool
	builtin   bool // the legacy engine of this package

	rejected atomic.Uint32 // a paramMask: fields that the engine must not receive
	calls    callLog
}

// describe returns the engine's description: constant, unless the engine is a
// Handle itself and another engine answers behind it.
func (in *instance) describe() Info {
	if inner, ok := in.engine.(*Handle); ok {
		return inner.Info()
	}
	return in.info
}

func (in *instance) rejects() paramMask { return paramMask(in.rejected.Load()) }

// learn remembers which of the present fields err rejects, and reports whether
// there were any. A panic and a failure of the host reject nothing, whatever
// they say.
func (in *instance) learn(err error, present, byText paramMask) bool {
	f := examine(context.Background(), err)
	if f.host || f.class == ClassPanic {
		return false
	}
	var found paramMask
	if typed := (*UnknownParamError)(nil); errors.As(f.err, &typed) {
		for _, p := range typed.Params {
			found |= p.mask()
		}
	}
	found &= present
	if byText &= present; byText != 0 {
		var names []string
		for _, p := range HostParams() {
			if p.mask()&byText != 0 {
				names = append(names, string(p))
			}
		}
		for _, name := range paramcompat.Rejected(f.err, names) {
			found |= HostParam(name).mask()
		}
	}
	if found == 0 {
		return false
	}
	in.rejected.Or(uint32(found))
	return true
}

// Operations that fail before there is an engine.
const (
	opFactory  = "factory"
	opContract = "contract-validation"
)

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
	if err := in.readInfo(); err != nil {
		return err
	}
	if issues := in.info.issues(); issues != nil {
		return &ContractError{Engine: in.id, Issues: issues}
	}
	_, in.builtin = in.engine.(legacyEngine)
	in.rejected.Store(uint32(rejectedBy(in.info.AcceptedHostParams)))
	return nil
}

// readInfo calls the engine, which may panic.
func (in *instance) readInfo() (err error) {
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

func closeInstance(in *instance) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	return presentable(Close(in.engine))
}
