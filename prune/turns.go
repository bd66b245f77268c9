package prune

import "github.com/go-contextengine/contextengine/message"

// startsTurn reports whether the model sees m as something that it was told.
func startsTurn(m *message.Message) bool {
	switch m.Role {
	case message.RoleUser:
		return true
	case message.RoleAssistant, message.RoleToolResult:
		return false
	}
	return len(message.ForModel([]message.Message{*m})) > 0
}

// lastTurn is where the last turn starts, -1 when none does.
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

// lastAssistant is the index of the last assistant message, -1 when there is none.
func lastAssistant(ms []message.Message) int {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == message.RoleAssistant {
			return i
		}
	}
	return -1
}
