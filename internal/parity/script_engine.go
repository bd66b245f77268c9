package main

import (
	"context"
	"errors"
	"sync"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/transcript"
)

// An engineType is one entry of a scenario's engines.
type engineType struct {
	w      *world
	name   string
	script object

	mu        sync.Mutex
	instances int
	shared    *scriptedEngine
}

// engineType gives the type of that name; one without an entry has the default behaviour.
func (w *world) engineType(name string) *engineType {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.types[name]
	if t == nil {
		t = &engineType{w: w, name: name, script: w.sc.Engines[name]}
		w.types[name] = t
	}
	return t
}

// build makes an instance, or gives the shared one.
func (t *engineType) build(isDefault bool) (*scriptedEngine, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared != nil {
		return t.shared, nil
	}
	if names, _ := listOf(t.script["omit"]); len(names) > 0 {
		return nil, t.w.skip("an engine without a required method does not compile")
	}
	e := &scriptedEngine{t: t, instance: t.instances + 1, isDefault: isDefault, calls: map[string]int{}}
	if err := e.readInfo(); err != nil {
		return nil, err
	}
	if err := e.readMethods(); err != nil {
		return nil, err
	}
	t.instances++
	if shared, _ := t.script["shared"].(bool); shared {
		t.shared = e
	}
	return e, nil
}

// A scriptedEngine does what its script says. It has every hook and reports those that the
// script lists.
type scriptedEngine struct {
	t        *engineType
	instance int
	// isDefault says that it was made as the default engine.
	isDefault bool
	info      ce.Info
	infoFail  any // what reading the info fails with
	hooks     ce.HookSet
	methods   map[string][]object

	mu    sync.Mutex
	calls map[string]int
}

var (
	_ ce.ContextEngine       = (*scriptedEngine)(nil)
	_ ce.Bootstrapper        = (*scriptedEngine)(nil)
	_ ce.Maintainer          = (*scriptedEngine)(nil)
	_ ce.BatchIngester       = (*scriptedEngine)(nil)
	_ ce.AfterTurner         = (*scriptedEngine)(nil)
	_ ce.SubagentPreparer    = (*scriptedEngine)(nil)
	_ ce.SubagentEndObserver = (*scriptedEngine)(nil)
	_ ce.HookReporter        = (*scriptedEngine)(nil)
)

// hookNames maps the recorded names of the optional members to hooks.
func hookNames() map[string]ce.HookSet {
	return map[string]ce.HookSet{
		"bootstrap": ce.HookBootstrap, "maintain": ce.HookMaintain, "ingestBatch": ce.HookIngestBatch,
		"afterTurn": ce.HookAfterTurn, "prepareSubagentSpawn": ce.HookPrepareSubagentSpawn,
		"onSubagentEnded": ce.HookSubagentEnded, "dispose": ce.HookClose,
	}
}

func requiredMethods() []string { return []string{"ingest", "assemble", "compact"} }

func (e *scriptedEngine) readInfo() error {
	e.infoFail = e.t.script["infoThrows"]
	v, ok := e.t.script["info"]
	if !ok {
		e.info = ce.Info{ID: e.t.name, Name: "Engine " + e.t.name}
		return nil
	}
	if v == "$omit" {
		return nil // an Info is always there; nothing in it says as much
	}
	info, err := infoOf(v)
	if err != nil {
		return e.t.w.skip(err.Error())
	}
	e.info = info
	return nil
}

func (e *scriptedEngine) readMethods() error {
	e.methods = map[string][]object{}
	optional := hookNames()
	methods, _ := e.t.script["methods"].(map[string]any)
	for name, v := range methods {
		e.methods[name] = behaviours(v)
		if hook, ok := optional[name]; ok {
			e.hooks |= hook
			continue
		}
		if name == "commitTurn" {
			return e.t.w.skip("the recorded version has no commitTurn")
		}
	}
	for name, list := range e.methods {
		for _, b := range list {
			if _, ok := b["value"]; ok {
				return e.t.w.skip("the member " + name + " cannot be anything but a function")
			}
		}
	}
	return nil
}

// Hooks reports the members that the script lists.
func (e *scriptedEngine) Hooks() ce.HookSet { return e.hooks }

