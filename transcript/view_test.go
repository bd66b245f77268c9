package transcript_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

func toolCall(id string) transcript.Entry {
	return transcript.MessageEntry(message.Assistant(message.Text("t"+id), message.ToolCall(id, "read", json.RawMessage(`{}`))))
}

func toolResult(id string) transcript.Entry {
	return transcript.MessageEntry(message.ToolResult(id, "read", message.Text("r"+id)))
}

// The view shows what two compactions left, orphans included; pairing them is the next step's
// work, which finds nothing more to do the second time.
func TestC1_OrphanAcrossTwoCompactions(t *testing.T) {
	t.Parallel()
	log, err := transcript.NewMemory().Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	es := appendAll(t, log, user("u1"), toolCall("c1"), toolResult("c1"), toolCall("c3"), toolResult("c3"), toolCall("c2"))
	compact := func(summary, kept string) {
		_, err := log.CommitCompaction(t.Context(), viewOf(t, log).Generation, transcript.Compaction{Summary: summary, FirstKeptEntryID: kept})
		require.NoError(t, err)
	}
	compact("S1", es[4].ID) // kept from the result of c3, whose call is summarised
	appendAll(t, log, toolCall("c4"), toolResult("c4"))
	require.Equal(t, []string{"S1", "rc3", "tc2", "tc4", "rc4"}, texts(t, log))
	compact("S2", es[4].ID)
	v := viewOf(t, log)
	require.Equal(t, []string{"S2", "rc3", "tc2", "tc4", "rc4"}, texts(t, log))

	mended, did := message.RepairPairs(v.Messages, nil)
	require.Equal(t, 1, did.DroppedResults)
	require.Equal(t, 1, did.AddedResults)
	again, did := message.RepairPairs(mended, nil)
	require.Equal(t, message.Repair{}, did)
	require.Equal(t, mended, again)
}

func TestView_TreeRules(t *testing.T) {
	t.Parallel()
	leaf := func(id, target string, rest ...string) string {
		return fmt.Sprintf(`{"type":"leaf","id":%q,"parentId":"a","targetId":%s%s}`, id, target, strings.Join(rest, ""))
	}
	tests := []struct {
		name  string
		lines []string
		view  []string
	}{
		{"leaf row selects a branch", []string{msg("a", "", "user", "u1"), msg("b", "a", "user", "u2"), leaf("l", `"a"`)}, []string{"u1"}},
		{"leaf row to the empty tree", []string{msg("a", "", "user", "u1"), leaf("l", "null")}, []string{}},
		{"leaf row to an unknown row", []string{msg("a", "", "user", "u1"), leaf("l", `"nope"`)}, []string{"u1"}},
		{"child of a leaf row", []string{msg("a", "", "user", "u1"), msg("b", "a", "user", "u2"), leaf("l", `"a"`), msg("c", "l", "user", "u3")}, []string{"u1", "u3"}},
		{"leaf row through another", []string{msg("a", "", "user", "u1"), msg("b", "a", "user", "u2"), leaf("l", `"a"`), leaf("m", `"l"`), msg("c", "m", "user", "u3")}, []string{"u1", "u3"}},
		{"row without a parent key", []string{msg("a", "", "user", "u1"), strings.Replace(msg("b", "", "user", "u2"), `"parentId":null,`, "", 1)}, []string{"u1", "u2"}},
		{"row without an id", []string{msg("a", "", "user", "u1"), strings.Replace(msg("b", "a", "user", "u2"), `"id":"b",`, "", 1)}, []string{"u1", "u2"}},
		{"unknown row is bridged", []string{msg("a", "", "user", "u1"), `{"type":"future","id":"f","parentId":"a"}`, msg("b", "f", "user", "u2")}, []string{"u1", "u2"}},
		{"unknown row does not move the leaf", []string{msg("a", "", "user", "u1"), `{"type":"future","id":"f","parentId":null}`}, []string{"u1"}},
		{"side row does not move the leaf", []string{msg("a", "", "user", "u1"), strings.Replace(msg("b", "a", "user", "u2"), `"parentId"`, `"appendMode":"side","parentId"`, 1)}, []string{"u1"}},
		{"first kept row is unknown to readers", []string{
			msg("a", "", "user", "u1"), msg("b", "a", "user", "u2"), `{"type":"future","id":"f","parentId":"b"}`, msg("c", "f", "user", "u3"),
			`{"type":"compaction","id":"k","parentId":"c","summary":"S","firstKeptEntryId":"f","tokensBefore":1}`,
		}, []string{"S", "u2", "u3"}},
		{"first kept row is before the root", []string{
			`{"type":"future","id":"f","parentId":null}`, msg("c", "f", "user", "u3"),
			`{"type":"compaction","id":"k","parentId":"c","summary":"S","firstKeptEntryId":"f","tokensBefore":1}`,
		}, []string{"S", "u3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := openLog(t, writeSession(t, append([]string{header}, tt.lines...)...), nil)
			require.Equal(t, tt.view, texts(t, log))
			appendAll(t, log, user("next"))
			require.Equal(t, append(tt.view, "next"), texts(t, log))
		})
	}
}

// Opening and viewing a session takes less than three times what its branch holds, all that is
// allocated on the way counted. Not parallel: it counts the whole program's memory.
func TestOpen_MemoryIsBoundedByTheBranch(t *testing.T) {
	const size = 12 << 20
	path := t.TempDir() + "/s.jsonl"
	writeBig(t, path, size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	log := openLog(t, path, nil)
	v := viewOf(t, log)
	runtime.ReadMemStats(&after)
	require.Greater(t, len(v.Messages), 1000)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3*size))
}

// A compaction whose row has no time came after what it kept: a kept report is about the context
// before it, and the next report anchors again.
func TestView_CompactionWithoutATime(t *testing.T) {
	t.Parallel()
	answer := func(id, parent string, second, total int) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-07-01T00:00:%02d.000Z","message":{"role":"assistant","content":[{"type":"text","text":"ok"}],"usage":{"input":1,"totalTokens":%d},"timestamp":%d}}`,
			id, parent, second, total, 1_782_864_000_000+second*1000)
	}
	compaction := func(parent, kept, time string) string {
		return fmt.Sprintf(`{"type":"compaction","id":"k","parentId":%q,%s"summary":"S","firstKeptEntryId":%q,"tokensBefore":180000}`, parent, time, kept)
	}
	for name, time := range map[string]string{"missing": "", "unreadable": `"timestamp":"yesterday",`, "empty": `"timestamp":"",`} {
		for kept, lines := range map[string][]string{
			"answer":  {msg("a", "", "user", "u1"), answer("b", "a", 5, 180_000), compaction("b", "b", time)},
			"nothing": {msg("a", "", "user", "u1"), answer("b", "a", 5, 180_000), compaction("b", "", time)},
		} {
			t.Run(name+" time, kept "+kept, func(t *testing.T) {
				t.Parallel()
				log := openLog(t, writeSession(t, append([]string{header}, lines...)...), nil)
				require.Equal(t, -1, tokens.Anchored(tokens.ScriptAware(), viewOf(t, log).Messages).Anchor)

				next := message.Assistant(message.Text("done"))
				next.Usage = &message.Usage{Total: 700}
				appendAll(t, log, user("next"), transcript.Entry{Message: &next})
				view := viewOf(t, log).Messages
				require.Equal(t, message.RoleCompactionSummary, view[0].Role)
				got := tokens.Anchored(tokens.ScriptAware(), view)
				require.Equal(t, tokens.ContextEstimate{Tokens: 700, Usage: 700, Anchor: len(view) - 1}, got)
			})
		}
	}
}
