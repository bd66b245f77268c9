package prune

import (
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// A quietPass removes turns in which a heartbeat asked and the model had nothing to say:
// what the model answered is silence or the heartbeat reply alone. Only turns that a later
// user message has closed go, so nothing changes within a turn.
type quietPass struct {
	left leftPass
}

// Apply implements Pass.
func (p *quietPass) Apply(ms []message.Message, _ Input) []message.Message {
	last := max(0, lastUser(ms))
	start, end, quiet := 0, 0, false
	return p.left.run(ms, "", last, func(i int, m *message.Message) (message.Message, verdict) {
		if i >= last {
			return *m, kept
		}
		if i >= end || i < start {
			start, end = turnAround(ms, i)
			quiet = isQuiet(ms, start, end)
		}
		if quiet && (m.Role == message.RoleUser || m.Role == message.RoleAssistant || m.Role == message.RoleToolResult) {
			return *m, dropped
		}
		return *m, kept
	})
}

// turnAround is the run from the user message at or before i to the next one.
func turnAround(ms []message.Message, i int) (start, end int) {
	for start = i; start > 0 && ms[start].Role != message.RoleUser; start-- {
	}
	for end = i + 1; end < len(ms) && ms[end].Role != message.RoleUser; end++ {
	}
	return start, end
}

func isQuiet(ms []message.Message, start, end int) bool {
	if ms[start].Role != message.RoleUser {
		return false
	}
	acknowledged := false
	for i := start; i < end; i++ {
		if ms[i].Role != message.RoleAssistant {
			continue
		}
		if message.IsConversation(ms, i) {
			return false
		}
		acknowledged = acknowledged || strings.Contains(ms[i].Text(), message.HeartbeatReply)
	}
	return acknowledged
}
