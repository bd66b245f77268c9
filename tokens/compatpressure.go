package tokens

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// Constants of the pre-prompt estimate of OpenClaw 2026.7.1, in tokens unless the
// name says otherwise.
const (
	pressureMessage      = 12
	pressureBlock        = 6
	pressureImage        = 2000
	pressureTextChars    = 4 // characters per token of text
	pressureJSONChars    = 3 // characters per token of JSON and identifiers
	pressureResultUnits  = 2 // UTF-16 units per token of a tool result
	pressureSafetyFactor = 1.2
)

// CompatPressure reproduces the pre-prompt estimate of OpenClaw 2026.7.1: text by a
// length that weighs East Asian characters as one token each, tool results at two
// characters a token, and a fixed cost per message and block. It serves parity; no
// decision uses it by default. The total of a request is [CompatBoundary].
func CompatPressure() Estimator { return compatPressure{} }

// CompatBoundary reproduces the reference's total before a request: history, system
// prompt (nothing when blank) and prompt, with a safety factor of 1.2.
func CompatBoundary(system, prompt string, history []message.Message) int {
	p := compatPressure{}
	n := Messages(p, history) + pressureMessage + p.Text(prompt)
	if strings.TrimSpace(system) != "" {
		n += pressureMessage + p.Text(system)
	}
	return int(math.Ceil(float64(n) * pressureSafetyFactor))
}

type compatPressure struct{}

func (compatPressure) Text(s string) int {
	return ceilDiv(measure(s).weighted, pressureTextChars)
}

func (compatPressure) Schema(tool json.RawMessage) int { return pressureJSON(tool) }

func (p compatPressure) Message(m message.Message) int {
	switch {
	case m.Role == message.RoleBashExecution:
		b := m.Bash()
		if b.Exclude {
			return 0
		}
		return pressureMessage + ceilDiv(bashWidth(b), pressureTextChars)
	case m.Role == message.RoleCompactionSummary:
		return pressureMessage + ceilDiv(measure(m.Summary).weighted+compactionWrapperChars, pressureTextChars)
	case m.Role == message.RoleBranchSummary:
		return pressureMessage + ceilDiv(measure(m.Summary).weighted+branchWrapperChars, pressureTextChars)
	}
	result := m.Role == message.RoleToolResult || m.Role == "tool" || m.ExtraString("type") == "toolResult"
	n := pressureMessage + p.content(&m, result)
	switch {
	case result:
		n += pressureIdentifier(m.ToolName)
	case m.Role == message.RoleAssistant:
		n += p.extraCalls(m.Extra["toolCalls"]) + p.extraCalls(m.Extra["tool_calls"])
	}
	return n
}

func (p compatPressure) content(m *message.Message, result bool) int {
	mark := m.Extra["content"]
	switch {
	case isBareString(m):
		return p.text(m.Content[0].Text, result)
	case len(m.Content) == 0 && len(mark) > 0 && mark[0] != '[':
		return pressureJSON(mark) // null, a number: nothing that has blocks
	case len(m.Content) == 1 && len(mark) > 0 && mark[0] == '{':
		return ceilDiv(blockWidth(&m.Content[0]).weighted, pressureJSONChars)
	}
	n := 0
	for i := range m.Content {
		n += p.block(&m.Content[i], m.Role, result)
	}
	return n
}

func (p compatPressure) text(s string, result bool) int { return p.cost(measure(s), result) }

// cost turns a length into tokens: a tool result counts at least two units a token.
func (p compatPressure) cost(w width, result bool) int {
	n := ceilDiv(w.weighted, pressureTextChars)
	if result {
		n = max(n, ceilDiv(w.units, pressureResultUnits))
	}
	return n
}

func (p compatPressure) block(b *message.Block, role message.Role, result bool) int {
	switch b.Type {
	case message.BlockText, message.BlockThinking:
		return pressureBlock + p.text(b.Text, result)
	case message.BlockImage:
		return pressureImage
	case message.BlockToolCall, toolUseSnake:
		if role == message.RoleAssistant {
			return pressureCall(b.Name, argumentsOf(b), b.Extra["input"], b.Extra["args"])
		}
	}
	return pressureBlock + p.cost(blockWidth(b), result)
}

// pressureUnserialisable is the length that stands for JSON that cannot be written.
const pressureUnserialisable = 256 * pressureTextChars

func blockWidth(b *message.Block) width {
	raw, err := json.Marshal(b)
	if err != nil {
		return width{pressureUnserialisable, pressureUnserialisable}
	}
	return jsonWidth(raw)
}

// extraCalls counts calls that another provider keeps beside the content.
func (p compatPressure) extraCalls(raw json.RawMessage) int {
	var calls []struct {
		Name                   string
		Arguments, Input, Args json.RawMessage
	}
	if len(raw) == 0 || json.Unmarshal(raw, &calls) != nil {
		return 0
	}
	n := 0
	for _, c := range calls {
		n += pressureCall(c.Name, c.Arguments, c.Input, c.Args)
	}
	return n
}

// pressureCall counts a call with the first of several fields that holds arguments.
func pressureCall(name string, arguments ...json.RawMessage) int {
	n := pressureBlock + pressureIdentifier(name)
	for _, raw := range arguments {
		if len(raw) > 0 && string(raw) != "null" {
			return n + pressureJSON(raw)
		}
	}
	return n + pressureJSON(json.RawMessage("{}"))
}

func pressureIdentifier(name string) int {
	return ceilDiv(measure(name).weighted, pressureJSONChars)
}

func pressureJSON(raw json.RawMessage) int {
	return ceilDiv(jsonWidth(raw).weighted, pressureJSONChars)
}
