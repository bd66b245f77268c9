package host

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-contextengine/contextengine/message"
)

// loopWindow is how many tool calls are watched after a compaction (OpenClaw 2026.7.1).
const loopWindow = 3

// A LoopError ends a turn that does the same over and over after a compaction: the
// summary lost what the calls had found, so that they are made again, and fill the
// context again.
type LoopError struct {
	Tool  string
	Times int // identical calls with identical results, one after the other
}

// Error names the tool.
func (e *LoopError) Error() string {
	return fmt.Sprintf("tool %q was called %d times in the same way with the same result after a compaction", e.Tool, e.Times)
}

// A loopGuard watches the first tool calls after a compaction.
type loopGuard struct {
	left int // calls to watch yet
	same int
	seen [sha256.Size]byte
}

func (g *loopGuard) arm() { *g = loopGuard{left: loopWindow} }

// watch looks at what a turn appended: own, of which the last n are new.
func (g *loopGuard) watch(own []message.Message, n int) error {
	for i := len(own) - n; i < len(own) && g.left > 0; i++ {
		m := own[i]
		if m.Role != message.RoleToolResult {
			continue
		}
		g.left--
		call := callOf(own[:i], m.ToolCallID)
		now := sha256.Sum256(fmt.Appendf(nil, "%q %s %t %q", call.Name, call.Arguments, m.IsError, m.Content))
		if g.same > 0 && now != g.seen {
			g.left = 0
			return nil
		}
		g.seen = now
		if g.same++; g.same == loopWindow {
			return &LoopError{Tool: m.ToolName, Times: loopWindow}
		}
	}
	return nil
}

// callOf finds the call of a result.
func callOf(ms []message.Message, id string) message.Block {
	for i := len(ms) - 1; i >= 0; i-- {
		for call := range ms[i].ToolCalls() {
			if call.ID == id {
				return call
			}
		}
	}
	return message.Block{}
}
