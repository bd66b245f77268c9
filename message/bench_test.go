package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

// session makes a well-formed list of about n messages.
func session(n int) []message.Message {
	var words strings.Builder
	for i := 0; i < n; i += 5 {
		fmt.Fprintf(&words, "u a:x%d,y%d r:y%d r:x%d a ", i, i, i, i)
	}
	return list(words.String())
}

// What every turn does to a clean list must not cost memory.
func TestCleanListsAllocateNothing(t *testing.T) {
	ms := session(1000)
	for i := 1; i < len(ms); i += 5 { // models say something before they call
		ms[i].Content = append([]message.Block{message.Text("first")}, ms[i].Content...)
	}
	many := list(manyCalls(64))
	open := &message.RepairOptions{KeepOpenTail: true}
	for name, f := range map[string]func(){
		"RepairPairs":  func() { message.RepairPairs(ms, nil) },
		"many calls":   func() { message.RepairPairs(many, nil) },
		"KeepOpenTail": func() { message.RepairPairs(ms[:len(ms)-2], open) },
		"ForModel":     func() { message.ForModel(ms) },
		"IsConversation": func() {
			for i := range ms {
				message.IsConversation(ms, i)
			}
		},
		"Tail": func() { message.Tail(ms, 100) },
		"Text": func() { _ = ms[0].Text() },
	} {
		require.Zero(t, testing.AllocsPerRun(10, f), name)
	}
}

func BenchmarkRepairPairs(b *testing.B) {
	clean := session(10_000)
	broken := message.Clone(clean)
	for i := 3; i+5 < len(broken); i += 50 { // every tenth turn, a result goes astray
		broken[i], broken[i+2] = broken[i+2], broken[i]
	}
	nameless := list("a:" + strings.Repeat(",", 10_000) + strings.Repeat(" r:@other", 10_000))
	for name, ms := range map[string][]message.Message{"clean": clean, "broken": broken, "without ids": nameless} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				message.RepairPairs(ms, nil)
			}
		})
	}
}

func BenchmarkUnits(b *testing.B) {
	ms := session(10_000)
	b.ReportAllocs()
	for b.Loop() {
		message.Tail(ms, 100)
	}
}

func BenchmarkDecode(b *testing.B) {
	text := strings.Repeat("some output of a tool, with a \\\"quote\\\" and a line end\\n", 40)
	lines := [][]byte{
		[]byte(`{"role":"assistant","content":[{"type":"text","text":"reading"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a/b.go"}}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"total":0.5}},"stopReason":"toolUse","timestamp":1772972204867}`),
		[]byte(`{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"` + text + `"}],"isError":false,"timestamp":1772972204868}`),
	}
	b.SetBytes(int64(len(lines[0]) + len(lines[1])))
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines {
			var m message.Message
			if err := m.UnmarshalJSON(line); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	ms := session(1000)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = buf[:0]
		for i := range ms {
			var err error
			if buf, err = ms[i].AppendJSON(buf); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.SetBytes(int64(len(buf)))
}
