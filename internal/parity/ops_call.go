package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

func callOps() map[string]opFunc {
	return map[string]opFunc{
		"call": opCall, "callParallel": opCallParallel, "start": opStart, "await": opAwait,
		"callDetached": opCallDetached, "invokeHeld": opInvokeHeld, "rollback": opRollback, "sleep": opSleep,
	}
}

// A caller passes the params of a step to one hook of a handle.
type caller func(ctx context.Context, w *world, on *resolvedEngine, c *callInfo) (any, error)

// callers is the table of the hooks that a step can call.
func callers() map[string]caller {
	return map[string]caller{
		"ingest":      hook(ingestParamsOf, (*ce.Handle).Ingest, renderIngest),
		"ingestBatch": hook(ingestBatchParamsOf, (*ce.Handle).IngestBatch, renderIngestBatch),
		"assemble":    hook(assembleParamsOf, (*ce.Handle).Assemble, renderAssemble),
		"compact":     hook(compactParamsOf, (*ce.Handle).Compact, renderCompact),
		"bootstrap":   hook(bootstrapParamsOf, (*ce.Handle).Bootstrap, renderBootstrap),
		"maintain":    hook(maintainParamsOf, (*ce.Handle).Maintain, renderMaintain),
		"afterTurn":   hook(afterTurnParamsOf, quiet((*ce.Handle).AfterTurn), renderNothing),
		"prepareSubagentSpawn": hook(subagentSpawnParamsOf,
			(*ce.Handle).PrepareSubagentSpawn, renderPreparation),
		"onSubagentEnded": hook(subagentEndedParamsOf, quiet((*ce.Handle).OnSubagentEnded), renderNothing),
		"dispose": func(_ context.Context, _ *world, on *resolvedEngine, _ *callInfo) (any, error) {
			return undefinedValue{}, on.handle.Close()
		},
	}
}

// hook makes a caller out of a hook, the way its params are read and its result is written.
func hook[P, R any](params func(*world, object) (P, error), do func(*ce.Handle, context.Context, P) (R, error),
	write func(*world, R, object) any,
) caller {
	return func(ctx context.Context, w *world, on *resolvedEngine, c *callInfo) (any, error) {
		p, err := params(w, c.raw)
		if err != nil {
			return nil, err
		}
		r, err := do(on.handle, ctx, p)
		if err != nil {
			return nil, err
		}
		if prep, ok := any(r).(*ce.SubagentPreparation); ok {
			c.keep(prep)
		}
		return write(w, r, c.source()), nil
	}
}

// quiet gives a hook without a result an empty one.
func quiet[P any](do func(*ce.Handle, context.Context, P) error) func(*ce.Handle, context.Context, P) (struct{}, error) {
	return func(h *ce.Handle, ctx context.Context, p P) (struct{}, error) { return struct{}{}, do(h, ctx, p) }
}

func renderNothing(*world, struct{}, object) any { return undefinedValue{} }

// engine gives the engine that a step names; nil without one.
func (w *world) engine(name string) (*resolvedEngine, error) {
	w.mu.Lock()
	r, ok := w.resolved[name]
	w.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no engine was resolved as %q", name)
	}
	return r, nil
}

// has reports whether the engine selected has the member.
func (r *resolvedEngine) has(method string) bool {
	for _, required := range requiredMethods() {
		if method == required {
			return true
		}
	}
	return ce.HooksOf(r.handle).Has(hookNames()[method])
}

// invoke makes one call as a step describes it.
func (w *world) invoke(ctx context.Context, on *resolvedEngine, method string, s step) (any, *callInfo, error) {
	do, ok := callers()[method]
	if !ok {
		return nil, nil, w.skip("a handle has no way to the engine's own member " + method)
	}
	if !on.has(method) {
		return nil, nil, fmt.Errorf("the engine has no %s", method)
	}
	raw, ok := s.fields["params"].(map[string]any)
	if !ok && !absent(s.fields["params"]) {
		return nil, nil, w.skip("params are a struct")
	}
	if key := on.outOfPlace(method, raw); key != "" {
		return nil, nil, w.skip(fmt.Sprintf("%s has no field %s that could be held back", method, key))
	}
	if on.close(method == "dispose") {
		w.differ(differClosed)
	}
	raw = maps.Clone(raw)
	c := newCall(method, raw, on)
	ctx, signal, release := withSignal(ctx, w, s.fields["signal"])
	defer release()
	if signal != nil {
		c.signal = signal
		if c.raw == nil {
			c.raw = object{}
		}
		c.raw["abortSignal"] = "$signal"
		if ctx.Err() != nil && on.bare && s.op != opNameCompactSafe {
			w.differ(differDone)
		}
	}
	v, err := do(withCall(ctx, c), w, on, c)
	c.over = ctx.Err() != nil
	if c.playing.Load() > 0 {
		w.differ(differAbandoned)
	}
	if err == nil {
		err = w.checkDefault(on.handle)
	}
	return v, c, err
}

