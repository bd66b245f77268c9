package prune_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
)

// A listGen draws lists in which every call has its one result behind it, as a log in
// order gives them, with keys and times.
type listGen struct {
	units int
	// plain leaves out what providers refuse: blank texts, silent replies, failures,
	// reasoning and images.
	plain bool
	// rich adds images and signed reasoning to a plain list.
	rich bool
	// resultSize is the longest tool result in characters. 0: 60.
	resultSize int
}

var pieces = []string{"alpha ", "beta\n", "done", "error: x", "}", "中文字", "😀", "total 3", strings.Repeat("x", 40), "    ", "0123456789", "é"}

// drawText returns a text of about n characters, rarely more than longest: two pieces in
// turn, because drawing every piece is slow.
func drawText(t *rapid.T, longest int) string {
	n := rapid.IntRange(1, max(1, longest)).Draw(t, "length")
	some := rapid.SampledFrom(pieces).Draw(t, "piece") + rapid.SampledFrom(pieces).Draw(t, "piece")
	return strings.Repeat(some, 1+n/len(some))
}

// draw returns a list of up to units exchanges. It begins with a user message.
func (g listGen) draw(t *rapid.T) []message.Message {
	var ms []message.Message
	calls := 0
	for range rapid.IntRange(0, g.units).Draw(t, "units") {
		ms = append(ms, g.unit(t, &calls, len(ms) == 0 || g.plain && ms[len(ms)-1].Role == message.RoleAssistant)...)
	}
	for i := range ms {
		ms[i].Key = fmt.Sprintf("k%03d", i)
		ms[i].Timestamp = time.UnixMilli(int64(1_000_000 + i*1000))
	}
	return ms
}

func (g listGen) unit(t *rapid.T, calls *int, wantUser bool) []message.Message {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case wantUser || kind < 3 && !g.plain:
		return []message.Message{g.user(t)}
	case kind < 7:
		return g.round(t, calls)
	case kind < 9 || g.plain:
		return []message.Message{g.answer(t)}
	default:
		return []message.Message{rapid.SampledFrom([]message.Message{
			message.Custom("note", message.Text("by the way")), message.BranchSummary("tried and left", "e1", time.Time{}),
			message.CompactionSummary("so far", 100, time.UnixMilli(1)),
		}).Draw(t, "other")}
	}
}

func (g listGen) user(t *rapid.T) message.Message {
	m := message.User("go on " + drawText(t, 60))
	if g.rich && rapid.Bool().Draw(t, "image") {
		m.Content = append(m.Content, message.Image("iVBORw0KGgoAAAA", "image/png"))
	}
	if g.plain {
		return m
	}
	switch rapid.IntRange(0, 5).Draw(t, "user") {
	case 0:
		m.Content = append(m.Content, message.Image("iVBORw0KGgoAAAA", "image/png"))
	case 1:
		m.Content = append(m.Content, message.Text("[media attached: a.png]"))
	case 2:
		m = message.User(" ")
	}
	return m
}

func (g listGen) answer(t *rapid.T) message.Message {
	m := message.Assistant(message.Text("well, " + drawText(t, 60)))
	m.StopReason = message.StopEnd
	if g.rich && rapid.Bool().Draw(t, "thinks") {
		m.Content = append([]message.Block{message.Thinking("hm", "c2ln")}, m.Content...)
	}
	if g.plain {
		return m
	}
	switch rapid.IntRange(0, 9).Draw(t, "answer") {
	case 0:
		m = message.Assistant(message.Text(message.SilentReply))
	case 1:
		m = message.Assistant(message.Text(message.HeartbeatReply))
	case 2:
		m.Content, m.StopReason = nil, message.StopError
	case 3:
		m.Content, m.StopReason = []message.Block{message.Thinking("hm", "")}, message.StopLength
	case 4:
		m.Content = append([]message.Block{message.Thinking("hm", "c2ln")}, m.Content...)
		m.Model = rapid.SampledFrom([]string{"", "claude-3-5-sonnet", "gpt-9"}).Draw(t, "model")
	case 5:
		m.Usage = &message.Usage{Input: 5, Total: 5}
	}
	return m
}

// round is an assistant message with calls and their results.
func (g listGen) round(t *rapid.T, calls *int) []message.Message {
	n := rapid.IntRange(1, 3).Draw(t, "calls")
	ask := message.Assistant()
	ask.StopReason = message.StopToolUse
	if rapid.Bool().Draw(t, "says") {
		ask.Content = append(ask.Content, message.Text("let me see"))
	}
	if g.rich && rapid.Bool().Draw(t, "thinks") {
		ask.Content = append(ask.Content, message.Thinking("hm", "c2ln"))
	}
	if !g.plain {
		if rapid.IntRange(0, 3).Draw(t, "thinks") == 0 {
			ask.Content = append(ask.Content, message.Thinking("hm", rapid.SampledFrom([]string{"", "c2ln"}).Draw(t, "signature")))
		}
		if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
			ask.StopReason = message.StopAborted
		}
	}
	out := []message.Message{ask}
	for range n {
		id := rapid.SampledFrom([]string{"call_%d", "toolu_%d", "functions.read:%d", "call-%d|fc_x"}).Draw(t, "id")
		id = fmt.Sprintf(id, *calls)
		if !g.plain && rapid.IntRange(0, 4).Draw(t, "again") == 0 {
			id = "call_again" + string(rune('a'+*calls%3))
		}
		*calls++
		out[0].Content = append(out[0].Content, message.ToolCall(id, "read", json.RawMessage(`{"path":"a"}`)))
		out = append(out, g.result(t, id))
	}
	return dedupe(out)
}

// dedupe keeps one call of each id in a round.
func dedupe(round []message.Message) []message.Message {
	seen := map[string]bool{}
	content, out := []message.Block{}, round[:1:1]
	k := 1
	for _, b := range round[0].Content {
		if !b.IsCall() {
			content = append(content, b)
			continue
		}
		if !seen[b.ID] {
			seen[b.ID] = true
			content = append(content, b)
			out = append(out, round[k])
		}
		k++
	}
	out[0].Content = content
	return out
}

func (g listGen) result(t *rapid.T, id string) message.Message {
	longest := max(60, rapid.SampledFrom([]int{60, g.resultSize}).Draw(t, "size"))
	m := message.ToolResult(id, "read", message.Text("out "+drawText(t, longest)))
	if g.plain {
		return m
	}
	switch rapid.IntRange(0, 7).Draw(t, "result") {
	case 0:
		m.Content = append(m.Content, message.Image("R0lGODlhAAAA", "image/gif"))
	case 1:
		m.Content = append(m.Content, message.Text("and "+drawText(t, longest)))
	case 2:
		m.Content = []message.Block{message.Text(" ")}
	case 3:
		m.IsError = true
		m = m.WithExtra("details", json.RawMessage(`{"exitCode":1}`))
	}
	return m
}
