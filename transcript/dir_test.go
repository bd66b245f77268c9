package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/transcript"
)

// Two processes make a session of one id: one of them has it, whenever each began.
func TestCreate_TwoProcessesAtOnce(t *testing.T) {
	t.Parallel()
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		dir := t.TempDir()
		var wg sync.WaitGroup
		errs := make([]error, 2)
		start := make(chan struct{})
		for i := range 2 {
			at := time.Date(2026, 1, 1, 0, 0, i*(round%2), 0, time.UTC) // every other time with names of their own
			log, err := openDir(t, dir, nil).Create(t.Context(), transcript.Header{ID: "s", Timestamp: at})
			require.NoError(t, err)
			wg.Go(func() {
				<-start
				_, errs[i] = log.Append(t.Context(), user(strings.Repeat([]string{"a", "b"}[i], 5000*(i+1))))
				errs[i] = errors.Join(errs[i], log.Close())
			})
		}
		close(start)
		wg.Wait()
		require.Len(t, listDir(t, dir), 1)
		winner := "a"
		if errs[0] != nil {
			winner = "b"
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], fs.ErrExist)
		require.Equal(t, winner, texts(t, openIn(t, dir, "s"))[0][:1])
	}
}

// A file system without links.
func TestCreate_WithoutLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := transcript.OpenDirWithFaults(dir, nil, &transcript.Faults{Link: func(string, string) error { return syscall.EPERM }})
	require.NoError(t, err)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s", Timestamp: at})
	require.NoError(t, err)
	defer log.Close()
	other, err := openDir(t, dir, nil).Create(t.Context(), transcript.Header{ID: "s", Timestamp: at})
	require.NoError(t, err)
	defer other.Close()
	appendAll(t, log, user("one"))
	_, err = other.Append(t.Context(), user("two"))
	require.ErrorIs(t, err, fs.ErrExist)
	require.Len(t, listDir(t, dir), 1)
}

// A folder that cannot be synced: the new session may not last, so it is none, and the next append
// makes it, whether or not its file could be removed.
func TestCreate_FolderCannotBeSynced(t *testing.T) {
	t.Parallel()
	for _, stuck := range []bool{false, true} {
		dir := t.TempDir()
		bad := errInjected
		faults := &transcript.Faults{SyncDir: func() error { return bad }}
		if stuck {
			faults.Remove = func(name string) error {
				if strings.HasSuffix(name, ".jsonl") {
					return bad
				}
				return nil
			}
		}
		st, err := transcript.OpenDirWithFaults(dir, nil, faults)
		require.NoError(t, err)
		log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(t, err)
		for range 2 {
			_, err = log.Append(t.Context(), user("one"))
			require.ErrorIs(t, err, errInjected)
			require.Empty(t, texts(t, log))
		}
		bad = nil
		appendAll(t, log, user("one"))
		require.Equal(t, []string{"one"}, texts(t, log))
		require.Equal(t, []string{"one"}, texts(t, openIn(t, dir, "s")))
		require.Len(t, listDir(t, dir), 1)
		require.NoError(t, log.Close())
	}
}

// What a file is called is a hint; whose session it is says its header.
func TestFind_HeaderDecides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, id string) {
		h := ""
		if id != "" {
			h = strings.Replace(header, `"id":"s1"`, fmt.Sprintf(`"id":%q`, id), 1) + "\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(h+msg("a", "", "user", name)+"\n"), 0o600))
	}
	put("agent_main.jsonl", "agent_main")
	put("2026-07-01T00-00-00-000Z_old.jsonl", "renamed")
	put("2026-07-01T00-00-00-000Z_plain.jsonl", "plain")
	put("2026-07-01T00-00-00-000Z_no%20header.jsonl", "")
	put("bare.jsonl", "")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "blank.jsonl"), []byte("\n\n"+strings.Replace(header, `"s1"`, `"blank"`, 1)+"\n"), 0o600))
	st := openDir(t, dir, nil)
	for _, id := range []string{"main", "old", "2026-07-01T00-00-00-000Z_plain", "nobody"} {
		_, err := st.Open(t.Context(), id)
		require.ErrorIs(t, err, fs.ErrNotExist, id)
		require.ErrorIs(t, st.Delete(t.Context(), id), fs.ErrNotExist, id)
	}
	want := map[string]bool{"agent_main": true, "renamed": true, "plain": true, "no header": true, "bare": true, "blank": true}
	for h, err := range st.List(t.Context()) {
		require.NoError(t, err)
		require.True(t, want[h.ID], h.ID)
		delete(want, h.ID)
		log, err := st.Open(t.Context(), h.ID)
		require.NoError(t, err)
		require.Equal(t, h.ID, log.Header().ID)
		appendAll(t, log, user("more"))
		require.NoError(t, log.Close())
		_, err = st.Create(t.Context(), transcript.Header{ID: h.ID})
		require.ErrorIs(t, err, fs.ErrExist)
	}
	require.Empty(t, want)
}

