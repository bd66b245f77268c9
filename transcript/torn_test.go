package transcript_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// Wherever an append of several rows is cut off, none of them is there; the next append goes on
// from where the log was, and all rows that were whole are still in the file.
func TestTorn_BatchCutAtEveryByte(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"))
	log := openLog(t, path, nil)
	before := len(read(t, path))
	appendAll(t, log, user("x"), assistant("y"), user("z"))
	whole := read(t, path)
	step := 17
	if os.Getenv("CONTEXTENGINE_NIGHTLY") != "" {
		step = 1
	}
	for cut := before + 1; cut < len(whole)-1; cut += step {
		require.NoError(t, os.WriteFile(path, []byte(whole[:cut]), 0o600))
		log := openLog(t, path, nil)
		require.Equal(t, []string{"one"}, texts(t, log), "cut at %d", cut)
		appendAll(t, log, user("next"))
		require.Equal(t, []string{"one", "next"}, texts(t, log), "cut at %d", cut)
		require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
		require.Empty(t, log.Problems())
		kept := whole[:strings.LastIndexByte(whole[:cut], '\n')+1]
		require.True(t, strings.HasPrefix(read(t, path), kept), "whole rows are never cut off")
		report, err := transcript.Repair(t.Context(), path)
		require.NoError(t, err)
		require.Empty(t, report.Changes)
	}
	require.NoError(t, os.WriteFile(path, []byte(whole[:len(whole)-1]), 0o600)) // only the newline is missing
	require.Equal(t, []string{"one", "x", "y", "z"}, texts(t, openLog(t, path, nil)))
}

// Members that other programs write into their rows are theirs, whatever their names.
func TestForeignMembers(t *testing.T) {
	t.Parallel()
	odd := `{"type":"import_stats","id":"x","parentId":"a","timestamp":"` + stamp + `","batchSize":100,"originId":"o","contextengine":7}`
	row := strings.Replace(msg("b", "x", "user", "two"), `"message":`, `"originId":"ticket-7","batchSize":3,"contextengine":"theirs","message":`, 1)
	path := writeSession(t, header, msg("a", "", "user", "one"), odd, row, msg("c", "b", "user", "three"))
	log := openLog(t, path, nil)
	require.Equal(t, []string{"one", "two", "three"}, texts(t, log))
	require.Empty(t, log.Problems())
	e := branchOf(t, log)[1]
	require.Equal(t, "b", e.Key)
	require.Equal(t, `"ticket-7"`, string(e.Extra["originId"]))
	require.Equal(t, "3", string(e.Extra["batchSize"]))
	require.Equal(t, `"theirs"`, string(e.Extra["contextengine"]))
	swap(t, log, "b", "TWO")
	require.Equal(t, `"ticket-7"`, string(branchOf(t, log)[1].Extra["originId"]))
	appendAll(t, log, user("four"), user("five"))
	require.Equal(t, []string{"one", "TWO", "three", "four", "five"}, texts(t, openLog(t, path, nil)))
	require.Contains(t, read(t, path), odd)
	require.NotContains(t, listDir(t, filepath.Dir(path)), "torn")
}

// Another program goes on behind, or from, rows of an append that was cut off.
func TestTorn_OthersGoOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"from its rows", []string{inBatch(msg("b", "a", "user", "b1"), 1, 4), msg("c", "b", "user", "theirs")}, []string{"one", "b1", "theirs"}},
		{"from the row before", []string{inBatch(msg("b", "a", "user", "b1"), 1, 4), msg("c", "a", "user", "theirs")}, []string{"one", "theirs"}},
		{"with its batch broken in the middle", []string{inBatch(msg("b", "a", "user", "b1"), 1, 3), `{broken`, inBatch(msg("d", "b", "user", "b3"), 3, 3)}, []string{"one", "b1", "b3"}},
		{"with its first row gone", []string{inBatch(msg("d", "a", "user", "b3"), 3, 3)}, []string{"one", "b3"}},
		{"with another batch", []string{inBatch(msg("b", "a", "user", "b1"), 1, 2), inBatch(msg("c", "a", "user", "c1"), 1, 2), inBatch(msg("d", "c", "user", "c2"), 2, 2)}, []string{"one", "c1", "c2"}},
		{"with a mark that says nothing", []string{inBatch(msg("b", "a", "user", "b1"), 5, 2)}, []string{"one", "b1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeSession(t, append([]string{header, msg("a", "", "user", "one")}, tt.lines...)...)
			log := openLog(t, path, nil)
			require.Equal(t, tt.want, texts(t, log))
			appendAll(t, log, user("four"))
			require.Equal(t, append(tt.want, "four"), texts(t, log))
			require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
			for _, line := range tt.lines {
				require.Contains(t, read(t, path), line)
			}
		})
	}
}

