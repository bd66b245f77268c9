package message_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// list makes messages of a shorthand, one word each, with rising timestamps:
//
//	u         user            a         assistant of text only
//	s         compaction      x         custom
//	a:c1,c2   calls c1 and c2 a!:c1     the same, broken off
//	r:c1      result          r?:c1     stand-in for a missing result
//	b:c1,c2   user message of result blocks; b+:c1 with text behind them
//	B:c1      assistant message of result blocks; B+:c1 with text
//
// An id can be followed by @ and the tool's name, which is "tool" for calls and result
// messages and none for result blocks otherwise. "_" is a space. "~" before an id says that
// it is only under tool_use_id, "^" that so it is in a block of the type tool_result, and
// "=" that it is a result block among the calls of "a:".
func list(words string) []message.Message {
	var ms []message.Message
	for i, word := range strings.Fields(words) {
		kind, ids, isList := strings.Cut(word, ":")
		var tokens []string
		if isList {
			tokens = strings.Split(ids, ",")
		}
		m := ofKind(kind, tokens)
		m.Timestamp = time.UnixMilli(int64(i + 1)).UTC()
		m.Key = fmt.Sprint("k", i)
		ms = append(ms, m)
	}
	return ms
}

func ofKind(kind string, ids []string) message.Message {
	var calls, results []message.Block
	for _, id := range ids {
		if own, ok := strings.CutPrefix(id, "="); ok {
			calls = append(calls, resultBlock(own))
			continue
		}
		call, name := idAndName(id, "tool")
		calls = append(calls, message.ToolCall(call, name, nil))
		results = append(results, resultBlock(id))
	}
	more := message.Text("more")
	switch kind {
	case "u":
		return message.User("hi")
	case "s":
		return message.CompactionSummary("sum", 1, time.Time{})
	case "x":
		return message.Custom("x", message.Text("note"))
	case "a!":
		m := message.Assistant(calls...)
		m.StopReason = message.StopError
		return m
	case "a":
		if ids == nil {
			return message.Assistant(message.Text("yes"))
		}
		return message.Assistant(calls...)
	case "r":
		alias, isAlias := strings.CutPrefix(ids[0], "~")
		id, name := idAndName(alias, "tool")
		if isAlias {
			return message.ToolResult("", name, message.Text("result "+ids[0])).WithExtra("tool_use_id", quoted(id))
		}
		return message.ToolResult(id, name, message.Text("result "+ids[0]))
	case "r?":
		id, name := idAndName(ids[0], "tool")
		m := message.ToolResult(id, name, message.Text(message.DefaultMissingText))
		m.IsError = true
		return m.WithExtra("details", json.RawMessage(`{"openclawSyntheticMissingToolResult":true}`))
	case "b":
		return message.Message{Role: message.RoleUser, Content: results}
	case "b+":
		return message.Message{Role: message.RoleUser, Content: append(results, more)}
	case "B":
		return message.Assistant(results...)
	case "B+":
		return message.Assistant(append(results, more)...)
	}
	panic("unknown word " + kind)
}

func resultBlock(id string) message.Block {
	b := message.Block{Type: message.BlockToolResult, Text: "result " + id}
	kind := id[:min(1, len(id))]
	b.ID, b.Name = idAndName(strings.TrimLeft(id, "~^"), "")
	if kind == "~" || kind == "^" {
		b.Extra = map[string]json.RawMessage{"tool_use_id": quoted(b.ID)}
		b.ID = ""
	}
	if kind == "^" {
		b.Type = "tool_result"
	}
	return b
}

func idAndName(s, name string) (string, string) {
	s = strings.ReplaceAll(s, "_", " ")
	if id, other, ok := strings.Cut(s, "@"); ok {
		return id, other
	}
	return s, name
}

func quoted(s string) json.RawMessage { return json.RawMessage(`"` + s + `"`) }

// words is the inverse of list. A mixed message that lost its results is "t" or "T".
func words(ms []message.Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, word(m))
	}
	return strings.Join(out, " ")
}

func word(m message.Message) string {
	var calls, results []string
	more, called := "", false
	for _, b := range m.Content {
		switch {
		case b.IsCall():
			called = true
			calls = append(calls, token(b.ID, b.Name, "tool"))
		case isResultBlock(b):
			results = append(results, blockToken(b))
			calls = append(calls, "="+blockToken(b))
		case b.Text == "more":
			more = "+"
		}
	}
	user := m.Role == message.RoleUser
	switch {
	case m.Role == message.RoleToolResult && message.IsMissingResult(m):
		return "r?:" + token(m.ToolCallID, m.ToolName, "tool")
	case m.Role == message.RoleToolResult:
		return "r:" + token(m.ToolCallID, m.ToolName, "tool")
	case m.Role == message.RoleCompactionSummary:
		return "s"
	case m.Role == message.RoleCustom:
		return "x"
	case called && m.Failed():
		return "a!:" + strings.Join(calls, ",")
	case called:
		return "a:" + strings.Join(calls, ",")
	case len(results) > 0 && user:
		return "b" + more + ":" + strings.Join(results, ",")
	case len(results) > 0:
		return "B" + more + ":" + strings.Join(results, ",")
	case more != "" && user:
		return "t"
	case more != "":
		return "T"
	case user:
		return "u"
	default:
		return "a"
	}
}

func isResultBlock(b message.Block) bool {
	return b.Type == message.BlockToolResult || b.Type == "tool_result"
}

func blockToken(b message.Block) string {
	kind := ""
	switch id := strings.Trim(string(b.Extra["tool_use_id"]), `"`); {
	case b.Type == "tool_result":
		kind, b.ID = "^", id
	case b.ID == "" && id != "":
		kind, b.ID = "~", id
	}
	return kind + token(b.ID, b.Name, "")
}

func token(id, name, usual string) string {
	if name != usual {
		id += "@" + name
	}
	return strings.ReplaceAll(id, " ", "_")
}
