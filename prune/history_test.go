package prune_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func TestSpec02_9_22_HistoryLimit(t *testing.T) {
	t.Parallel()
	ms := append([]message.Message{{Role: message.RoleCompactionSummary, Summary: "s"}}, turns(3)...)
	out := prune.HistoryLimit(1).Apply(ms, prune.Input{})
	require.Equal(t, []message.Message{ms[0], ms[5], ms[6]}, out)
	for _, n := range []int{3, 4, 0, -1} {
		require.True(t, sameList(ms, prune.HistoryLimit(n).Apply(ms, prune.Input{})), "%d", n)
	}
	results := []message.Message{answering("c", "stray")}
	require.True(t, sameList(results, prune.HistoryLimit(1).Apply(results, prune.Input{})))
}

// TestHistoryLimitKeepsAnswersOfCalls: a user message with the result of a call begins no turn.
func TestHistoryLimitKeepsAnswersOfCalls(t *testing.T) {
	t.Parallel()
	answer := message.Message{Role: message.RoleUser, Content: []message.Block{
		message.Text("mine"), {Type: message.BlockToolResult, ID: "c1", Text: "a"},
	}}
	ms := []message.Message{message.User("old"), message.User("go"), calling("c1"), answer}
	require.Equal(t, ms[1:], prune.HistoryLimit(1).Apply(ms, prune.Input{}))
	require.Equal(t, ms[1:], prune.BatchedHistoryLimit(1).Apply(append([]message.Message{message.User("older")}, ms...), prune.Input{}))
}

func TestBatchedHistoryLimit(t *testing.T) {
	t.Parallel()
	limit := prune.BatchedHistoryLimit(4)
	moved := 0
	var starts []int
	for n := 1; n <= 40; n++ {
		ms := turns(n)
		out := limit.Apply(ms, prune.Input{})
		kept := len(out) / 2
		require.GreaterOrEqual(t, kept, min(n, 4))
		require.LessOrEqual(t, kept, 6)
		starts = append(starts, n-kept)
		if n > 1 && starts[n-1] != starts[n-2] {
			moved++
		}
	}
	require.LessOrEqual(t, moved, 40/3)
	ms := turns(40)
	require.True(t, sameList(ms, prune.BatchedHistoryLimit(0).Apply(ms, prune.Input{})))
}

func TestHistoryLimitsFor(t *testing.T) {
	t.Parallel()
	n := func(i int) *int { return &i }
	limits := prune.HistoryLimits{
		"Telegram": {Turns: n(30), DirectTurns: n(15), Direct: map[string]prune.UserLimits{"42": {Turns: n(5)}, "43": {Turns: n(0)}, "44": {}}},
		"slack":    {},
	}
	tests := []struct {
		key   string
		turns int
		ok    bool
	}{
		{"telegram:dm:42", 5, true},
		{"agent:main:telegram:direct:42", 5, true},
		{"telegram:dm:42:topic:7", 5, true},
		{"telegram:dm:43", 0, true}, // without a limit, on purpose
		{"telegram:dm:44", 15, true},
		{"telegram:dm:99", 15, true},
		{"telegram:group:1:thread:2", 30, true},
		{"telegram:room:1", 0, false},
		{"slack:dm:1", 0, false},
		{"unknown:dm:1", 0, false},
		{"agent:main:main", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		turns, ok := limits.For(tt.key)
		require.Equal(t, tt.turns, turns, tt.key)
		require.Equal(t, tt.ok, ok, tt.key)
	}
}

func TestHistoryImages(t *testing.T) {
	t.Parallel()
	shot := func() []message.Message {
		return []message.Message{
			{Role: message.RoleUser, Content: []message.Block{message.Text("see [media attached 1/2: /tmp/a.png (image/png)] media://inbound/x-1"), message.Image("AAAA", "image/png")}},
			calling("c"),
			message.ToolResult("c", "shot", message.Image("BBBB", "image/png")),
			message.Assistant(message.Text("ok")),
		}
	}
	var ms []message.Message
	for range 7 {
		ms = append(ms, shot()...)
	}
	pass := prune.HistoryImages()
	out := pass.Apply(ms, prune.Input{})
	require.Equal(t, "see [seen media] [seen media]\n"+prune.SeenImageText, out[0].Text())
	require.Equal(t, prune.SeenImageText, out[2].Text())
	require.Equal(t, prune.SeenImageText, out[8].Content[1].Text)
	require.Equal(t, ms[10:], out[10:], "the last three completed turns and the open one keep theirs, and what is not enough for another batch")
	require.Equal(t, message.BlockImage, ms[0].Content[1].Type)

	grown := append(message.Clone(ms), message.Assistant(message.Text("more")))
	require.True(t, equalLists(out, pass.Apply(grown, prune.Input{})[:len(out)]), "nothing changes within a turn")
	few := ms[:20]
	require.True(t, sameList(few, prune.HistoryImages().Apply(few, prune.Input{})))
}
