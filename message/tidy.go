package message

import "strings"

// tidy is the state of a list in which every result stands where it belongs.
type tidy uint8

const (
	untidy     tidy = iota // a look at the details is needed
	tidyOpen               // a group before the last unit lacks results
	tidyTail               // only the last unit lacks results
	tidyClosed             // every call has its result
)

// inspect recognises the lists that need no work, which is nearly all of them, without
// allocating. In doubt it says untidy.
func inspect(ms []Message) tidy {
	state := tidyClosed
	for i := 0; i < len(ms); {
		if state == tidyTail {
			state = tidyOpen
		}
		calls, plain := countCalls(&ms[i])
		if !plain || ms[i].Role == RoleToolResult {
			return untidy
		}
		end, answered := runOf(ms, i, calls)
		if answered < calls && state == tidyClosed {
			state = tidyTail
		}
		i = end
	}
	return state
}

// maxFastCalls is how many calls of one message inspect follows: one bit each.
const maxFastCalls = 64

// countCalls counts the calls of an assistant message. plain is false for a message with
// result blocks, which inspect does not follow.
func countCalls(m *Message) (calls int, plain bool) {
	for i := range m.Content {
		switch m.Content[i].Type {
		case BlockToolCall, blockToolUse, blockFunctionCall:
			if m.Role == RoleAssistant {
				calls++
			}
		case BlockToolResult, blockToolResultSnake:
			return calls, m.Role == RoleToolResult
		}
	}
	return calls, true
}

// runOf follows the results behind ms[i], which has the given number of calls, up to one
// that is not exactly the first answer to one of these calls.
func runOf(ms []Message, i, calls int) (end, answered int) {
	var seen uint64
	end = i + 1
	for ; end < len(ms) && ms[end].Role == RoleToolResult; end++ {
		r := &ms[end]
		if calls == 0 || calls > maxFastCalls || isBlank(r.ToolCallID) || r.ToolName == "" || isPadded(r.ToolName) {
			return end, answered
		}
		bit := uint64(0)
		for k, mask := 0, uint64(1); k < len(ms[i].Content); k++ {
			b := &ms[i].Content[k]
			if !isCall(b.Type) {
				continue
			}
			if b.ID == r.ToolCallID && seen&mask == 0 {
				bit = mask
				break
			}
			mask <<= 1
		}
		if bit == 0 {
			return end, answered
		}
		seen |= bit
		answered++
	}
	return end, answered
}

func isPadded(s string) bool {
	return strings.TrimSpace(s) != s
}

func isBlank(s string) bool {
	return strings.TrimSpace(s) == ""
}