// Deleting a session removes every copy of the conversation that was kept beside it, and nothing
// else.
func TestDelete_RemovesWhatWasKeptBeside(t *testing.T) {
	t.Parallel()
	versionOf := func(n string) string {
		return strings.Replace(header, `"version":3`, `"version":`+n, 1) + "\n" + msg("a", "", "user", "secret") + "\n"
	}
	remove := map[string]func(t *testing.T, st transcript.Store){
		"Delete": func(t *testing.T, st transcript.Store) { require.NoError(t, st.Delete(t.Context(), "s1")) },
		"RemoveOlder": func(t *testing.T, st transcript.Store) {
			gone, err := transcript.RemoveOlder(t.Context(), st, time.Now().Add(time.Hour))
			require.NoError(t, err)
			require.Len(t, gone, 1)
		},
	}
	for name, remove := range remove {
		for state, data := range map[string]string{
			"migrated": versionOf("2"), "torn": versionOf("3") + "{secret", "broken": versionOf("3") + "{secret\n", "headless": msg("a", "", "user", "secret") + "\n",
		} {
			t.Run(name+"/"+state, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := filepath.Join(dir, "s1.jsonl")
				require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
				for _, other := range []string{"s1.jsonl.reset.2026-07-01", "s1.jsonl.sqlite", "s10.jsonl.v2.bak"} {
					require.NoError(t, os.WriteFile(filepath.Join(dir, other), nil, 0o600))
				}
				st := openDir(t, dir, nil)
				log, err := st.Open(t.Context(), "s1")
				require.NoError(t, err)
				appendAll(t, log, user("x"))
				require.NoError(t, log.Close())
				_, err = transcript.Repair(t.Context(), path)
				require.NoError(t, err)
				require.Greater(t, len(listDir(t, dir)), 4, "something was kept")
				remove(t, st)
				require.Equal(t, []string{"s1.jsonl.reset.2026-07-01", "s1.jsonl.sqlite", "s10.jsonl.v2.bak"}, listDir(t, dir))
			})
		}
	}
}

func TestOpen_StopsWhenItsContextDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := []string{header}
	for i := range 100 {
		lines = append(lines, msg(fmt.Sprint(i), "", "user", "x"))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s1.jsonl"), []byte(strings.Join(lines, "\n")), 0o600))
	ctx, cancel := context.WithCancelCause(t.Context())
	reads := 0
	st, err := transcript.OpenDirWithFaults(dir, nil, &transcript.Faults{ReadAt: func(string, int64) error {
		if reads++; reads == 2 { // the first is the header's
			cancel(errInjected)
		}
		return nil
	}})
	require.NoError(t, err)
	_, err = st.Open(ctx, "s1")
	require.ErrorIs(t, err, errInjected)
	log, err := st.Open(t.Context(), "s1")
	require.NoError(t, err)
	require.NoError(t, log.Close())
}

// Hostile files take no more time than others of their size.
func TestOpen_HostileFilesTakeLinearTime(t *testing.T) {
	t.Parallel()
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	shapes := map[string]func() []string{
		"rows under a chain of rows of unknown types": func() (lines []string) {
			for i := range n {
				lines = append(lines, fmt.Sprintf(`{"type":"weird","id":"o%d","parentId":"o%d"}`, i, i-1))
			}
			for i := range n {
				lines = append(lines, msg(fmt.Sprint("m", i), fmt.Sprint("o", n-1), "user", "x"))
			}
			return lines
		},
		"rows waiting for the end of a long branch": func() (lines []string) {
			for i := range n {
				lines = append(lines, msg(fmt.Sprint("w", i), "X", "user", "x"))
			}
			for i := range n {
				lines = append(lines, msg(fmt.Sprint("c", i), fmt.Sprint("c", i-1), "user", "x"))
			}
			return append(lines, msg("X", fmt.Sprint("c", n-1), "user", "x"))
		},
		"many parents that come late, deep in the tree": func() (lines []string) {
			for i := range n {
				lines = append(lines, msg(fmt.Sprint("c", i), fmt.Sprint("c", i-1), "user", "x"), msg(fmt.Sprint("w", i), fmt.Sprint("p", i), "user", "x"))
			}
			for i := range n {
				lines = append(lines, msg(fmt.Sprint("p", i), fmt.Sprint("c", n-1), "user", "x"))
			}
			return lines
		},
		"rows whose parent never comes": func() (lines []string) {
			for i := range n {
				lines = append(lines, msg(fmt.Sprint("w", i), fmt.Sprint("nowhere", i), "user", "x"))
			}
			return lines
		},
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeSession(t, append([]string{header}, shape()...)...)
			start := time.Now()
			log := openLog(t, path, nil)
			for range 20 {
				appendAll(t, log, user("x"))
			}
			require.Less(t, time.Since(start), 5*time.Second)
		})
	}
}

func TestTimestamps_OtherForms(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for _, form := range []string{"2026-07-01T00:00:00Z", "2026-07-01T00:00:00.000000Z", "2026-07-01T02:00:00+02:00"} {
		row := `{"type":"compaction","id":"k","parentId":"a","timestamp":"` + form + `","summary":"S","firstKeptEntryId":"k","tokensBefore":5}`
		path := writeSession(t, header, msg("a", "", "user", "A"), row)
		log := openLog(t, path, nil)
		require.Equal(t, want, viewOf(t, log).Messages[0].Timestamp, form)
		copied, err := transcript.Copy(t.Context(), openDir(t, filepath.Join(filepath.Dir(path), "copy"), nil), log)
		require.NoError(t, err)
		require.NoError(t, copied.Close())
		name := listDir(t, filepath.Join(filepath.Dir(path), "copy"))[0]
		require.Contains(t, read(t, filepath.Join(filepath.Dir(path), "copy", name)), form)
	}
}

// A path that was never set is told as that, not as a folder that could not be made.
func TestOpenDirNeedsAFolder(t *testing.T) {
	t.Parallel()
	_, err := transcript.OpenDir("", nil)
	require.EqualError(t, err, "opening store: no folder is named")
}
