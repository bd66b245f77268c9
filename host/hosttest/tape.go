package hosttest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-contextengine/contextengine/message"
)

// A Tape records what happens, in order. The zero Tape is empty and ready, and a nil one
// records nothing. Safe for concurrent use.
type Tape struct {
	mu    sync.Mutex
	lines []string
}

// Add appends a line.
func (t *Tape) Add(format string, args ...any) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

// Take returns what was recorded since the last time.
func (t *Tape) Take() []string {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.lines
	t.lines = nil
	return out
}

// Said shows a message in a few characters: role, calls, and its text or how long that
// is.
func Said(m message.Message) string {
	role := map[message.Role]string{
		message.RoleUser: "u", message.RoleAssistant: "a", message.RoleToolResult: "r",
		message.RoleCustom: "c", message.RoleCompactionSummary: "s",
	}[m.Role]
	text := m.Text() + m.Summary
	for call := range m.ToolCalls() {
		text += "@" + call.ID
	}
	if m.ToolCallID != "" {
		text = m.ToolCallID + "=" + text
	}
	text = short(text)
	if m.IsError {
		role += "!"
	}
	return role + ":" + text
}

// SaidAll shows a list of messages.
func SaidAll(ms []message.Message) string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = Said(m)
	}
	return "[" + strings.Join(out, " | ") + "]"
}

func short(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("%s…%d", text[:12], len(text))
	}
	return text
}
