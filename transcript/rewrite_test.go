package transcript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A failure in the middle of a rewrite leaves the old branch active after reopening.
func TestFault_FailureInTheMiddleOfARewrite(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"), msg("b", "a", "user", "u2"), msg("c", "b", "assistant", "a2"))
	before := read(t, path)
	log := openLog(t, path, nil)
	old := viewOf(t, log)
	r := swap(t, log, "a", "U1")
	require.True(t, r.Changed)
	after := read(t, path)
	require.Equal(t, int64(len(after)-len(before)), r.LogGrowth)
	for cut := len(before); cut < len(after)-1; cut += 3 {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(after[:cut]), 0o600))
		torn := openLog(t, path, nil)
		require.Equal(t, old, viewOf(t, torn), "cut at %d", cut)
		require.NoError(t, torn.Close())
	}
	require.Equal(t, []string{"U1", "u2", "a2"}, texts(t, openLog(t, path, nil)))
}

func TestRewrite_RepeatedRewritesDoNotMultiplyTheLog(t *testing.T) {
	t.Parallel()
	path := longSession(t, 150, strings.Repeat("x", 2500))
	log := openLog(t, path, nil)
	size := func() int64 {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Size()
	}
	start, grown := size(), int64(0)
	first := viewOf(t, log).Messages[1].Key
	last := appendAll(t, log, user("the last word"))[0].ID
	grown = size() - start
	before := keys(t, log)
	gen := viewOf(t, log).Generation
	for i := range 30 {
		r := swap(t, log, first, fmt.Sprintf("version %d", i))
		grown += r.LogGrowth
		require.Less(t, size(), 5*start)
		require.Greater(t, viewOf(t, log).Generation, gen)
		gen = viewOf(t, log).Generation
		appendAll(t, log, user("between"))
	}
	require.Less(t, grown, 4*start)
	for _, l := range []transcript.Log{log, openLog(t, path, nil)} {
		require.Equal(t, gen, viewOf(t, l).Generation)
		require.Equal(t, before, keys(t, l)[:len(before)])
		require.Equal(t, "version 29", texts(t, l)[1])
		require.Len(t, texts(t, l), 151+30)
		require.Empty(t, l.Problems())
	}
	require.NoError(t, log.SetLeaf(t.Context(), last), "the branch as it was is still there")
	require.Equal(t, strings.Repeat("x", 2500), texts(t, log)[1])
}

func TestRewrite_TrimmingThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	path := longSession(t, 150, strings.Repeat("x", 2500))
	log, err := transcript.OpenFileWithFaults(path, nil, &transcript.Faults{
		Rename: func(string, string) error { return errInjected },
	})
	require.NoError(t, err)
	defer log.Close()
	first := viewOf(t, log).Messages[1].Key
	for i := range 8 {
		require.True(t, swap(t, log, first, fmt.Sprintf("version %d", i)).Changed)
	}
	for _, l := range []transcript.Log{log, openLog(t, path, nil)} {
		require.Equal(t, "version 7", texts(t, l)[1])
		require.Len(t, texts(t, l), 150)
	}
}

// Whatever is appended, moved, rewritten and compacted, in whatever order: the stored session,
// the session in memory and the session read again show the same.
func TestProperty_StoresAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "p")
		require.NoError(rt, err)
		files, err := transcript.OpenDir(dir, &transcript.DirOptions{NewID: counter()})
		require.NoError(rt, err)
		memory := transcript.NewMemoryStore(&transcript.MemoryOptions{NewID: counter()})
		var logs []transcript.Log
		for _, st := range []transcript.Store{files, memory} {
			log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
			require.NoError(rt, err)
			defer log.Close()
			logs = append(logs, log)
		}
		for n := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			step(t, rt, n, logs)
		}
		other, err := transcript.OpenDir(dir, nil)
		require.NoError(rt, err)
		again, err := other.Open(t.Context(), "s")
		if err == nil {
			defer again.Close()
			logs = append(logs, again)
		}
		want := show(t, rt, logs[0])
		for _, log := range logs[1:] {
			require.Equal(rt, want, show(t, rt, log))
		}
	})
}

func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("e%d", n) }
}

