package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// What follows compares outcomes by what carries over to another language: success or failure
// of every step, texts only where an engine gave them, values, the order of calls and which
// host-added fields they carried, and the number of log lines by level.

// compareOutcomes says how got differs from want, step by step; "" is equal. Both are decoded
// JSON documents.
func compareOutcomes(want, got object) string {
	wantSteps, _ := want["steps"].([]any)
	gotSteps, _ := got["steps"].([]any)
	var out strings.Builder
	for i := range max(len(wantSteps), len(gotSteps)) {
		w, g := viewAt(wantSteps, i), viewAt(gotSteps, i)
		if !reflect.DeepEqual(w, g) {
			fmt.Fprintf(&out, "  step %d\n    want %s\n    got  %s\n", i, show(w), show(g))
		}
	}
	return out.String()
}

func viewAt(steps []any, i int) any {
	if i >= len(steps) {
		return nil
	}
	step, _ := steps[i].(map[string]any)
	return viewStep(step)
}

// viewStep reduces a step to what is compared.
func viewStep(step object) object {
	op, _ := step["op"].(string)
	v := object{"op": op, "received": viewReceived(step["received"]), "log": viewLog(step["log"])}
	if e, failed := step["error"]; failed {
		v["error"] = viewError(e)
		return v
	}
	v["ok"] = viewResult(op, step["ok"])
	return v
}

func viewError(e any) any {
	o, _ := e.(map[string]any)
	if o["identity"] == "engine" {
		return []any{"engine", o["message"]}
	}
	return []any{"library"}
}

// normalise drops what has no value and the texts of the library.
func normalise(v any) any {
	switch x := v.(type) {
	case string:
		if x == "$undefined" || x == "$text" || strings.HasPrefix(x, `Context engine "`) {
			return nil
		}
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = normalise(x[i])
		}
		return out
	case map[string]any:
		if id, ok := x["identity"]; ok && id != "engine" {
			return object{"error": "library"}
		}
		out := object{}
		for k, m := range x {
			if n := normalise(m); n != nil {
				out[k] = n
			}
		}
		return out
	case json.Number:
		if f, err := x.Float64(); err == nil {
			return f
		}
	}
	return v
}

func viewResult(op string, raw any) any {
	v := normalise(raw)
	switch o, _ := v.(map[string]any); {
	case op == "resolve" && o != nil:
		info, isObject := o["info"].(map[string]any)
		if !isObject && o["info"] != nil {
			return o["info"]
		}
		return object{"id": info["id"], "name": info["name"]}
	case op == "info" && o != nil:
		owns, _ := o["ownsCompaction"].(bool)
		return object{"id": o["id"], "name": o["name"], "owns": owns}
	case o != nil && len(o) == 0:
		return nil
	}
	if list, ok := v.([]any); ok {
		if op == "quarantines" {
			return viewQuarantines(list)
		}
		if len(list) == 0 {
			return nil
		}
	}
	return v
}

func viewQuarantines(list []any) any {
	out := make([]any, 0, len(list))
	for _, item := range list {
		q, _ := item.(map[string]any)
		reason := q["reason"]
		if op := q["operation"]; op == "resolve" || op == "contract-validation" {
			reason = nil // the library's own words
		}
		out = append(out, object{
			"engineId": q["engineId"], "operation": q["operation"], "owner": q["owner"], "reason": reason,
		})
	}
	return out
}

func viewReceived(v any) []any {
	list, _ := v.([]any)
	out := make([]any, 0, len(list))
	for _, item := range list {
		r, _ := item.(map[string]any)
		if f, ok := r["factory"]; ok {
			out = append(out, []any{"factory", f})
			continue
		}
		out = append(out, []any{r["engine"], r["method"], viewKeys(r)})
	}
	return out
}

// viewKeys gives the host-added fields among those that a call carried.
func viewKeys(r object) []string {
	names := map[string]bool{}
	keys, _ := r["keys"].([]any)
	for _, k := range keys {
		name, _ := k.(string)
		names[name] = true
	}
	if len(keys) == 0 {
		params, _ := r["params"].(map[string]any)
		for name := range params {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool {
		return !slices.Contains([]string{"sessionKey", "prompt", "runtimeSettings", "runtimeContext"}, name)
	})
	return slices.Sorted(maps.Keys(names))
}

func viewLog(v any) map[string]int {
	count := map[string]int{}
	list, _ := v.([]any)
	for _, item := range list {
		line, _ := item.(map[string]any)
		level, _ := line["level"].(string)
		count[level]++
	}
	return count
}
