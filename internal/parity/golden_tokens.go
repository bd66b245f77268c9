package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// tokenFuncs are the recorded functions that package tokens answers for.
func tokenFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"estimateTokens":                         goldenEstimateTokens,
		"estimateMessagesTokens":                 goldenEstimateMessages,
		"estimatePerMessageTokens":               goldenEstimatePerMessage,
		"calculateContextTokens":                 goldenContextTokens,
		"estimateContextTokens":                  goldenEstimateContext,
		"estimateMessageTokenPressure":           goldenPressure,
		"estimateLlmBoundaryTokenPressure":       goldenBoundaryPressure,
		"applyAgentCompactionSettingsFromConfig": goldenCompactionSettings,
	}
}

func goldenEstimateTokens(in json.RawMessage) (any, error) {
	m, err := decodeInput[message.Message](in)
	return tokens.Compat().Message(m), err
}

func goldenEstimateMessages(in json.RawMessage) (any, error) {
	ms, err := decodeInput[[]message.Message](in)
	return tokens.CompatMessages(ms), err
}

func goldenEstimatePerMessage(in json.RawMessage) (any, error) {
	ms, err := decodeInput[[]message.Message](in)
	out := make([]int, len(ms))
	for i := range ms {
		out[i] = tokens.CompatMessages(ms[i : i+1])
	}
	return out, err
}

func goldenContextTokens(in json.RawMessage) (any, error) {
	u, err := decodeInput[message.Usage](in)
	return tokens.CompatUsage(u), err
}

func goldenEstimateContext(in json.RawMessage) (any, error) {
	ms, err := decodeInput[[]message.Message](in)
	if err != nil {
		return nil, err
	}
	e := tokens.CompatContext(ms)
	out := map[string]any{"tokens": e.Tokens, "usageTokens": e.Usage, "trailingTokens": e.Trailing, "lastUsageIndex": nil}
	if e.Anchor >= 0 {
		out["lastUsageIndex"] = e.Anchor
	}
	return out, nil
}

// readShouldCompact has the recorded arguments tokens, window and settings.
func readShouldCompact(in json.RawMessage, want any) (any, any, error) {
	args, err := decodeInput[[]json.RawMessage](in)
	if err != nil {
		return nil, nil, err
	}
	if len(args) != 3 {
		return nil, nil, fmt.Errorf("want tokens, window and settings, got %d values", len(args))
	}
	var estimated, window float64
	var settings struct {
		Enabled       bool
		ReserveTokens float64
	}
	for i, to := range []any{&estimated, &window, &settings} {
		if err := json.Unmarshal(args[i], to); err != nil {
			return nil, nil, fmt.Errorf("decoding the input: %w", err)
		}
	}
	b := tokens.Budget{Window: int(window), Reserve: int(settings.ReserveTokens)}
	got := settings.Enabled && b.Overflow(int(estimated)) > 0
	switch {
	case got == want:
	case !b.Known():
		return nil, nil, skipBy("unknown window")
	case b.EffectiveReserve() != b.Reserve:
		return nil, nil, skipBy("least prompt")
	}
	return got, want, nil
}

func goldenPressure(in json.RawMessage) (any, error) {
	m, err := decodeInput[message.Message](in)
	return tokens.CompatPressure().Message(m), err
}

func goldenBoundaryPressure(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Messages     []message.Message
		SystemPrompt string
		Prompt       string
	}](in)
	return tokens.CompatBoundary(p.SystemPrompt, p.Prompt, p.Messages), err
}

// goldenCompactionSettings is NewBudget behind the reference's reading of its settings.
func goldenCompactionSettings(in json.RawMessage) (any, error) {
	type settings struct{ ReserveTokens, ReserveTokensFloor, KeepRecentTokens any }
	p, err := decodeInput[struct {
		Compaction         settings
		ContextTokenBudget any
		Current            settings
	}](in)
	if err != nil {
		return nil, err
	}
	const defaultKeepRecent = 20_000
	current := orInt(wholeNumber(p.Current.ReserveTokens, 0), tokens.DefaultReserve)
	currentKeep := orInt(wholeNumber(p.Current.KeepRecentTokens, 0), defaultKeepRecent)
	reserve := orInt(wholeNumber(p.Compaction.ReserveTokens, 0), current)
	keep := orInt(wholeNumber(p.Compaction.KeepRecentTokens, 1), currentKeep)
	b := tokens.NewBudget(orInt(wholeNumber(p.ContextTokenBudget, 1), 0), &tokens.BudgetOptions{
		Reserve: &reserve,
		Floor:   wholeNumber(p.Compaction.ReserveTokensFloor, 0),
	})
	return map[string]any{
		"didOverride": b.Reserve != current || keep != currentKeep,
		"compaction":  map[string]int{"reserveTokens": b.Reserve, "keepRecentTokens": keep},
	}, nil
}

// wholeNumber returns a setting rounded down; nil when it is no number or too small.
func wholeNumber(v any, least float64) *int {
	f, ok := v.(float64)
	if !ok || math.Floor(f) < least {
		return nil
	}
	n := int(math.Floor(f))
	return &n
}

func orInt(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}
