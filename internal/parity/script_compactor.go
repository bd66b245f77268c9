package main

import (
	"context"
	"maps"

	ce "github.com/go-contextengine/contextengine"
)

// A scriptedCompactor is the built-in compaction that a scenario's host lends.
type scriptedCompactor struct {
	w      *world
	script object
}

var _ ce.Compactor = (*scriptedCompactor)(nil)

// opRuntimeCompactor sets what the lent compactor does from now on.
func opRuntimeCompactor(_ context.Context, w *world, s step) (any, error) {
	w.lent = &scriptedCompactor{w: w, script: maps.Clone(s.fields)}
	return nil, nil
}

// CompactSession plays the script and records what it was asked.
func (c *scriptedCompactor) CompactSession(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	callFrom(ctx).signal.arm()
	c.w.mu.Lock()
	c.w.runtimeCompactor = append(c.w.runtimeCompactor, plain(c.w.compactFields(p)))
	c.w.mu.Unlock()
	if t, ok := c.script["throw"]; ok {
		return ce.CompactResult{}, c.w.throw(t, filler{})
	}
	v := passedOn(c.script["return"])
	res, err := compactResultOf(c.w, v)
	if err != nil {
		return res, c.w.skip(err.Error())
	}
	callFrom(ctx).answered(v)
	return res, nil
}

// passedOn is what the reference passes on of the answer of its own compaction: neither the
// details of a failure nor the file of a successor.
func passedOn(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	o = maps.Clone(o)
	delete(o, "failure")
	if inner, ok := o["result"].(map[string]any); ok {
		inner = maps.Clone(inner)
		delete(inner, "sessionFile")
		o["result"] = inner
	}
	return o
}