// step does one random thing to every log.
func step(t *testing.T, rt *rapid.T, n int, logs []transcript.Log) {
	what := rapid.SampledFrom([]string{"append", "append", "append", "batch", "side", "leaf", "rewrite", "compact", "label", "odd"}).Draw(rt, "what")
	pick := rapid.IntRange(0, 1000).Draw(rt, "pick")
	for _, log := range logs {
		all := entriesOf(t, log)
		var err error
		switch {
		case what == "batch":
			_, err = log.Append(t.Context(), user(fmt.Sprint(n)), assistant("a"), user("b"))
		case what == "side":
			e := transcript.CustomEntry("note", n)
			e.Side = true
			_, err = log.Append(t.Context(), e)
		case what == "odd":
			_, err = log.Append(t.Context(), transcript.Entry{Type: "future_row"})
		case what == "append" || len(all) == 0:
			_, err = log.Append(t.Context(), user(fmt.Sprint(n)))
		case what == "leaf":
			err = log.SetLeaf(t.Context(), all[pick%len(all)].ID)
		case what == "label":
			_, err = log.Append(t.Context(), transcript.LabelEntry(all[pick%len(all)].ID, "x"))
		case what == "compact":
			b := branchOf(t, log)
			if len(b) > 0 {
				_, err = log.CommitCompaction(t.Context(), viewOf(t, log).Generation, transcript.Compaction{
					Summary: fmt.Sprint("S", n), FirstKeptEntryID: b[pick%len(b)].ID,
				})
			}
		case what == "rewrite":
			if ms := viewOf(t, log).Messages; len(ms) > 0 && ms[pick%len(ms)].Key != "" {
				swap(t, log, ms[pick%len(ms)].Key, fmt.Sprint("R", n))
			}
		}
		require.NoError(rt, err)
	}
}

// show is everything that a reader can tell, without times.
func show(t *testing.T, rt *rapid.T, log transcript.Log) []string {
	v := viewOf(t, log)
	out := []string{fmt.Sprint(v.Generation, v.Provider, v.Model, v.ThinkingLevel)}
	for _, m := range v.Messages {
		out = append(out, fmt.Sprint("view ", m.Key, m.Role, m.Text(), m.Summary))
	}
	for _, e := range branchOf(t, log) {
		out = append(out, fmt.Sprint("branch ", e.Type, e.ID, e.ParentID))
	}
	for _, e := range entriesOf(t, log) {
		out = append(out, fmt.Sprint("row ", e.Type, e.ID, e.ParentID, e.Side))
	}
	return out
}

// Two logs on one file, as two processes have them: whoever writes what, both show the same, and
// so does a third that reads the file anew.
func TestProperty_LogsOnOneFileAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SampledFrom([][]string{{header}, versionOne, versionTwo}).Draw(rt, "lines")
		dir, err := os.MkdirTemp(t.TempDir(), "p")
		require.NoError(rt, err)
		path := filepath.Join(dir, "s.jsonl")
		require.NoError(rt, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		var logs []transcript.Log
		for range 2 {
			log, err := transcript.OpenFileTrimming(path, nil, 1000)
			require.NoError(rt, err)
			defer log.Close()
			logs = append(logs, log)
		}
		for n := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			who := rapid.IntRange(0, 1).Draw(rt, "who")
			step(t, rt, n, logs[who:who+1])
			if rapid.Bool().Draw(rt, "look") {
				require.Equal(rt, show(t, rt, logs[0]), show(t, rt, logs[1]))
			}
		}
		again, err := transcript.OpenFile(path, nil)
		require.NoError(rt, err)
		defer again.Close()
		for _, log := range logs {
			require.Equal(rt, show(t, rt, again), show(t, rt, log))
		}
		_, err = transcript.Repair(t.Context(), path)
		require.NoError(rt, err)
		require.Equal(rt, show(t, rt, logs[0])[0:1], show(t, rt, logs[1])[0:1])
	})
}

// One row named twice, by its id and by its key; rows of another branch named by their keys.
func TestRewrite_NamesAreIDsOrKeys(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"), msg("b", "a", "user", "two"))
	log := openLog(t, path, nil)
	swap(t, log, "a", "x")
	e := branchOf(t, log)[0]
	require.NotEqual(t, e.ID, e.Key)
	r, err := log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{
		{EntryID: e.ID, Message: message.User("y")}, {EntryID: e.Key, Message: message.User("z")},
	}})
	require.NoError(t, err)
	require.True(t, r.Changed, r.Reason)
	require.Equal(t, 1, r.RewrittenEntries)
	require.Equal(t, []string{"z", "two"}, texts(t, log), "the last one counts")

	require.NoError(t, log.SetLeaf(t.Context(), "b"))
	appendAll(t, log, user("elsewhere"))
	side := appendAll(t, log, user("side"))[0]
	swap(t, log, side.ID, "SIDE")
	require.NoError(t, log.SetLeaf(t.Context(), "a"))
	want := texts(t, log)
	r, err = log.Rewrite(t.Context(), transcript.RewriteRequest{
		AllowedSuffixEntryIDs: []string{side.ID},
		Replacements:          []transcript.Replacement{{EntryID: side.ID, Message: message.User("SIDE 2")}},
	})
	require.NoError(t, err)
	require.True(t, r.Changed, r.Reason)
	require.Equal(t, want, texts(t, log))
}
