package contextengine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// PrepareSubagentSpawn implements [SubagentPreparer]. A failure comes back in
// this call and the spawn ends. The preparation's Rollback runs at most once;
// it reaches the engine that made it even after a quarantine, and its failure
// is no reason for one.
func (h *Handle) PrepareSubagentSpawn(ctx context.Context, p SubagentSpawnParams) (*SubagentPreparation, error) {
	const op = "prepareSubagentSpawn"
	if !h.hooks.Has(HookPrepareSubagentSpawn) {
		return nil, h.ready(ctx, op)
	}
	prep, err := guard(ctx, h, &hook[SubagentSpawnParams, *SubagentPreparation]{
		op: op, optional: true, surfaces: true,
		limit: func(d *Deadlines) time.Duration { return d.PrepareSubagent },
		session: func(p SubagentSpawnParams) sessionID {
			return sessionID{id: p.Parent.SessionID, key: p.ParentSessionKey}
		},
		call: func(ctx context.Context, in *instance, p SubagentSpawnParams) (*SubagentPreparation, error) {
			return in.engine.(SubagentPreparer).PrepareSubagentSpawn(ctx, p)
		},
		fallback: func(ctx context.Context, in *instance, p SubagentSpawnParams) (*SubagentPreparation, error) {
			return PrepareSubagentSpawn(ctx, in.engine, p)
		},
		undo: h.undoLate,
	}, &p)
	if err != nil || prep == nil || prep.Rollback == nil {
		return prep, err
	}
	return &SubagentPreparation{Rollback: h.once(prep.Rollback)}, nil
}

// undoLate rolls back a preparation whose caller had left at the deadline: nobody
// else will.
func (h *Handle) undoLate(prep *SubagentPreparation) {
	if prep == nil || prep.Rollback == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lateUndoTimeout)
	defer cancel()
	if err := h.once(prep.Rollback)(ctx); err != nil {
		h.registry.logger().LogAttrs(ctx, slog.LevelWarn, "rolling back a late subagent preparation failed",
			slog.String("engine", sanitise(h.gen.id)), slog.String("error", oneLine(err)))
	}
}

// lateUndoTimeout bounds a rollback that no caller waits for.
const lateUndoTimeout = 30 * time.Second

// once makes a rollback safe to call: one run, no panic.
func (h *Handle) once(rollback func(context.Context) error) func(context.Context) error {
	var done atomic.Bool
	return func(ctx context.Context) (err error) {
		if done.Swap(true) {
			return nil
		}
		defer func() {
			if v := recover(); v != nil {
				err = h.wrap("rollback", newPanicError(v))
			}
		}()
		if err := presentable(rollback(ctx)); err != nil {
			return h.wrap("rollback", err)
		}
		return nil
	}
}
