package prune

import (
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// A quietPass removes turns in which a heartbeat asked and the model had nothing to say:
// what the model answered is silence or the heartbeat reply alone. Only turns that another
// has followed go, so nothing changes within a turn.
type quietPass struct {
	left leftPass
}

// Apply implements Pass.
func (p *quietPass) Apply(ms []message.Message, _ Input) []message.Message {
	last := max(0, lastTurn(ms))
	start, end, quiet := 0, 0, false
	return p.left.run(ms, "", last, func(i int, m *message.Message) (message.Message, verdict) {
		if i >= last {
			return *m, kept
		}
		if i >= end || i < start {
			start, end = turnAround(ms, i)
			quiet = isQuiet(ms, start, end)
		}
		if quiet {
			return *m, dropped
		}
		return *m, kept
	})
}

// startsTurn reports whether the model sees m as something that it was told.
func startsTurn(m *message.Message) bool {
	return m.Role != message.RoleAssistant && m.Role != message.RoleToolResult
}

func lastTurn(ms []message.Message) int {
	i := len(ms) - 1
	for i >= 0 && !startsTurn(&ms[i]) {
		i--
	}
	return i
}

// turnAround is the run from the start of the turn of ms[i] to that of the next.
func turnAround(ms []message.Message, i int) (start, end int) {
	for start = i; start > 0 && !startsTurn(&ms[start]); start-- {
	}
	for end = i + 1; end < len(ms) && !startsTurn(&ms[end]); end++ {
	}
	return start, end
}

func isQuiet(ms []message.Message, start, end int) bool {
	if ms[start].Role != message.RoleUser && ms[start].Role != message.RoleCustom {
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
