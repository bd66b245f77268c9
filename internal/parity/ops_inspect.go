package main

import (
	"context"
	"strings"
	"unicode/utf8"

	ce "github.com/go-contextengine/contextengine"
)

func inspectOps() map[string]opFunc {
	return map[string]opFunc{
		"info": opInfo, "members": opMembers, "get": opGet, "same": opSame, "ownerPlugin": opOwnerPlugin,
		"registration": opRegistration, "quarantines": opQuarantines, "mutateQuarantines": opMutateQuarantines,
	}
}

// longestReason is how much of a reason a record keeps.
const longestReason = 500

func opInfo(_ context.Context, w *world, s step) (any, error) {
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	return infoFields(on.handle.Info()), nil
}

// requests counts what engines and factories were asked for in this step.
func (w *world) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.received)
}

// opMembers lists which members the engine selected has.
func opMembers(_ context.Context, w *world, s step) (any, error) {
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	out := object{"info": "object"}
	for _, name := range requiredMethods() {
		out[name] = "function"
	}
	hooks := ce.HooksOf(on.handle)
	for name, hook := range hookNames() {
		out[name] = "undefined"
		if hooks.Has(hook) {
			out[name] = "function"
		}
	}
	return out, nil
}

// opGet reads one member of a resolved engine: something of its info, or whether a method is there.
func opGet(_ context.Context, w *world, s step) (any, error) {
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	path := firstText(s, "path", "member", "key", "name", "prop", "property")
	head, rest, _ := strings.Cut(path, ".")
	if head != "info" {
		if _, known := callers()[head]; !known {
			return nil, w.skip("a handle has no way to the engine's own member " + head)
		}
		if on.has(head) {
			return "$function", nil
		}
		return undefinedValue{}, nil
	}
	var v any = infoFields(on.handle.Info())
	for part := range strings.SplitSeq(rest, ".") {
		if part == "" {
			break
		}
		o, _ := v.(map[string]any)
		v = o[part]
	}
	return v, nil
}

func firstText(s step, keys ...string) string {
	for _, k := range keys {
		if v := s.text(k); v != "" {
			return v
		}
	}
	return ""
}

func opSame(_ context.Context, w *world, s step) (any, error) {
	a, err := w.engine(s.text("a"))
	if err != nil {
		return nil, err
	}
	b, err := w.engine(s.text("b"))
	if err != nil {
		return nil, err
	}
	return a.handle == b.handle, nil
}

func opQuarantines(_ context.Context, w *world, _ step) (any, error) {
	list := w.reg.Quarantines()
	for _, q := range list {
		if utf8.RuneCountInString(q.Reason) >= longestReason {
			w.differ(differLength)
		}
		if q.Reason == "" && w.theirs[q.EngineID] {
			w.differ(differMirror)
		}
	}
	return quarantineList(list), nil
}

func quarantineList(qs []ce.Quarantine) []any {
	out := make([]any, len(qs))
	for i, q := range qs {
		o := fieldSet{"engineId": q.EngineID, "operation": q.Operation, "reason": q.Reason, "failedAt": "$time"}
		out[i] = object(o.text("owner", q.Owner))
	}
	return out
}

// opMutateQuarantines changes the list that the registry gave, then tells what it says now.
func opMutateQuarantines(_ context.Context, w *world, _ step) (any, error) {
	list := w.reg.Quarantines()
	for i := range list {
		list[i] = ce.Quarantine{EngineID: "mutated", Reason: "mutated"}
	}
	_ = append(list[:0], ce.Quarantine{EngineID: "added"})
	now := w.reg.Quarantines()
	out := make([]any, len(now))
	for i, q := range now {
		out[i] = object{"engineId": q.EngineID, "reason": q.Reason, "epochZero": q.FailedAt.UnixMilli() == 0}
	}
	return out, nil
}

// opOwnerPlugin names the plugin that owns the engine that answers; nothing for any other owner.
func opOwnerPlugin(_ context.Context, w *world, s step) (any, error) {
	if absent(s.fields["on"]) {
		return nil, nil
	}
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	plugin, ok := strings.CutPrefix(on.handle.Owner(), "plugin:")
	if plugin = trimmed(plugin); !ok || plugin == "" {
		return nil, nil
	}
	return plugin, nil
}

func opRegistration(_ context.Context, w *world, s step) (any, error) {
	reg, ok := w.reg.Lookup(s.text("id"))
	if !ok || reg.Generation == 0 && !w.defaultThere() {
		return nil, nil
	}
	lifecycle := "runtime"
	if reg.DiscoveryOnly {
		lifecycle = "readOnlyDiscovery"
	}
	return object{"owner": reg.Owner, "lifecycle": lifecycle}, nil
}
