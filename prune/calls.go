package prune

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// maxToolName is the longest tool name that providers take.
const maxToolName = 64

// toolName is what providers take as a tool's name.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_:.-]+$`)

// A CallRepair says what RepairCalls removed.
type CallRepair struct {
	DroppedCalls, DroppedMessages int
}

// RepairCalls removes calls that no provider would take: without arguments or id, with a
// name that is no tool name or, where allowed is not empty, not one of these, and calls
// that the model had not finished. Space around names goes. An assistant message that
// loses all goes too. Results of removed calls are left for message.RepairPairs. It returns
// ms itself when nothing changes.
func RepairCalls(ms []message.Message, allowed []string) ([]message.Message, CallRepair) {
	var done CallRepair
	usable := usableCall(allowed)
	out := rewriteAll(ms, func(_ int, m *message.Message) (message.Message, verdict) {
		next, v := repairCalls(m, usable)
		switch v {
		case dropped:
			done.DroppedMessages++
			done.DroppedCalls += len(m.Content)
		case replaced:
			done.DroppedCalls += len(m.Content) - len(next.Content)
		}
		return next, v
	})
	return out, done
}

func callStep(m *message.Message) (message.Message, verdict) {
	return repairCalls(m, usableCall(nil))
}

func repairCalls(m *message.Message, usable func(b *message.Block) bool) (message.Message, verdict) {
	if m.Role != message.RoleAssistant || !slices.ContainsFunc(m.Content, func(b message.Block) bool {
		return isAnyCall(b.Type) && (!usable(&b) || b.Name != strings.TrimSpace(b.Name))
	}) {
		return *m, kept
	}
	out := *m
	out.Content = nil
	for _, b := range m.Content {
		if isAnyCall(b.Type) {
			if !usable(&b) {
				continue
			}
			b.Name = strings.TrimSpace(b.Name)
		}
		out.Content = append(out.Content, b)
	}
	if len(out.Content) == 0 {
		return *m, dropped
	}
	return withoutForm(out), replaced
}

// argumentsStep makes the arguments of calls an object, as every provider wants them.
func argumentsStep(m *message.Message) (message.Message, verdict) {
	return withCalls(m, func(b message.Block) message.Block {
		if len(b.Arguments) > 0 {
			b.Arguments = objectArguments(b.Arguments)
		}
		return b
	})
}

// keyArguments holds arguments that are no object in one that is.
const keyArguments = "arguments"

// objectArguments returns an object itself, and the one that a string holds. Anything else,
// which the model wrote by mistake and the tool has refused, is shown inside an object.
func objectArguments(raw json.RawMessage) json.RawMessage {
	if isObject(raw) {
		return raw
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && isObject(json.RawMessage(text)) {
		return json.RawMessage(text)
	}
	value := any(raw)
	if !json.Valid(raw) {
		value = string(raw)
	}
	wrapped, err := json.Marshal(map[string]any{keyArguments: value})
	if err != nil {
		return json.RawMessage("{}") // cannot be: a string or valid JSON
	}
	return wrapped
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// withCalls returns m with its calls as change leaves them.
func withCalls(m *message.Message, change func(b message.Block) message.Block) (message.Message, verdict) {
	if m.Role != message.RoleAssistant {
		return *m, kept
	}
	return withBlocks(m, func(b message.Block) (message.Block, bool) {
		if !isAnyCall(b.Type) {
			return b, false
		}
		next := change(b)
		return next, next.Name != b.Name || !bytes.Equal(next.Arguments, b.Arguments)
	})
}

// nameStep writes an underscore where a tool's name has a character that the provider's
// names have not, in calls and their results.
func (p *cleaner) nameStep(m *message.Message) (message.Message, verdict) {
	if !p.plainNames {
		return *m, kept
	}
	if m.Role == message.RoleToolResult {
		out := *m
		if out.ToolName = plainName(m.ToolName); out.ToolName == m.ToolName {
			return *m, kept
		}
		return out, replaced
	}
	return withCalls(m, func(b message.Block) message.Block {
		b.Name = plainName(b.Name)
		return b
	})
}

func plainName(name string) string {
	if !strings.ContainsAny(name, ".:") {
		return name
	}
	return strings.NewReplacer(".", "_", ":", "_").Replace(name)
}

// isAnyCall also knows the spellings of other providers' logs.
func isAnyCall(t message.BlockType) bool {
	switch t {
	case message.BlockToolCall, "toolUse", "functionCall", "tool_use", "tool_call", "function_call":
		return true
	}
	return false
}

func usableCall(allowed []string) func(b *message.Block) bool {
	names := make(map[string]bool)
	for _, name := range normalNames(allowed) {
		names[name] = true
	}
	return func(b *message.Block) bool {
		name := strings.TrimSpace(b.Name)
		return hasArguments(b) && hasID(b) && len(name) <= maxToolName && toolName.MatchString(name) &&
			(len(names) == 0 || names[strings.ToLower(name)]) && !isPartial(b)
	}
}

func hasArguments(b *message.Block) bool {
	if len(b.Arguments) > 0 {
		return !isNull(b.Arguments)
	}
	return !isNull(b.Extra["arguments"]) || !isNull(b.Extra["input"])
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}

func hasID(b *message.Block) bool {
	if !isBlank(b.ID) {
		return true
	}
	for _, key := range []string{"id", "call_id", "callId", "toolCallId", "toolUseId", "tool_call_id", "tool_use_id"} {
		if s := b.ExtraString(key); !isBlank(s) {
			return true
		}
	}
	return false
}

// isPartial recognises a call whose arguments were still streaming in.
func isPartial(b *message.Block) bool {
	_, ok := b.Extra["partialJson"]
	return ok
}
