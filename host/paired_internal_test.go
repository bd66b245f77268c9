package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
)

func drawMessage(t *rapid.T, label string) message.Message {
	id := rapid.SampledFrom([]string{"c1", "c2", "c3"})
	switch rapid.IntRange(0, 9).Draw(t, label) {
	case 0:
		return message.Assistant(message.ToolCall(id.Draw(t, "id"), "read", nil))
	case 1, 2:
		return message.ToolResult(id.Draw(t, "id"), "read", message.Text("data"))
	case 3:
		return message.Assistant(message.Text("yes"))
	case 4:
		return message.Custom("note", message.Text("n"))
	case 5:
		return message.User("")
	case 6:
		return message.ToolResult(id.Draw(t, "id"), "read")
	case 7: // what stands for a result that may come yet
		closed, _ := message.RepairPairs([]message.Message{message.Assistant(message.ToolCall(id.Draw(t, "id"), "read", nil))}, nil)
		return closed[1]
	case 8: // a provider's own form
		m := message.User("and more")
		m.Content = append(m.Content, message.Block{Type: message.BlockToolResult, ID: id.Draw(t, "id"), Text: "data"})
		return m
	}
	return message.User("hello")
}

// What is remembered of a list never changes what is sent.
func TestPairedIsTheWholeCheck(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p paired
		list := make([]message.Message, 0, 40)
		for i := range rapid.IntRange(1, 12).Draw(t, "rounds") {
			for range rapid.IntRange(0, 3).Draw(t, "new") {
				list = append(list, drawMessage(t, fmt.Sprint("kind", i)))
			}
			given := list
			switch rapid.IntRange(0, 4).Draw(t, "form") {
			case 0:
				given = list[:rapid.IntRange(0, len(list)).Draw(t, "cut")]
			case 1:
				given = slices.Clone(list)
			}
			got := slices.Clip(p.ready(slices.Clip(given)))
			want := ready(given)
			if diff := cmp.Diff(saidBy(want), saidBy(got)); diff != "" {
				t.Fatalf("%v\n%s", saidBy(given), diff)
			}
			_, repair := message.RepairPairs(got, nil)
			if repair != (message.Repair{}) {
				t.Fatalf("not a fixed point: %+v", repair)
			}
			if slices.ContainsFunc(got, holdsResults) {
				t.Fatal("a result is left in another message")
			}
		}
	})
}

func saidBy(ms []message.Message) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = fmt.Sprint(m.Role, m.ToolCallID, m.Content, m.IsError)
	}
	return out
}

// An unchanged list, and the beginning of one, are not looked at again.
func TestPairedSkipsWhatItKnows(t *testing.T) { // not parallel: it counts allocations
	list := pairsOf(50)
	var p paired
	out := p.ready(list)
	require.Same(t, &list[0], &out[0])
	allocs := testing.AllocsPerRun(10, func() {
		p.ready(list)
		p.ready(list[:60])
	})
	require.Zero(t, allocs)
	require.True(t, p.closed)
	require.Len(t, p.ready(list[:2]), 3, "a cut within a unit is mended")
}

func pairsOf(n int) []message.Message {
	var list []message.Message
	for i := range n {
		id := fmt.Sprint("c", i)
		list = append(list, message.User(strings.Repeat("ask ", 50)), message.Assistant(message.ToolCall(id, "read", nil)),
			message.ToolResult(id, "read", message.Text(strings.Repeat("data ", 200))), message.Assistant(message.Text("done")))
	}
	return list
}

func BenchmarkPaired(b *testing.B) {
	list := pairsOf(2_500)
	b.Run("checked", func(b *testing.B) {
		for b.Loop() {
			ready(list)
		}
	})
	b.Run("same", func(b *testing.B) {
		var p paired
		p.ready(list)
		for b.Loop() {
			p.ready(list)
		}
	})
	b.Run("prefix", func(b *testing.B) {
		var p paired
		p.ready(list)
		for b.Loop() {
			p.ready(list[:len(list)-400])
		}
	})
	b.Run("longer", func(b *testing.B) {
		for b.Loop() {
			p := paired{in: list[:len(list)-4], out: list[:len(list)-4], closed: true}
			p.ready(list)
		}
	})
}

// A result that comes after what stood for it takes its place, also when the list was made
// ready before that; one that is empty says so.
func TestPairedResults(t *testing.T) {
	t.Parallel()
	call := message.Assistant(message.ToolCall("c1", "read", nil))
	list, _ := message.RepairPairs([]message.Message{message.User("go"), call}, nil)
	list = slices.Grow(list, 1)
	var p paired
	require.Len(t, p.ready(list), 3)
	list = append(list, message.ToolResult("c1", "read", message.Text("data")))
	require.Equal(t, saidBy(append([]message.Message{message.User("go"), call}, list[3])), saidBy(p.ready(list)))

	list[3].Content = nil
	require.Equal(t, noOutput, ready([]message.Message{list[0], call, list[3]})[2].Text())
}