// Info gives the scripted record; a script may make reading it fail.
func (e *scriptedEngine) Info() ce.Info {
	if !absent(e.infoFail) {
		panic(e.t.w.throw(e.infoFail, filler{}))
	}
	return e.info
}

// invoke plays a method and reads its value as a result.
func invoke[R any](ctx context.Context, e *scriptedEngine, method string, typed object,
	convert func(w *world, v any) (R, error),
) (R, error) {
	var zero R
	v, err := e.perform(ctx, method, typed)
	if err != nil {
		return zero, err
	}
	r, err := convert(e.t.w, v)
	if err != nil {
		var none *noMeaning
		if !errors.As(err, &none) {
			return zero, err
		}
		return zero, e.t.w.skip(none.reason)
	}
	callFrom(ctx).answered(v)
	return r, nil
}

// Ingest plays ingest.
func (e *scriptedEngine) Ingest(ctx context.Context, p ce.IngestParams) (ce.IngestResult, error) {
	return invoke(ctx, e, "ingest", e.t.w.ingestFields(p), ingestResultOf)
}

// Assemble plays assemble.
func (e *scriptedEngine) Assemble(ctx context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	return invoke(ctx, e, "assemble", e.t.w.assembleFields(p), assembleResultOf)
}

// Compact plays compact.
func (e *scriptedEngine) Compact(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	return invoke(ctx, e, "compact", e.t.w.compactFields(p), compactResultOf)
}

// Bootstrap plays bootstrap.
func (e *scriptedEngine) Bootstrap(ctx context.Context, p ce.BootstrapParams) (ce.BootstrapResult, error) {
	return invoke(ctx, e, "bootstrap", e.t.w.bootstrapFields(p), bootstrapResultOf)
}

// Maintain plays maintain.
func (e *scriptedEngine) Maintain(ctx context.Context, p ce.MaintainParams) (transcript.RewriteResult, error) {
	return invoke(ctx, e, "maintain", e.t.w.maintainFields(p), maintainResultOf)
}

// IngestBatch plays ingestBatch.
func (e *scriptedEngine) IngestBatch(ctx context.Context, p ce.IngestBatchParams) (ce.IngestBatchResult, error) {
	return invoke(ctx, e, "ingestBatch", e.t.w.ingestBatchFields(p), ingestBatchResultOf)
}

// AfterTurn plays afterTurn.
func (e *scriptedEngine) AfterTurn(ctx context.Context, p ce.AfterTurnParams) error {
	_, err := invoke(ctx, e, "afterTurn", e.t.w.afterTurnFields(p), nothing)
	return err
}

// OnSubagentEnded plays onSubagentEnded.
func (e *scriptedEngine) OnSubagentEnded(ctx context.Context, p ce.SubagentEndedParams) error {
	_, err := invoke(ctx, e, "onSubagentEnded", e.t.w.subagentEndedFields(p), nothing)
	return err
}

// PrepareSubagentSpawn plays prepareSubagentSpawn.
func (e *scriptedEngine) PrepareSubagentSpawn(ctx context.Context, p ce.SubagentSpawnParams) (*ce.SubagentPreparation, error) {
	return invoke(ctx, e, "prepareSubagentSpawn", e.t.w.subagentSpawnFields(p), e.preparationOf)
}

// Close plays dispose.
func (e *scriptedEngine) Close() error {
	if !e.hooks.Has(ce.HookClose) {
		return nil
	}
	_, err := e.perform(e.t.w.ctx, "dispose", object{})
	return err
}

func (e *scriptedEngine) preparationOf(w *world, v any) (*ce.SubagentPreparation, error) {
	if absent(v) {
		return nil, nil
	}
	r := read(v)
	rollback := r.sub("rollback")
	if len(r.bad) > 0 || len(r.rest()) > 0 || rollback == nil {
		return nil, &noMeaning{"the preparation is no rollback handle"}
	}
	return &ce.SubagentPreparation{Rollback: func(context.Context) error {
		w.record(object{"engine": e.t.name, "method": "rollback()"})
		if t, ok := rollback.take("throw"); ok {
			return w.throw(t, filler{})
		}
		return nil
	}}, nil
}

func nothing(*world, any) (struct{}, error) { return struct{}{}, nil }
