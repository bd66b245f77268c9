package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

func safeOps() map[string]opFunc {
	return map[string]opFunc{"compactSafe": opCompactSafe, "compactionTimeout": opCompactionTimeout}
}

// opCompactionTimeout gives the deadline of compactions, in milliseconds, that a
// configuration asks for: whole seconds, else the default.
func opCompactionTimeout(_ context.Context, _ *world, s step) (any, error) {
	config := s.object("config")
	for _, key := range []string{"agents", "defaults", "compaction"} {
		config, _ = config[key].(map[string]any)
	}
	if n, ok := config["timeoutSeconds"].(json.Number); ok {
		if seconds, err := n.Float64(); err == nil && seconds >= 1 {
			return int64(min(math.Floor(seconds)*1000, referenceLimit)), nil
		}
	}
	return ce.DefaultDeadlines().Compact.Milliseconds(), nil
}

// referenceLimit is the longest deadline that the reference's timers take, in milliseconds.
const referenceLimit = 2_147_000_000

const opNameCompactSafe = "compactSafe"

// opCompactSafe runs a compaction under the deadline that the handle was resolved with.
func opCompactSafe(ctx context.Context, w *world, s step) (any, error) {
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	if !s.has("signal") { // the engine always gets one
		s = step{op: s.op, fields: maps.Clone(s.fields)}
		s.fields["signal"] = object{"abort": "never"}
	}
	v, c, err := w.invoke(ctx, on, "compact", s)
	if err != nil && c != nil && c.over && w.raised(err) {
		w.differ(differHeard)
	}
	if missed := (*ce.DeadlineError)(nil); errors.As(err, &missed) && missed.After < limitOf(s) {
		return nil, w.skip("a deadline belongs to the selection: an engine has one for all its compactions")
	}
	return v, err
}

// limitOf gives the deadline that a step asks for.
func limitOf(s step) time.Duration {
	if ms := s.number("timeoutMs"); ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return ce.DefaultDeadlines().Compact
}

// compactionLimit gives the deadline of compactions on the handle that will get this name. A
// deadline belongs to the selection here, so the shortest that a step asks for counts.
func (w *world) compactionLimit(name string) time.Duration {
	var limit time.Duration
	for _, s := range w.sc.Steps {
		if s.op != opNameCompactSafe || s.text("on") != name {
			continue
		}
		d := limitOf(s)
		if limit == 0 || d < limit {
			limit = d
		}
	}
	return limit
}
