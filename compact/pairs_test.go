package compact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// wellFormed draws turns in which every call has its result.
func wellFormed() *rapid.Generator[[]message.Message] {
	return rapid.Custom(func(t *rapid.T) []message.Message {
		var ms []message.Message
		for range rapid.IntRange(1, 8).Draw(t, "turns") {
			ms = append(ms, message.User("ask "+strings.Repeat("word ", rapid.IntRange(0, 80).Draw(t, "ask"))))
			for range rapid.IntRange(0, 4).Draw(t, "calls") {
				id := fmt.Sprintf("call_%d", rapid.IntRange(0, 2).Draw(t, "id")) // ids recur
				second := id + "b"
				ms = append(
					ms,
					message.Assistant(message.ToolCall(id, "read", nil), message.ToolCall(second, "read", nil)),
					message.ToolResult(id, "read", message.Text(strings.Repeat("out ", rapid.IntRange(0, 80).Draw(t, "out")))),
					message.ToolResult(second, "read", message.Text("done")),
				)
			}
			ms = append(ms, message.Assistant(message.Text(strings.Repeat("answer ", rapid.IntRange(1, 40).Draw(t, "answer")))))
		}
		return ms
	})
}

func TestC1_NoOrphansAcrossCompactions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		store := transcript.NewMemory()
		log, err := store.Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(rt, err)
		c := compactor(t, store, &compact.Options{
			KeepRecent: rapid.IntRange(1, 200).Draw(rt, "keep"), MinSource: 1, Summarizer: brief(),
		})
		for range 3 {
			appendAll(t, log, wellFormed().Draw(rt, "round")...)
			_, err := c.CompactSession(t.Context(), manual())
			require.NoError(rt, err)
			_, repair := message.RepairPairs(message.ForModel(view(t, log).Messages), nil)
			require.Zero(rt, repair, "compaction parted a call from its result")
		}
	})
}

// Another program kept a result whose call it had summarised.
func TestC1_LeftOverOfAnotherProgram(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, message.User("go"), call("c1"), result("c1"), call("c3"), result("c3"))
	rows := view(t, log).Messages
	_, err := log.CommitCompaction(t.Context(), view(t, log).Generation, transcript.Compaction{
		Summary: "began", FirstKeptEntryID: rows[4].Key,
	})
	require.NoError(t, err)
	appendAll(t, log, call("c4"), result("c4"), message.User(strings.Repeat("next ", 200)), message.Assistant(message.Text("ok")))
	_, repair := message.RepairPairs(message.ForModel(view(t, log).Messages), nil)
	require.Equal(t, 1, repair.DroppedResults)

	c := compactor(t, store, &compact.Options{KeepRecent: 20, MinSource: 1, Summarizer: compact.Scripted(compact.Reply{Text: "Ok."})})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	_, repair = message.RepairPairs(message.ForModel(view(t, log).Messages), nil)
	require.Zero(t, repair, "what was left over is in the summary now")
}

func TestC3_LaterResultStillPairs(t *testing.T) {
	t.Parallel()
	open := message.Assistant(message.ToolCall("c7", "read", nil), message.ToolCall("c8", "read", nil))
	store, log := newLog(t, append(talk(10), message.User("go on"), open, result("c7"))...)
	c := compactor(t, store, &compact.Options{KeepRecent: 1, Summarizer: brief()})
	p := manual()
	p.ActiveTurn = true
	res, err := c.CompactSession(t.Context(), p)
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	appendAll(t, log, result("c8"))
	_, repair := message.RepairPairs(message.ForModel(view(t, log).Messages), nil)
	require.Zero(t, repair)
}

func TestC3_AbortedCallsAreClosedOnce(t *testing.T) {
	t.Parallel()
	open := message.Assistant(message.ToolCall("c7", "read", nil), message.ToolCall("c8", "read", nil))
	store, log := newLog(t, append(talk(10), message.User("go on"), open, result("c7"), message.User("stop"))...)
	c := compactor(t, store, &compact.Options{KeepRecent: 100, Summarizer: brief()})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	ms, repair := message.RepairPairs(message.ForModel(view(t, log).Messages), nil)
	require.Equal(t, message.Repair{AddedResults: 1}, repair)
	_, repair = message.RepairPairs(ms, nil)
	require.Zero(t, repair)
}
