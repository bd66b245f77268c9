package contextengine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// Tools implements [ToolProvider]. Each tool is guarded: a panic becomes an
// error for the model and quarantines the engine with operation tool. After a
// quarantine, and after Close, calling one is an error for the model, under both
// policies an [*EngineUnavailableError]. An error
// that a tool returns is the model's to read and no failure of the engine.
func (h *Handle) Tools(ctx context.Context, p ToolsParams) ([]Tool, error) {
	if !h.hooks.Has(HookTools) {
		return nil, h.ready(ctx, "tools")
	}
	return guard(ctx, h, &hook[ToolsParams, []Tool]{
		op: "tools", optional: true,
		limit:   func(d *Deadlines) time.Duration { return d.Tools },
		session: func(p ToolsParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p ToolsParams) ([]Tool, error) {
			ts, err := in.engine.(ToolProvider).Tools(ctx, p)
			if err != nil {
				return nil, err
			}
			return h.guardTools(in, ts)
		},
		fallback: func(ctx context.Context, in *instance, p ToolsParams) ([]Tool, error) {
			ts, err := Tools(ctx, in.engine, p)
			if err != nil || ts == nil {
				return nil, err
			}
			return h.guardTools(in, ts)
		},
		present: func(p ToolsParams) paramMask { return presentIn(p.SessionRef, nil, p.Settings, p.Runtime, nil) },
		zero: func(p ToolsParams, m paramMask) ToolsParams {
			zeroIn(m, &p.SessionRef, nil, &p.Settings, &p.Runtime)
			return p
		},
		byText: textLifecycle,
	}, &p)
}

// guardTools reads what the tools say of themselves, once, while the guard
// watches, and wraps their calls.
func (h *Handle) guardTools(in *instance, ts []Tool) ([]Tool, error) {
	out := make([]Tool, 0, len(ts))
	var issues []string
	for i, t := range ts {
		if t == nil {
			issues = append(issues, fmt.Sprintf("tool %d is nil", i))
			continue
		}
		g := &guardedTool{h: h, in: in, tool: t, name: t.Name(), description: t.Description(), schema: t.Schema()}
		if trimBlank(g.name) == "" {
			issues = append(issues, fmt.Sprintf("tool %d has a blank name", i))
		}
		out = append(out, g)
	}
	if issues != nil {
		return nil, &ContractError{Engine: in.id, Issues: issues}
	}
	return out, nil
}

// guardedTool is a tool of an engine behind the guard.
type guardedTool struct {
	h                 *Handle
	in                *instance // whose tool it is
	tool              Tool
	name, description string
	schema            json.RawMessage
}

func (t *guardedTool) Name() string            { return t.name }
func (t *guardedTool) Description() string     { return t.description }
func (t *guardedTool) Schema() json.RawMessage { return t.schema }

func (t *guardedTool) Call(ctx context.Context, arguments json.RawMessage) (blocks []message.Block, err error) {
	if err := t.h.ready(ctx, "tool"); err != nil {
		return nil, err
	}
	if f := t.h.gen.failed.Load(); f != nil && t.in == t.h.main {
		return nil, f.unavailable()
	}
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		f := examine(ctx, newPanicError(v))
		if !t.in.isDefault && !f.host {
			t.h.registry.fail(ctx, t.h.gen, "tool", f)
		}
		blocks, err = nil, t.h.wrap("tool", f.err)
	}()
	blocks, err = t.tool.Call(ctx, arguments)
	return blocks, presentable(err)
}
