package main

import (
	"context"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

// factory gives the scripted factory of that name for an id; one without a script builds the engine of
// the same name.
func (w *world) factory(id, name string) ce.Factory {
	return func(ctx context.Context, fc ce.FactoryContext) (ce.ContextEngine, error) {
		b := w.factoryBehaviour(name)
		entry := object{"factory": name, "ctxKeys": []any{"agentDir", "config", "workspaceDir"}}
		if on, _ := b["recordCtx"].(bool); on {
			entry["ctx"] = plain(object{
				"config": orUndefined(fc.HostConfig), "agentDir": orAbsent(fc.AgentDir), "workspaceDir": orAbsent(fc.WorkspaceDir),
			})
		}
		w.record(entry)
		meet(ctx)
		return w.produce(id, name, b)
	}
}

func orAbsent(s string) any {
	if s == "" {
		return undefinedValue{}
	}
	return s
}

func (w *world) factoryBehaviour(name string) object {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.factoryCalls[name]
	w.factoryCalls[name]++
	list := w.sc.Factories[name]
	if len(list) == 0 {
		return object{}
	}
	if b := list[min(n, len(list)-1)]; b != nil {
		return b
	}
	return object{}
}

// produce plays one behaviour of a factory.
func (w *world) produce(id, name string, b object) (ce.ContextEngine, error) {
	if ms, ok := intOf(b["delayMs"]); ok {
		wait(w.ctx, time.Duration(ms)*time.Millisecond)
	}
	for _, key := range []string{"throw", "syncThrow"} {
		if v, ok := b[key]; ok {
			return nil, w.throw(v, filler{})
		}
	}
	if v, ok := b["returns"]; ok {
		if absent(v) {
			return nil, nil
		}
		return nil, w.skip("a factory returns an engine and nothing else")
	}
	if ref, ok := b["resolvedRef"].(string); ok {
		r, err := w.engine(ref)
		if err != nil {
			return nil, w.skip(err.Error())
		}
		return r.handle, nil
	}
	if other, ok := b["engine"].(string); ok {
		name = other
	}
	e, err := w.engineType(name).build(id == ce.LegacyID)
	if err != nil {
		return nil, err
	}
	return e, nil
}
