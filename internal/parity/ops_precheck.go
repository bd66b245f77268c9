package main

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"strings"

	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

func precheckOps() map[string]opFunc {
	return map[string]opFunc{"precheck": opPrecheck}
}

// A pressureCase is what the recorded pre-prompt check is asked.
type pressureCase struct {
	Messages, UnwindowedMessages      []message.Message
	Prompt, SystemPrompt              string
	ContextTokenBudget, ReserveTokens *float64
	ToolResultMaxChars                int
	// LLMBoundaryTokenPressure is another count of the whole, used instead of the estimate.
	LLMBoundaryTokenPressure *struct {
		EstimatedPromptTokens *float64
		Source                string
	}
}

// referenceWindow stands for a window that nobody knows (OpenClaw 2026.7.1 default).
const referenceWindow = 200_000

func whole(v *float64, missing int) int {
	if v == nil {
		return missing
	}
	return int(math.Floor(*v))
}

// check runs the driver's precheck with the reference's estimate, and reduces its outcome to
// what was recorded.
func (p pressureCase) check() map[string]any {
	b := tokens.Budget{Window: max(1, whole(p.ContextTokenBudget, referenceWindow)), Reserve: max(0, whole(p.ReserveTokens, 0))}
	load := turn.Load{Estimated: tokens.CompatBoundary(p.SystemPrompt, p.Prompt, p.Messages)}
	source := turn.SourceTranscript
	if given := p.LLMBoundaryTokenPressure; given != nil && given.EstimatedPromptTokens != nil {
		load.Estimated = max(0, int(math.Ceil(*given.EstimatedPromptTokens)))
		source = "rendered_llm_boundary"
		if s := trimmed(given.Source); s != "" {
			source = s
		}
	}
	if p.UnwindowedMessages != nil {
		load.Unwindowed = tokens.CompatBoundary(p.SystemPrompt, p.Prompt, p.UnwindowedMessages)
	}
	load.Reducible = func(unwindowed bool) int {
		ms := p.Messages
		if unwindowed {
			ms = p.UnwindowedMessages
		}
		in := prune.Input{Window: b.Window, Estimator: tokens.CompatPressure()}
		return prune.Measure(ms, in, &prune.ToolResultOptions{MaxChars: p.ToolResultMaxChars}).Reducible()
	}
	c := turn.Precheck(b, load)
	if c.Source != turn.SourceTranscript {
		source = c.Source
	}
	if c.Route == turn.RouteFits { // the driver does not ask then; the reference tells all the same
		c.ReducibleChars = load.Reducible(c.Source == turn.SourceUnwindowed)
	}
	return map[string]any{
		"route": string(c.Route), "shouldCompact": c.Route.Compacts(), "pressureSource": source,
		"estimatedPromptTokens": c.Estimated, "promptBudgetBeforeReserve": c.PromptBudget,
		"overflowTokens": c.Overflow, "toolResultReducibleChars": c.ReducibleChars,
		"effectiveReserveTokens": c.EffectReserve,
	}
}

func goldenPrecheck(in json.RawMessage) (any, error) {
	p, err := decodeInput[pressureCase](in)
	if err != nil {
		return nil, err
	}
	return p.check(), nil
}

// opPrecheck decides about a request before it is sent. A repeat on a message repeats its text.
func opPrecheck(_ context.Context, w *world, s step) (any, error) {
	o := s.object("params")
	params := maps.Clone(o)
	if params == nil {
		params = object{}
	}
	for _, key := range []string{"messages", "unwindowedMessages"} {
		if list, ok := o[key].([]any); ok {
			params[key] = repeated(list)
		}
	}
	if n, ok := intOf(o["promptRepeat"]); ok {
		text, _ := o["prompt"].(string)
		params["prompt"] = strings.Repeat(text, max(0, n))
	}
	raw, err := json.Marshal(defined(params))
	if err != nil {
		return nil, err
	}
	p, err := decodeInput[pressureCase](raw)
	if err != nil {
		return nil, w.skip("not a request: " + err.Error())
	}
	return jsonValue(p.check()), nil
}

// repeated writes out the texts that are to be repeated.
func repeated(list []any) []any {
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = item
		m, _ := item.(map[string]any)
		n, ok := intOf(m["repeat"])
		if !ok {
			continue
		}
		one := maps.Clone(m)
		delete(one, "repeat")
		one["content"] = repeatText(m["content"], max(0, n))
		out[i] = one
	}
	return out
}

// repeatText repeats a text, or the texts of the blocks in a list.
func repeatText(v any, n int) any {
	switch x := v.(type) {
	case string:
		return strings.Repeat(x, n)
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = item
			b, _ := item.(map[string]any)
			if text, ok := b["text"].(string); ok {
				block := maps.Clone(b)
				block["text"] = strings.Repeat(text, n)
				out[i] = block
			}
		}
		return out
	}
	return v
}

// defined drops what has no value in JSON: absent members and numbers that are none.
func defined(v any) any {
	switch x := v.(type) {
	case undefinedValue:
		return nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
	case setValue:
		return defined([]any(x))
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = defined(x[i])
		}
		return out
	case map[string]any:
		out := object{}
		for k, m := range x {
			if d := defined(m); d != nil {
				out[k] = d
			}
		}
		return out
	}
	return v
}
