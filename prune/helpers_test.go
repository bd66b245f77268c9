package prune_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func hygiene(policy prune.Policy, in prune.Input, ms ...message.Message) []message.Message {
	return prune.Apply(ms, in, prune.Hygiene(policy)...)
}

func stopped(reason string, blocks ...message.Block) message.Message {
	m := message.Assistant(blocks...)
	m.StopReason = reason
	return m
}

func calling(id string) message.Message {
	return stopped(message.StopToolUse, message.ToolCall(id, "read", nil))
}

func answering(id, text string) message.Message {
	return message.ToolResult(id, "read", message.Text(text))
}

func roles(ms []message.Message) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteByte(string(m.Role)[0])
	}
	return b.String()
}

// turns are n questions with answers.
func turns(n int) []message.Message {
	var ms []message.Message
	for range n {
		ms = append(ms, message.User("q"), message.Assistant(message.Text("a")))
	}
	return ms
}

// session is a user message, n calls with results of size characters, and three answers.
func session(n, size int) []message.Message {
	ms := []message.Message{message.User("start")}
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		ms = append(ms,
			message.Assistant(message.ToolCall(id, "exec", nil)),
			message.ToolResult(id, "exec", message.Text(strings.Repeat("r", size))))
	}
	for _, s := range []string{"one", "two", "three"} {
		ms = append(ms, message.Assistant(message.Text(s)))
	}
	for i := range ms {
		ms[i].Key = fmt.Sprintf("k%02d", i)
	}
	return ms
}

var start = time.UnixMilli(1_780_000_000_000)

// warm is a pass whose last request succeeded at start.
func warm(opts *prune.CacheTTLOptions, in prune.Input) prune.Stateful {
	p := prune.CacheTTL(opts)
	p.Apply(nil, in)
	p.Observe(message.Usage{}, start)
	return p
}

// exchange is a question, a call and its result.
func exchange(n int, result string) []message.Message {
	id := fmt.Sprintf("c%d", n)
	ms := []message.Message{
		message.User("look"),
		message.Assistant(message.ToolCall(id, "read", nil)),
		message.ToolResult(id, "read", message.Text(result)),
	}
	for i := range ms {
		ms[i].Key = fmt.Sprintf("e%d-%d", n, i)
	}
	return ms
}

func exchanges(n int, result string) []message.Message {
	var ms []message.Message
	for i := range n {
		ms = append(ms, exchange(i, result)...)
	}
	return ms
}

func testInput() prune.Input {
	return prune.Input{Window: 2_000, Now: time.UnixMilli(1_790_000_000_000)}
}

func sameList(a, b []message.Message) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func equalLists(a, b []message.Message) bool {
	return slices.EqualFunc(a, b, func(x, y message.Message) bool { return x.Key == y.Key && message.Equal(x, y) })
}

func paired(ms []message.Message) bool {
	for u := range message.Units(ms) {
		if u.Open {
			return false
		}
	}
	_, r := message.RepairPairs(ms, nil)
	return r == message.Repair{}
}

func texts(ms []message.Message) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = string(m.Role) + " " + m.Key + " " + m.StopReason + ": " + m.Text()
		for b := range m.ToolCalls() {
			out[i] += " call " + b.ID
		}
	}
	return out
}

func join(ms []message.Message) string { return strings.Join(texts(ms), "\n") }

func requireEqualLists(t *testing.T, want, got []message.Message, about string) {
	t.Helper()
	if !equalLists(want, got) {
		require.Fail(t, about, "%s", cmp.Diff(want, got))
	}
}
