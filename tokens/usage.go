package tokens

import (
	"github.com/go-contextengine/contextengine/internal/jsonx"
	"github.com/go-contextengine/contextengine/message"
)

// PromptTokens returns what a call's prompt cost by the provider's own count, cached
// parts included; 0 when it is unknown.
func PromptTokens(u message.Usage) int {
	return sum(max(0, u.Input), max(0, u.CacheRead), max(0, u.CacheWrite))
}

// ContextTokens returns how full the context was after a call: what was measured where
// the log says so, else the provider's total, else the sum of its parts; 0 when it is
// unknown. OpenClaw's logs say so under "contextUsage", whose state is "available", or
// "unavailable" for a provider whose numbers say nothing about the context.
func ContextTokens(u message.Usage) int {
	switch contextState(&u) {
	case contextAvailable:
		return max(0, measuredContext(&u))
	case contextUnavailable:
		return 0
	}
	if u.Total > 0 {
		return u.Total
	}
	return sum(PromptTokens(u), max(0, u.Output))
}

// A CumulativeUsage sums the usage of many calls, for billing and statistics. It is a
// type of its own because a sum says nothing about the size of a context: it can
// neither anchor an estimate nor calibrate one. The zero value is an empty sum.
type CumulativeUsage struct {
	Calls                                int
	Input, Output, CacheRead, CacheWrite int
}

// Add returns the sum with one more call.
func (c CumulativeUsage) Add(u message.Usage) CumulativeUsage {
	return CumulativeUsage{
		Calls:      sum(c.Calls, 1),
		Input:      sum(c.Input, max(0, u.Input)),
		Output:     sum(c.Output, max(0, u.Output)),
		CacheRead:  sum(c.CacheRead, max(0, u.CacheRead)),
		CacheWrite: sum(c.CacheWrite, max(0, u.CacheWrite)),
	}
}

// Total returns all tokens of all calls.
func (c CumulativeUsage) Total() int {
	return sum(c.Input, c.Output, c.CacheRead, c.CacheWrite)
}

const (
	contextUsageKey    = "contextUsage"
	contextAvailable   = "available"
	contextUnavailable = "unavailable"
)

// contextState is the state under contextUsage, "" for none.
func contextState(u *message.Usage) string {
	raw := u.Extra[contextUsageKey]
	if jsonx.KindOf(raw) != jsonx.Map {
		return ""
	}
	s, _ := jsonx.String(jsonx.Get(raw, "state"))
	return s
}

func measuredContext(u *message.Usage) int {
	n, _ := jsonx.Int(jsonx.Get(u.Extra[contextUsageKey], "totalTokens"))
	return int(n)
}
