package tokens

import "github.com/go-contextengine/contextengine/message"

// PromptTokens returns what a call's prompt cost by the provider's own count, cached
// parts included; 0 when it is unknown.
func PromptTokens(u message.Usage) int {
	return max(0, u.Input) + max(0, u.CacheRead) + max(0, u.CacheWrite)
}

// ContextTokens returns how full the context was after a call: the provider's total,
// else the sum of its parts; 0 when it is unknown.
func ContextTokens(u message.Usage) int {
	if u.Total > 0 {
		return u.Total
	}
	return PromptTokens(u) + max(0, u.Output)
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
		Calls:      c.Calls + 1,
		Input:      c.Input + max(0, u.Input),
		Output:     c.Output + max(0, u.Output),
		CacheRead:  c.CacheRead + max(0, u.CacheRead),
		CacheWrite: c.CacheWrite + max(0, u.CacheWrite),
	}
}

// Total returns all tokens of all calls.
func (c CumulativeUsage) Total() int {
	return c.Input + c.Output + c.CacheRead + c.CacheWrite
}
