package prune

import (
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// MergeAssistants joins assistant messages that follow each other, for providers that want
// turns to alternate: the first one's fields, the content of both, and the last one's
// usage, stop reason and error. Two things are not taken from the first: that it failed,
// when the last one has calls, and its model, when the last one has reasoning or
// signatures, which only their own model takes back. It returns ms itself when nothing
// changes.
func MergeAssistants(ms []message.Message) []message.Message {
	return merge(ms, message.RoleAssistant, func(first, next message.Message) message.Message {
		first.Content = slices.Concat(first.Content, next.Content)
		if next.Usage != nil {
			first.Usage = next.Usage
		}
		if next.StopReason != "" {
			first.StopReason = next.StopReason
		}
		if next.ErrorMessage != "" {
			first.ErrorMessage = next.ErrorMessage
		}
		if hasCalls(&next) && !next.Failed() && first.Failed() {
			first.StopReason, first.ErrorMessage = next.StopReason, next.ErrorMessage
		}
		if isSigned(&next) {
			first.API, first.Provider, first.Model = next.API, next.Provider, next.Model
		}
		return withoutForm(first)
	})
}

// isSigned reports whether m holds what is bound to the model that wrote it.
func isSigned(m *message.Message) bool {
	return slices.ContainsFunc(m.Content, func(b message.Block) bool { return b.Signature != "" || isThinking(&b) })
}

// AlternateTurns makes a list as Anthropic wants it: [MergeAssistants], then no calls
// without a result before the next assistant message, then user messages that follow each
// other joined under the last one's fields. It returns ms itself when nothing changes.
func AlternateTurns(ms []message.Message) []message.Message {
	return mergeUsers(dropDangling(MergeAssistants(ms)))
}

func mergeUsers(ms []message.Message) []message.Message {
	return merge(ms, message.RoleUser, func(first, next message.Message) message.Message {
		next.Content = slices.Concat(first.Content, next.Content)
		if next.Timestamp.IsZero() {
			next.Timestamp = first.Timestamp
		}
		if next.Key == "" {
			next.Key = first.Key
		}
		return withoutForm(next)
	})
}

// merge joins neighbours of a role.
func merge(ms []message.Message, role message.Role, join func(first, next message.Message) message.Message) []message.Message {
	at := 1
	for at < len(ms) && !(ms[at].Role == role && ms[at-1].Role == role) {
		at++
	}
	if at >= len(ms) {
		return ms
	}
	out := slices.Clone(ms[:at])
	for ; at < len(ms); at++ {
		if last := len(out) - 1; ms[at].Role == role && out[last].Role == role {
			out[last] = join(out[last], ms[at])
			continue
		}
		out = append(out, ms[at])
	}
	return out
}

// dropDangling removes calls that have no result before the next assistant message. A
// message with reasoning loses everything with them, because its provider has signed it as
// a whole.
func dropDangling(ms []message.Message) []message.Message {
	return rewriteAll(ms, func(i int, m *message.Message) (message.Message, verdict) {
		if m.Role != message.RoleAssistant || !hasCalls(m) {
			return *m, kept
		}
		results := resultsAfter(ms, i)
		if slices.ContainsFunc(m.Content, func(b message.Block) bool { return isThinking(&b) }) {
			return allOrNothing(m, results)
		}
		out, v := filtered(m, func(b *message.Block) bool {
			_, answered := results[strings.TrimSpace(b.ID)]
			return !b.IsCall() || answered
		})
		if v == dropped {
			return withoutCalls(m), replaced
		}
		return out, v
	})
}

func allOrNothing(m *message.Message, results map[string][]string) (message.Message, verdict) {
	for b := range m.ToolCalls() {
		id, name := strings.TrimSpace(b.ID), strings.TrimSpace(b.Name)
		names, answered := results[id]
		if !answered || name == "" || len(names) > 0 && !slices.Contains(names, name) {
			return withoutCalls(m), replaced
		}
	}
	return *m, kept
}

func withoutCalls(m *message.Message) message.Message {
	out := *m
	out.Content = []message.Block{}
	if !m.Failed() {
		out.Content = append(out.Content, message.Text(OmittedCallsText))
	}
	return withoutForm(out)
}

// resultsAfter maps the call ids of the results before the next assistant message to the
// tool names that they give.
func resultsAfter(ms []message.Message, i int) map[string][]string {
	out := make(map[string][]string)
	for i++; i < len(ms) && ms[i].Role != message.RoleAssistant; i++ {
		id := strings.TrimSpace(ms[i].ToolCallID)
		if ms[i].Role != message.RoleToolResult || id == "" {
			continue
		}
		names := out[id]
		if name := strings.TrimSpace(ms[i].ToolName); name != "" {
			names = append(names, name)
		}
		out[id] = names
	}
	return out
}
