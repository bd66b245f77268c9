package tokens

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/message"
)

// Constants of the compaction estimate of OpenClaw 2026.7.1.
const (
	compatCharsPerToken      = 4
	compatImageChars         = 4800
	compatUndefinedArguments = 9 // the word JavaScript prints for a missing value
	// compatRuntimeContext is the custom type of messages left out of list totals.
	compatRuntimeContext = "openclaw.runtime-context"
)

// Compat reproduces the compaction estimate of OpenClaw 2026.7.1: UTF-16 code units
// of what it counts in a message, divided by four, rounded up once per message. It
// serves parity; no decision uses it by default, because it counts East Asian text
// at a quarter of its cost.
//
// Its Messages method, which [Messages] uses, leaves out runtime-context messages,
// as the reference's planning totals do.
func Compat() Estimator { return compat{} }

type compat struct{}

func (compat) Text(s string) int { return ceilDiv(utf16Len(s), compatCharsPerToken) }

func (compat) Schema(tool json.RawMessage) int {
	return ceilDiv(jsonWidth(tool).units, compatCharsPerToken)
}

func (compat) Message(m message.Message) int {
	return ceilDiv(compatChars(&m), compatCharsPerToken)
}

func (c compat) Messages(ms []message.Message) int {
	n := 0
	for i := range ms {
		if !isRuntimeContext(&ms[i]) {
			n += c.Message(ms[i])
		}
	}
	return n
}

func isRuntimeContext(m *message.Message) bool {
	return m.Role == message.RoleCustom && extraString(m.Extra, "customType") == compatRuntimeContext
}

func compatChars(m *message.Message) int {
	n := 0
	switch m.Role {
	case message.RoleUser, message.RoleToolResult, message.RoleCustom:
		for i := range m.Content {
			n += compatInputBlock(&m.Content[i])
		}
	case message.RoleAssistant:
		for i := range m.Content {
			n += compatAssistantBlock(&m.Content[i])
		}
	case message.RoleBashExecution:
		n = utf16Len(extraString(m.Extra, "command")) + utf16Len(extraString(m.Extra, "output"))
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		n = utf16Len(m.Summary)
	}
	return n
}

// compatInputBlock counts a block of a user, tool-result or custom message.
func compatInputBlock(b *message.Block) int {
	switch b.Type {
	case message.BlockText:
		return utf16Len(b.Text)
	case message.BlockImage:
		return compatImageChars
	case message.BlockToolResult, toolResultSnake:
		if b.Text != "" {
			return utf16Len(b.Text)
		}
		return utf16Len(extraString(b.Extra, "content"))
	}
	return 0
}

func compatAssistantBlock(b *message.Block) int {
	switch b.Type {
	case message.BlockText, message.BlockThinking:
		return utf16Len(b.Text)
	case message.BlockToolCall:
		n := utf16Len(b.Name)
		if args := argumentsOf(b); args != nil {
			return n + jsonWidth(args).units
		}
		return n + compatUndefinedArguments
	}
	return 0
}

// argumentsOf returns a call's arguments also where decoding left them among the
// unknown fields, because their JSON kind was unexpected; nil when there are none.
func argumentsOf(b *message.Block) json.RawMessage {
	if b.Arguments != nil {
		return b.Arguments
	}
	return b.Extra["arguments"]
}

// Block types of other providers that the reference knows.
const (
	toolResultSnake message.BlockType = "tool_result"
	toolUseSnake    message.BlockType = "tool_use"
)

// extraString returns an unknown field that is a JSON string, else "".
func extraString(extra map[string]json.RawMessage, key string) string {
	raw, ok := extra[key]
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