func opCall(ctx context.Context, w *world, s step) (any, error) {
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	v, c, err := w.invoke(ctx, on, s.text("method"), s)
	if err != nil {
		return nil, err
	}
	w.remember(s, v, c)
	return v, nil
}

// remember keeps a result under the name that the step gives it.
func (w *world) remember(s step, v any, c *callInfo) {
	as := s.text("as")
	if as == "" {
		return
	}
	if prep := c.preparation(); prep != nil {
		w.values[as] = prep
		return
	}
	w.values[as] = v
}

func opRollback(ctx context.Context, w *world, s step) (any, error) {
	prep, ok := w.values[s.text("on")].(*ce.SubagentPreparation)
	if !ok || prep == nil || prep.Rollback == nil {
		return nil, errors.New("there is no rollback handle")
	}
	if w.rolledBack[prep] {
		w.differ(differRollback)
	}
	w.rolledBack[prep] = true
	return nil, prep.Rollback(ctx)
}

func opSleep(_ context.Context, w *world, s step) (any, error) {
	wait(w.ctx, time.Duration(s.number("ms"))*time.Millisecond)
	return nil, nil
}

// A callResult is what a call that runs beside the steps gave.
type callResult struct {
	value any
	call  *callInfo
	err   error
}

// opStart starts a call and goes on once its engine waits or the call is over.
func opStart(_ context.Context, w *world, s step) (any, error) {
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	done := make(chan callResult, 1)
	over, parked := make(chan struct{}), make(chan struct{})
	ctx := context.WithValue(w.ctx, parkKey{}, sync.OnceFunc(func() { close(parked) }))
	go func() {
		defer close(over)
		v, c, err := w.invoke(ctx, on, s.text("method"), s)
		done <- callResult{v, c, err}
	}()
	w.pending[s.text("as")] = done
	select {
	case <-over:
	case <-parked:
	}
	return nil, nil
}

func opAwait(ctx context.Context, w *world, s step) (any, error) {
	done, ok := w.pending[s.text("pending")]
	if !ok {
		return nil, errors.New("no such call was started")
	}
	delete(w.pending, s.text("pending"))
	select {
	case r := <-done:
		if r.err == nil {
			w.remember(s, r.value, r.call)
		}
		return r.value, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// opCallParallel makes several calls at once; each gives its result or its error.
func opCallParallel(ctx context.Context, w *world, s step) (any, error) {
	calls, ok := listOf(s.fields["calls"])
	if !ok {
		return nil, w.skip("parallel calls are a list")
	}
	steps, engines := make([]step, len(calls)), make([]*resolvedEngine, len(calls))
	for i, item := range calls {
		fields, _ := item.(map[string]any)
		merged := maps.Clone(s.fields)
		maps.Copy(merged, fields)
		steps[i] = step{op: "call", fields: merged}
		on, err := w.engine(steps[i].text("on"))
		if err != nil {
			return nil, err
		}
		engines[i] = on
	}
	out := make([]any, len(calls))
	runParallel(ctx, len(calls), func(ctx context.Context, i int) {
		v, _, err := w.invoke(ctx, engines[i], steps[i].text("method"), steps[i])
		if err != nil {
			out[i] = object{"error": w.errorOutcome(err)}
			return
		}
		out[i] = object{"ok": plain(orUndefined(v))}
	})
	return out, nil
}

// A heldMethod is a method reference that a step took.
type heldMethod struct {
	on     *resolvedEngine
	method string
}

func opCallDetached(_ context.Context, w *world, s step) (any, error) {
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	method := s.text("method")
	if !on.has(method) {
		return "undefined", nil
	}
	w.held[s.text("as")] = heldMethod{on, method}
	return "function", nil
}

func opInvokeHeld(ctx context.Context, w *world, s step) (any, error) {
	held, ok := w.held[s.text("held")]
	if !ok {
		return nil, errors.New("no such method was taken")
	}
	v, c, err := w.invoke(ctx, held.on, held.method, s)
	if err != nil {
		return nil, err
	}
	w.remember(s, v, c)
	return v, nil
}
