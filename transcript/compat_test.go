package transcript_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
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

func TestRepair_MendsAndKeepsTheOldFile(t *testing.T) {
	t.Parallel()
	image := `{"type":"message","id":"d","parentId":"c","timestamp":"` + stamp + `","message":{"role":"user","content":[{"type":"image","data":"@@@","mimeType":"image/png"},{"type":"text","text":"see"}],"timestamp":1}}`
	path := writeSession(t, header, msg("a", "", "user", " "), `{"type":"message","id":"b","parentId":"a","message":{"content":"x"}}`,
		"{bad", msg("c", "b", "user", "u2"), image)
	before := read(t, path)
	report, err := transcript.Repair(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, before, read(t, report.Backup))
	kinds := map[int]transcript.RepairKind{}
	for _, c := range report.Changes {
		var r *transcript.RepairedError
		require.ErrorAs(t, c.Err, &r)
		kinds[c.Line] = r.Kind
	}
	require.Equal(t, map[int]transcript.RepairKind{
		2: transcript.RepairBlankInput, 3: transcript.RepairDroppedLine, 4: transcript.RepairDroppedLine, 6: transcript.RepairImage,
	}, kinds)
	log := openLog(t, path, nil)
	require.Empty(t, log.Problems())
	require.Equal(t, []string{transcript.RepairInputText, "u2", transcript.RepairImageText + "\nsee"}, texts(t, log))

	report, err = transcript.Repair(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, transcript.RepairReport{}, report, "nothing more to do")
	require.Len(t, listDir(t, path[:strings.LastIndex(path, "/")]), 2)
}

func TestRemoveOlder(t *testing.T) {
	t.Parallel()
	day := func(d int) time.Time { return time.Date(2026, 7, d, 0, 0, 0, 0, time.UTC) }
	now := day(1)
	clock := func() time.Time { return now }
	files, err := transcript.OpenDir(t.TempDir(), &transcript.DirOptions{Now: clock})
	require.NoError(t, err)
	for name, st := range map[string]transcript.Store{
		"files": files, "memory": transcript.NewMemoryStore(&transcript.MemoryOptions{Now: clock}),
	} {
		now = day(1)
		for _, id := range []string{"old", "revived", "young"} {
			if id == "young" {
				now = day(20)
			}
			log, err := st.Create(t.Context(), transcript.Header{ID: id})
			require.NoError(t, err, name)
			appendAll(t, log, user("u1"))
			if id == "revived" {
				now = day(15)
				appendAll(t, log, user("u2"))
			}
			require.NoError(t, log.Close())
		}
		removed, err := transcript.RemoveOlder(t.Context(), st, day(10))
		require.NoError(t, err, name)
		require.Len(t, removed, 1, name)
		require.Equal(t, "old", removed[0].ID, name)
		left := 0
		for _, err := range st.List(t.Context()) {
			require.NoError(t, err)
			left++
		}
		require.Equal(t, 2, left, name)
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
