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
)

// Compat reproduces the compaction estimate of OpenClaw 2026.7.1: UTF-16 code units
// of what it counts in a message, divided by four, rounded up once per message. It
// serves parity; no decision uses it by default, because it counts East Asian text
// at a quarter of its cost.
func Compat() Estimator { return compat{} }

// CompatMessages reproduces the reference's planning total: the sum of [Compat] over a
// list without its runtime-context messages, which never reach a summariser.
func CompatMessages(ms []message.Message) int {
	n := 0
	for i := range ms {
		if !message.IsRuntimeContext(ms[i]) {
			n += compat{}.Message(ms[i])
		}
	}
	return n
}

type compat struct{}

func (compat) Text(s string) int { return ceilDiv(utf16Len(s), compatCharsPerToken) }

func (compat) Schema(tool json.RawMessage) int {
	return ceilDiv(jsonWidth(tool).units, compatCharsPerToken)
}

func (compat) Message(m message.Message) int {
	return ceilDiv(compatChars(&m), compatCharsPerToken)
}

func compatChars(m *message.Message) int {
	n := 0
	if mark := m.Extra["content"]; len(m.Content) == 1 && len(mark) > 0 && mark[0] == '{' {
		return 0 // the reference looks for a list and finds none
	}
	switch m.Role {
	case message.RoleUser, message.RoleToolResult, message.RoleCustom:
		for i := range m.Content {
			n += compatInputBlock(&m.Content[i])
		}
	case message.RoleAssistant:
		if isBareString(m) {
			return 0 // the reference looks for blocks and finds none
		}
		for i := range m.Content {
			n += compatAssistantBlock(&m.Content[i])
		}
	case message.RoleBashExecution:
		n = utf16Len(m.ExtraString("command")) + utf16Len(m.ExtraString("output"))
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
		return utf16Len(b.ExtraString("content"))
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
	if len(b.Arguments) > 0 {
		return b.Arguments
	}
	if raw := b.Extra["arguments"]; len(raw) > 0 {
		return raw
	}
	return nil
}

// Block types of other providers that the reference knows.
const (
	toolResultSnake message.BlockType = "tool_result"
	toolUseSnake    message.BlockType = "tool_use"
)

// isBareString reports content that JSON had as a string, not as a list of blocks:
// package message leaves the mark of a string for it.
func isBareString(m *message.Message) bool {
	mark := m.Extra["content"]
	return len(m.Content) == 1 && m.Content[0].Type == message.BlockText && len(mark) > 0 && mark[0] == '"'
}

// CompatContext reproduces the usage-anchored estimate of OpenClaw 2026.7.1 with
// [Compat]. Unlike [Anchored] it takes a report of zeros for an empty context and
// knows no compaction. It serves parity.
func CompatContext(ms []message.Message) ContextEstimate {
	for i := len(ms) - 1; i >= 0; i-- {
		m := &ms[i]
		if m.Role != message.RoleAssistant || m.Failed() || m.Usage == nil || contextState(m.Usage) == contextUnavailable {
			continue
		}
		used, trailing := CompatUsage(*m.Usage), Messages(Compat(), ms[i+1:])
		return ContextEstimate{Tokens: sum(used, trailing), Usage: used, Trailing: trailing, Anchor: i}
	}
	n := Messages(Compat(), ms)
	return ContextEstimate{Tokens: n, Trailing: n, Anchor: -1}
}

// CompatUsage reproduces how OpenClaw 2026.7.1 reads a context's size from a report:
// the measured context where the provider gave one, else the total, else the sum.
func CompatUsage(u message.Usage) int {
	if contextState(&u) == contextAvailable {
		return measuredContext(&u)
	}
	if u.Total != 0 {
		return u.Total
	}
	return sum(u.Input, u.Output, u.CacheRead, u.CacheWrite)
}
