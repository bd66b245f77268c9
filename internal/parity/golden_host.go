package main

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// hostFuncs are the recorded functions that package host and its neighbours answer for.
func hostFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"shouldPreemptivelyCompactBeforePrompt": goldenPrecheck,
	}
}

// A boundary is a request before it is sent, as the recordings name its parts.
type boundary struct {
	Messages           []message.Message
	UnwindowedMessages []message.Message // nil: the list before assembly does not count
	SystemPrompt       string
	Prompt             string
	ContextTokenBudget int
	ReserveTokens      int
}

func goldenPrecheck(in json.RawMessage) (any, error) {
	b, err := decodeInput[boundary](in)
	if err != nil {
		return nil, err
	}
	return b.precheck(), nil
}

// precheck judges the request as the driver does, with the reference's estimate.
func (b boundary) precheck() object {
	load := turn.Load{
		Estimated: tokens.CompatBoundary(b.SystemPrompt, b.Prompt, b.Messages),
		Reducible: func(unwindowed bool) int {
			ms := b.Messages
			if unwindowed {
				ms = b.UnwindowedMessages
			}
			return prune.Reducible(ms, prune.Input{Window: b.ContextTokenBudget})
		},
	}
	if b.UnwindowedMessages != nil {
		load.Unwindowed = tokens.CompatBoundary(b.SystemPrompt, b.Prompt, b.UnwindowedMessages)
	}
	c := turn.Precheck(tokens.Budget{Window: b.ContextTokenBudget, Reserve: b.ReserveTokens}, load)
	return object{
		"route": string(c.Route), "shouldCompact": c.Route.Compacts(), "pressureSource": c.Source,
		"estimatedPromptTokens": c.Estimated, "promptBudgetBeforeReserve": c.PromptBudget,
		"overflowTokens": c.Overflow, "toolResultReducibleChars": c.ReducibleChars,
		"effectiveReserveTokens": c.EffectReserve,
	}
}
