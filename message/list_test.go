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
func list(words string) []message.Message {
	var ms []message.Message
	for i, word := range strings.Fields(words) {
		kind, ids, _ := strings.Cut(word, ":")
		m := ofKind(kind, strings.Split(ids, ","))
		m.Timestamp = time.UnixMilli(int64(i + 1)).UTC()
		m.Key = fmt.Sprint("k", i)
		ms = append(ms, m)
	}
	return ms
}

func ofKind(kind string, ids []string) message.Message {
	var calls, results []message.Block
	for _, id := range ids {
		calls = append(calls, message.ToolCall(id, "tool", nil))
		results = append(results, message.Block{Type: message.BlockToolResult, ID: id, Text: "result " + id})
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
		if ids[0] == "" {
			return message.Assistant(message.Text("yes"))
		}
		return message.Assistant(calls...)
	case "r":
		return message.ToolResult(ids[0], "tool", message.Text("result "+ids[0]))
	case "r?":
		m := message.ToolResult(ids[0], "tool", message.Text(message.DefaultMissingText))
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
	more := ""
	for _, b := range m.Content {
		switch {
		case b.IsCall():
			calls = append(calls, b.ID)
		case b.Type == message.BlockToolResult:
			results = append(results, b.ID)
		case b.Text == "more":
			more = "+"
		}
	}
	user := m.Role == message.RoleUser
	switch {
	case m.Role == message.RoleToolResult && message.IsMissingResult(m):
		return "r?:" + m.ToolCallID
	case m.Role == message.RoleToolResult:
		return "r:" + m.ToolCallID
	case m.Role == message.RoleCompactionSummary:
		return "s"
	case m.Role == message.RoleCustom:
		return "x"
	case len(calls) > 0 && m.Failed():
		return "a!:" + strings.Join(calls, ",")
	case len(calls) > 0:
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