// The ids of rows that were never appended are free for the retry, which may bring its own.
func TestTorn_RetryWithTheSameIDs(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"), inBatch(msg("b", "a", "user", "two"), 1, 2))
	log := openLog(t, path, nil)
	two, three := user("two"), user("three")
	two.ID, three.ID = "b", "c"
	appendAll(t, log, two, three)
	require.Equal(t, []string{"one", "two", "three"}, texts(t, log))
	require.Equal(t, []string{"a", "b", "c"}, keys(t, log))
	require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
	require.Empty(t, log.Problems())
}

// The end of the file changes while somebody reads: what it is when the lock is held counts.
func TestTorn_EndIsReplacedByAsMuch(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"))
	base := read(t, path)
	row := msg("b", "a", "user", "acknowledged") + "\n"
	torn := msg("x", "a", "user", strings.Repeat("z", 200))[:len(row)]
	require.NoError(t, os.WriteFile(path, []byte(base+torn), 0o600))
	log := openLog(t, path, nil)
	require.Equal(t, []string{"one"}, texts(t, log))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(int64(len(base)))) // its writer takes it back and appends something else
	_, err = f.WriteAt([]byte(row), int64(len(base)))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, []string{"one", "acknowledged"}, texts(t, log))
	appendAll(t, log, user("three"))
	require.Equal(t, []string{"one", "acknowledged", "three"}, texts(t, openLog(t, path, nil)))
}

// withoutNewline opens a session whose last row has no newline yet.
func withoutNewline(t *testing.T, lines ...string) (string, transcript.Log) {
	t.Helper()
	path := writeSession(t, lines...)
	require.NoError(t, os.WriteFile(path, []byte(strings.TrimSuffix(read(t, path), "\n")), 0o600))
	return path, openLog(t, path, nil)
}

func TestUnendedLine_LinesAreCountedOnce(t *testing.T) {
	t.Parallel()
	path, log := withoutNewline(t, header, msg("a", "", "user", "one"))
	require.Equal(t, []string{"one"}, texts(t, log))
	appendAll(t, openLog(t, path, nil), user("two"))
	appendRaw(t, path, "garbage\n")
	require.Equal(t, []string{"one", "two"}, texts(t, log))
	require.Equal(t, []int{4}, problemLines(log))
	require.Equal(t, []int{4}, problemLines(openLog(t, path, nil)))
}

func TestUnendedLine_IsReadAgainWhenItGoesOn(t *testing.T) {
	t.Parallel()
	path, log := withoutNewline(t, header, msg("a", "", "user", "one"))
	require.Equal(t, []string{"one"}, texts(t, log))
	other := msg("b", "", "user", "another row altogether")
	require.NoError(t, os.WriteFile(path, []byte(header+"\n"+other+"\n"), 0o600))
	require.Equal(t, []string{"another row altogether"}, texts(t, log))
	appendAll(t, log, user("two"))
	require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
}

func TestUnendedLine_Migration(t *testing.T) {
	t.Parallel()
	path, log := withoutNewline(t, strings.Replace(header, `"version":3`, `"version":2`, 1), msg("a", "", "user", "one"))
	require.Equal(t, []string{"one"}, texts(t, log))
	appendRaw(t, path, "\n"+msg("b", "a", "user", "two")+"\n"+msg("c", "b", "user", "three")+"\n")
	appendAll(t, log, user("four"))
	require.Equal(t, []string{"one", "two", "three", "four"}, texts(t, log))
	require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
}

