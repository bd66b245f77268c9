package tokens

import "github.com/go-contextengine/contextengine/message"

// A ContextEstimate says how full a context is and where the number comes from.
type ContextEstimate struct {
	// Tokens is the whole: Usage plus Trailing.
	Tokens int
	// Usage is what the provider reported at the anchor, prompt and answer; 0: no anchor.
	Usage int
	// Trailing is the estimate of the messages after the anchor, or of all of them.
	Trailing int
	// Anchor is the index of the assistant message whose usage counts; -1: none.
	Anchor int
}

// Anchored returns the size of a context: what the provider reported for the last
// call, plus an estimate of the messages since. Without a usable report everything
// is estimated, without system prompt and tools, which only a report includes.
//
// A report is usable when its message
//
//   - did not fail and was not aborted,
//   - has numbers that are not all zero and not marked unavailable: such numbers are
//     unknown, not an empty context,
//   - and is newer than the last compaction summary of the list. A message kept across
//     a compaction reports the context before it. Where either time is unknown, a
//     message after the summary is taken for kept. A host that makes its own lists
//     should date its summaries; package transcript does it even where the log does not.
func Anchored(e Estimator, ms []message.Message) ContextEstimate {
	i := lastAnchor(ms)
	if i < 0 {
		n := Messages(e, ms)
		return ContextEstimate{Tokens: n, Trailing: n, Anchor: -1}
	}
	used, trailing := ContextTokens(*ms[i].Usage), Messages(e, ms[i+1:])
	return ContextEstimate{Tokens: sum(used, trailing), Usage: used, Trailing: trailing, Anchor: i}
}

func lastAnchor(ms []message.Message) int {
	for i := len(ms) - 1; i >= 0; i-- {
		switch m := &ms[i]; {
		case m.Role == message.RoleCompactionSummary:
			return -1 // what is older reports the context before it
		case m.Role == message.RoleAssistant && !m.Failed() && m.Usage != nil && ContextTokens(*m.Usage) > 0:
			if newerThanSummaries(m, ms[:i]) {
				return i
			}
			return -1 // everything before it is older still
		}
	}
	return -1
}

// newerThanSummaries reports whether m was answered after every compaction before it.
func newerThanSummaries(m *message.Message, before []message.Message) bool {
	for i := range before {
		s := &before[i]
		if s.Role != message.RoleCompactionSummary {
			continue
		}
		if s.Timestamp.IsZero() || m.Timestamp.IsZero() || !m.Timestamp.After(s.Timestamp) {
			return false
		}
	}
	return true
}
