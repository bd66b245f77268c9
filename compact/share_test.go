package compact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// of is a user message of n tokens by the Compat estimate.
func of(n int) message.Message { return message.User(strings.Repeat("a", 4*n)) }

func lengths(runs [][]message.Message) []int {
	var out []int
	for _, r := range runs {
		out = append(out, len(r))
	}
	return out
}

func TestSplitByTokenShare(t *testing.T) {
	t.Parallel()
	big := message.ToolResult("c1", "read", message.Text(strings.Repeat("b", 1_200)))
	noID := message.ToolResult("", "read", message.Text("x"))
	broken := call("c1")
	broken.StopReason = message.StopAborted
	tests := []struct {
		name  string
		ms    []message.Message
		parts int
		want  []int
	}{
		{name: "empty", parts: 2},
		{name: "equal", ms: []message.Message{of(100), of(100), of(100), of(100)}, parts: 3, want: []int{1, 1, 2}},
		{name: "more parts than messages", ms: []message.Message{of(1), of(1)}, parts: 9, want: []int{1, 1}},
		{name: "no parts", ms: []message.Message{of(1), of(1)}, parts: 0, want: []int{2}},
		{name: "a pair moves whole", ms: []message.Message{of(100), of(100), call("c1"), big, of(100)}, parts: 2, want: []int{2, 3}},
		{name: "a pair first cannot move", ms: []message.Message{call("c1"), big, of(10)}, parts: 2, want: []int{2, 1}},
		{name: "without an id", ms: []message.Message{of(50), call("c1"), noID, of(100)}, parts: 2, want: []int{3, 1}},
		{name: "a broken answer waits for nothing", ms: []message.Message{of(10), broken, of(100), of(100)}, parts: 2, want: []int{2, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, lengths(compact.SplitByTokenShare(tt.ms, tt.parts, tokens.Compat())))
		})
	}
}

func TestRunsCoverTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := genMessages().Draw(t, "messages")
		n := rapid.IntRange(-1, 12).Draw(t, "n")
		for _, runs := range [][][]message.Message{
			compact.SplitByTokenShare(ms, n, tokens.Compat()),
			compact.ChunkByMaxTokens(ms, 20*n, tokens.Compat()),
		} {
			total := 0
			for _, r := range runs {
				require.NotEmpty(t, r)
				total += len(r)
			}
			require.Equal(t, len(ms), total)
		}
		require.LessOrEqual(t, len(compact.SplitByTokenShare(ms, n, tokens.Compat())), max(1, n))
	})
}

func TestPlanningNumbers(t *testing.T) {
	t.Parallel()
	e := tokens.Compat()
	require.InDelta(t, 0.16, compact.AdaptiveChunkRatio([]message.Message{of(10_000)}, 100_000, e), 1e-12)
	require.InDelta(t, 0.4, compact.AdaptiveChunkRatio(nil, 100_000, e), 0)
	require.InDelta(t, 0.4, compact.AdaptiveChunkRatio([]message.Message{of(1)}, 0, e), 0)

	four := []message.Message{of(1000), of(1000), of(1000), of(1000)}
	require.Equal(t, []int{1, 1}, lengths(compact.StageSplit(four[:2], 10, 2, 1, e)))
	require.Nil(t, compact.StageSplit(four, 4_000, 2, 4, e))
	require.Nil(t, compact.StageSplit(four[:3], 10, 2, 4, e))

	h := compact.PruneHistoryShare(four, 2_000, 0.5, 0, e)
	require.Len(t, h.Messages, 1)
	require.Equal(t, [4]int{2, 3, 3_000, 1_000}, [4]int{h.Chunks, h.Dropped, h.DroppedTokens, h.Kept})
	require.Len(t, compact.PruneHistoryShare([]message.Message{of(10_000)}, 2_000, 0.5, 2, e).Messages, 1)

	eight := append(append([]message.Message(nil), four...), four...)
	in := compact.HistoryPruneParams{History: eight, TokensBefore: 14_000, Window: 10_000, Share: 0.5, Estimator: e}
	require.Nil(t, compact.PlanHistoryPrune(in).Pruned)
	in.TokensBefore = 16_001
	p := compact.PlanHistoryPrune(in)
	require.Equal(t, [3]int{8_000, 8_001, 6_000}, [3]int{p.Source, p.New, p.Limit})
	require.Equal(t, 5_000, p.Pruned.Budget)
	require.LessOrEqual(t, p.Pruned.Kept, 5_000)
}

// Older logs name a result's call elsewhere; it settles that call all the same.
func TestSplitByTokenShareOldResultID(t *testing.T) {
	t.Parallel()
	var result message.Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"toolResult","toolUseId":"c","content":"`+strings.Repeat("r", 1200)+`"}`), &result))
	call := message.Assistant(message.ToolCall("c", "x", nil))
	text := message.User(strings.Repeat("a", 400))
	runs := compact.SplitByTokenShare([]message.Message{text, call, result, text}, 2, tokens.Compat())
	require.Len(t, runs, 2)
	require.Len(t, runs[0], 1)
}