func TestUnendedLine_Trimming(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"))
	require.NoError(t, os.WriteFile(path, []byte(strings.TrimSuffix(read(t, path), "\n")), 0o600))
	log, err := transcript.OpenFileTrimming(path, nil, 2_000)
	require.NoError(t, err)
	defer log.Close()
	require.Equal(t, []string{"one"}, texts(t, log))
	appendAll(t, openLog(t, path, nil), user("two"))
	for i := range 5 {
		appendAll(t, log, user(fmt.Sprint("m", i)), assistant(strings.Repeat("filling ", 50)))
	}
	want := texts(t, log)
	trims := 0
	for i := range 12 {
		want[0] = fmt.Sprint("one", i)
		r, err := log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{
			{EntryID: "a", Message: message.User(want[0])},
		}})
		require.NoError(t, err)
		if r.LogGrowth < 0 {
			trims++
		}
		require.Equal(t, want, texts(t, log))
		require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
	}
	require.Positive(t, trims)
}

// An append that failed and could not be taken back is no append: not for readers, and not when
// the caller tries again.
func TestFault_FailedAppendThatStays(t *testing.T) {
	t.Parallel()
	dir := newSessionDir(t)
	bad := errInjected
	fail := func(string) error { return bad }
	st, err := transcript.OpenDirWithFaults(dir, &transcript.DirOptions{Sync: transcript.SyncEntry}, &transcript.Faults{Sync: fail, Truncate: fail})
	require.NoError(t, err)
	log, err := st.Open(t.Context(), "s")
	require.NoError(t, err)
	defer log.Close()
	for _, entries := range [][]transcript.Entry{{user("once")}, {user("twice"), assistant("thrice")}} {
		want := texts(t, log)
		bad = errInjected
		_, err = log.Append(t.Context(), entries...)
		require.ErrorIs(t, err, errInjected)
		require.Equal(t, want, texts(t, log))
		_, err = log.Append(t.Context(), user("not before that is taken back"))
		require.ErrorIs(t, err, errInjected)
		bad = nil
		for _, e := range appendAll(t, log, entries...) {
			want = append(want, e.Message.Text())
		}
		require.Equal(t, want, texts(t, log))
		require.Equal(t, want, texts(t, openIn(t, dir, "s")))
	}

	// Another process that has gone on from the failed rows has made them part of the session.
	bad = errInjected
	_, err = log.Append(t.Context(), user("in doubt"))
	require.True(t, errors.Is(err, errInjected))
	appendAll(t, openIn(t, dir, "s"), user("from the other"))
	bad = nil
	appendAll(t, log, user("last"))
	got := texts(t, openIn(t, dir, "s"))
	require.Equal(t, []string{"in doubt", "from the other", "last"}, got[len(got)-3:])
	require.Equal(t, got, texts(t, log))
}

// Following what others wrote fails halfway: nothing is skipped when it goes on.
func TestFault_FollowingIsCutShort(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"))
	var from int64 // reads from there on fail; 0: none
	log, err := transcript.OpenFileWithFaults(path, nil, &transcript.Faults{ReadAt: func(_ string, off int64) error {
		if from > 0 && off >= from {
			return errInjected
		}
		return nil
	}})
	require.NoError(t, err)
	defer log.Close()
	require.Equal(t, []string{"one"}, texts(t, log))
	other := openLog(t, path, nil)
	for i := range 30 {
		appendAll(t, other, user(fmt.Sprint(i, strings.Repeat(" filling", 10_000))))
	}
	from = 1 << 20
	_, err = log.View(t.Context())
	require.ErrorIs(t, err, errInjected)
	from = 0
	require.Equal(t, describe(t, other), describe(t, log))
}

// A torn row that cannot be set aside stays, and nothing is written behind it.
func TestFault_TornRowThatCannotBeSetAside(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	torn := read(t, path) + `{"type":"mess`
	require.NoError(t, os.WriteFile(path, []byte(torn), 0o600))
	faults := &transcript.Faults{Open: func(name string, _ int) error {
		if strings.Contains(name, ".torn-") {
			return errInjected
		}
		return nil
	}}
	log, err := transcript.OpenFileWithFaults(path, nil, faults)
	require.NoError(t, err)
	defer log.Close()
	_, err = log.Append(t.Context(), user("u2"))
	require.ErrorIs(t, err, errInjected)
	require.Equal(t, torn, read(t, path))
	faults.Open = nil
	appendAll(t, log, user("u2"))
	require.Equal(t, []string{"u1", "u2"}, texts(t, openLog(t, path, nil)))
}
