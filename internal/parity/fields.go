package main

import (
	"fmt"
	"maps"
	"slices"
)

// A scenario with a word that this runner does not know would be played wrongly without notice.
// The functions below look for such words first.

// stepFields are the fields of each operation.
func stepFields() map[string][]string {
	call := []string{"on", "method", "params", "signal", "as"}
	host := []string{"on", "params", "stubMaintenance", "settleMs"}
	register := []string{"id", "owner", "factory", "lifecycle", "refresh"}
	on := []string{"on"}
	return map[string][]string{
		"init": {}, "register": register, "registerPublic": register, "registration": {"id"},
		"resolve": {"as", "slot", "config", "options"}, "resolveParallel": {"slots", "as", "config", "options"},
		"call": call, "start": call, "callDetached": {"on", "method", "as"}, "callParallel": append(call, "calls"),
		"await": {"pending", "as"}, "invokeHeld": {"held", "params", "signal", "as"}, "rollback": on,
		"info": on, "members": on, "isActive": on, "ownerPlugin": on, "same": {"a", "b"},
		"get":         {"on", "path", "member", "key", "name", "prop", "property"},
		"quarantines": {}, "mutateQuarantines": {}, "clearOwner": {"owner"},
		"hostDescriptor": {"host"}, "hostSupport": {"host", "operation", "on", "info"}, "runtimeSettings": {"params"},
		"memory": {"capability", "supplements"}, "memoryPrompt": {"availableTools", "citationsMode", "extra"},
		"runtimeCompactor": {"return", "throw"}, "delegate": {"params", "signal"},
		"hostBootstrap": host, "hostAssemble": host, "hostFinalize": host, "hostMaintain": host,
		"compactSafe": {"on", "params", "timeoutMs", "signal"}, "compactionTimeout": {"config"}, "precheck": {"params"},
		"child": {"steps", "keepAlive"}, "childStop": {}, "sleep": {"ms"},
	}
}

// notes are members that say something about a step and change nothing.
func notes() []string { return []string{"op", "expect", "note", "comment", "title", "n"} }

// strange names the first word of a scenario that this runner does not know; "" without one.
func (sc *scenario) strange() string {
	if word := strangeScripts(sc.Engines); word != "" {
		return word
	}
	for _, name := range slices.Sorted(maps.Keys(sc.Factories)) {
		for _, b := range sc.Factories[name] {
			if word := strangeFactory(b); word != "" {
				return fmt.Sprintf("%s of factory %q", word, name)
			}
		}
	}
	known := stepFields()
	for i, s := range sc.Steps {
		fields, ok := known[s.op]
		if !ok {
			continue // the operation itself is refused, or skipped with a reason of its own
		}
		if key := unknown(s.fields, append(fields, notes()...)...); key != "" {
			return fmt.Sprintf("%q of step %d (%s)", key, i, s.op)
		}
		if key := strangeStep(s); key != "" {
			return fmt.Sprintf("%s of step %d (%s)", key, i, s.op)
		}
	}
	return ""
}

func strangeScripts(engines map[string]object) string {
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		e := engines[name]
		if key := unknown(e, "info", "infoThrows", "omit", "methods", "recordParams", "shared"); key != "" {
			return fmt.Sprintf("%q of engine %q", key, name)
		}
		methods, _ := e["methods"].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			for _, b := range behaviours(methods[method]) {
				if word := strangeBehaviour(b); word != "" {
					return fmt.Sprintf("%s of %s of engine %q", word, method, name)
				}
			}
		}
	}
	return ""
}

func strangeBehaviour(b object) string {
	if key := unknown(b, "return", "throw", "echo", "estimatedTokens", "plus", "throwIfKeys", "error", "firstOnly",
		"hang", "delayMs", "abortDuring", "rethrowSignalReason", "rollback", "sync", "value"); key != "" {
		return fmt.Sprintf("%q", key)
	}
	if rollback, ok := b["rollback"].(map[string]any); ok {
		if key := unknown(rollback, "throw"); key != "" {
			return fmt.Sprintf("%q of the rollback", key)
		}
	}
	if word := strangeError(b["throw"]); word != "" {
		return word
	}
	return strangeError(b["error"])
}

func strangeFactory(b object) string {
	if key := unknown(b, "engine", "throw", "syncThrow", "returns", "resolvedRef", "syncReturn", "recordCtx", "delayMs"); key != "" {
		return fmt.Sprintf("%q", key)
	}
	if word := strangeError(b["throw"]); word != "" {
		return word
	}
	return strangeError(b["syncThrow"])
}

func strangeError(v any) string {
	o, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	if key := unknown(o, "message", "name", "code", "cause", "issues", "errors", "selfCause", "string", "object"); key != "" {
		return fmt.Sprintf("%q of an error", key)
	}
	return strangeError(o["cause"])
}

func strangeStep(s step) string {
	switch s.op {
	case "precheck":
		if key := unknown(s.object("params"), "messages", "unwindowedMessages", "prompt", "promptRepeat", "systemPrompt",
			"contextTokenBudget", "reserveTokens", "toolResultMaxChars", "llmBoundaryTokenPressure"); key != "" {
			return fmt.Sprintf("%q", key)
		}
	case "memory":
		builders, _ := listOf(s.fields["supplements"])
		for _, b := range append(slices.Clone(builders), s.fields["capability"]) {
			o, _ := b.(map[string]any)
			if key := unknown(o, "pluginId", "return", "throw"); key != "" {
				return fmt.Sprintf("%q of a builder", key)
			}
		}
	}
	signal := s.object("signal")
	if key := unknown(signal, "abort", "afterMs", "reason"); key != "" {
		return fmt.Sprintf("%q of the signal", key)
	}
	if when := signal["abort"]; !absent(when) && when != "before" && when != "never" {
		return fmt.Sprintf("the abort %v", when)
	}
	return strangeError(s.fields["throw"])
}

// unknown names the first member that is none of those known.
func unknown(o object, known ...string) string {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, key) {
			return key
		}
	}
	return ""
}
