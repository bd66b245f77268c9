package prune_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// longSession is a session of n messages: turns of a question, a call, its result and an
// answer, with keys as a log gives them.
func longSession(n int) []message.Message {
	at := time.UnixMilli(1_780_000_000_000)
	ms := make([]message.Message, n)
	for i := range ms {
		id := fmt.Sprintf("call_%d", i/4)
		switch i % 4 {
		case 0:
			ms[i] = message.User(fmt.Sprintf("question %d: what does the file say?", i))
		case 1:
			ms[i] = message.Assistant(message.Text("I will look."), message.ToolCall(id, "read", json.RawMessage(`{"path":"a.txt"}`)))
			ms[i].StopReason = message.StopToolUse
		case 2:
			ms[i] = message.ToolResult(id, "read", message.Text(strings.Repeat("some line of a file\n", 40)))
		default:
			ms[i] = message.Assistant(message.Text("It says some line of a file."))
			ms[i].StopReason = message.StopEnd
		}
		ms[i].Key = fmt.Sprintf("%08x", i)
		ms[i].Timestamp = at.Add(time.Duration(i) * time.Second)
	}
	return ms
}

// BenchmarkStandard runs the standard passes over 10,000 messages that the passes have
// seen before; in "turn" four more are new each time.
func BenchmarkStandard(b *testing.B) {
	ms := longSession(10_000 + 4*1_000)
	in := prune.Input{Window: 200_000, Estimator: tokens.NewMeter(nil, nil)}
	for _, policy := range []prune.Policy{prune.PolicyAnthropic, prune.PolicyOpenAIChat, prune.PolicyGemini, prune.PolicyMistral} {
		b.Run("same/"+string(policy), func(b *testing.B) {
			passes := prune.Standard(policy)
			prune.Apply(ms[:10_000], in, passes...)
			for b.Loop() {
				prune.Apply(ms[:10_000], in, passes...)
			}
		})
		b.Run("turn/"+string(policy), func(b *testing.B) {
			passes := prune.Standard(policy)
			n := 10_000
			for b.Loop() {
				if n += 4; n > len(ms) {
					b.StopTimer()
					n, passes = 10_000, prune.Standard(policy)
					prune.Apply(ms[:n], in, passes...)
					b.StartTimer()
				}
				prune.Apply(ms[:n], in, passes...)
			}
		})
	}
}
