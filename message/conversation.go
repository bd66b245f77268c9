package message

import (
	"strings"
	"unicode"
)

// Replies by which an assistant says that it has nothing to say, and that all is well when
// a heartbeat asks. Documented by OpenClaw.
const (
	SilentReply    = "NO_REPLY"
	HeartbeatReply = "HEARTBEAT_OK"
)

// anchorDistance is how far before a tool result the message that caused it may be
// (OpenClaw 2026.7.1).
const anchorDistance = 20

// IsConversation reports whether ms[i] is real conversation: what compaction may summarise
// and reports count. Bookkeeping, such as heartbeats and the host's own notes, is not.
//
//   - User, assistant and custom messages are, when a block of theirs says something: text
//     that is neither blank nor one of the silent replies, or a block of another type that
//     is neither a call nor thinking. A custom message that is not displayed is not.
//   - A shell command is, unless it is excluded from the context or blank.
//   - A branch summary is, when its text says something; a compaction summary is not.
//   - A tool result is, when one of the 20 messages before it is conversation that a
//     person or host began: a user, custom, bash or branch summary message.
//   - Unknown roles are not, and neither is an index outside the list.
func IsConversation(ms []Message, i int) bool {
	if i < 0 || i >= len(ms) {
		return false
	}
	switch ms[i].Role {
	case RoleAssistant:
		return saysSomething(&ms[i])
	case RoleToolResult:
		for j := i - 1; j >= max(0, i-anchorDistance); j-- {
			if isAnchor(&ms[j]) {
				return true
			}
		}
		return false
	default:
		return isAnchor(&ms[i])
	}
}

// isAnchor reports whether m is conversation that did not come from the model.
func isAnchor(m *Message) bool {
	switch m.Role {
	case RoleUser:
		return saysSomething(m)
	case RoleCustom:
		return m.Display() && saysSomething(m)
	case RoleBashExecution:
		b := m.Bash()
		return !b.Exclude && (strings.TrimSpace(b.Command) != "" || strings.TrimSpace(b.Output) != "")
	case RoleBranchSummary:
		return isMeaningful(m.Summary)
	}
	return false
}

func saysSomething(m *Message) bool {
	for k := range m.Content {
		switch b := &m.Content[k]; b.Type {
		case BlockText:
			if isMeaningful(b.Text) {
				return true
			}
		case BlockThinking, "reasoning", BlockToolCall, blockToolUse, blockFunctionCall:
		default:
			return true
		}
	}
	return false
}

// isMeaningful reports whether text says more than one of the silent replies. Models dress
// the heartbeat reply up in markup and punctuation.
func isMeaningful(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) > 4*len(HeartbeatReply) {
		return true
	}
	return text != "" && text != SilentReply && withoutMarkup(text) != HeartbeatReply
}

// withoutMarkup strips HTML tags around, and then all but letters and digits at the ends of, a
// short text.
func withoutMarkup(text string) string {
	for strings.HasPrefix(text, "<") {
		_, rest, ok := strings.Cut(text, ">")
		if !ok {
			break
		}
		text = strings.TrimSpace(rest)
	}
	if i := strings.Index(text, "</"); i > 0 {
		text = text[:i]
	}
	return strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
