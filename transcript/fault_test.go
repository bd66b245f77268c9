package transcript_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/transcript"
)

func TestFault_DiskFull(t *testing.T) {
	t.Parallel()
	full := &fs.PathError{Op: "write", Path: "s.jsonl", Err: syscall.ENOSPC}
	var room atomic.Int64 // bytes of the next write that still fit; negative: all
	var stuck atomic.Bool // truncating fails as well
	faults := &transcript.Faults{
		WriteAt: func(_ string, p []byte, _ int64) (int, error) {
			if n := room.Load(); n >= 0 {
				return int(min(n, int64(len(p)))), full
			}
			return 0, nil
		},
		Truncate: func(string) error {
			if stuck.Load() {
				return full
			}
			return nil
		},
	}
	room.Store(-1)
	dir := newSessionDir(t)
	st, err := transcript.OpenDirWithFaults(dir, nil, faults)
	require.NoError(t, err)
	log, err := st.Open(t.Context(), "s")
	require.NoError(t, err)
	defer log.Close()

	for fits := int64(0); fits < 420; fits += 11 { // both rows take more than 420 bytes
		for _, alsoStuck := range []bool{false, true} {
			room.Store(fits)
			stuck.Store(alsoStuck)
			before := texts(t, log)
			_, err := log.Append(t.Context(), user("does not fit"), user("neither"))
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.Equal(t, before, texts(t, log))
			require.Equal(t, before, texts(t, openIn(t, dir, "s")), "another process sees the same")

			room.Store(-1)
			stuck.Store(false)
			appendAll(t, log, user("fits"))
			want := append(before, "fits")
			require.Equal(t, want, texts(t, log))
			require.Equal(t, want, texts(t, openIn(t, dir, "s")))
		}
	}
	room.Store(0)
	v := viewOf(t, log)
	_, err = log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: v.Generation, Replacements: []transcript.Replacement{
		{EntryID: v.Messages[0].Key, Message: *user("rewritten").Message},
	}})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, log.SetLeaf(t.Context(), ""), syscall.ENOSPC)
	_, err = log.CommitCompaction(t.Context(), v.Generation, transcript.Compaction{Summary: "S"})
	require.ErrorIs(t, err, syscall.ENOSPC)
	fresh, err := st.Create(t.Context(), transcript.Header{ID: "new"})
	require.NoError(t, err)
	_, err = fresh.Append(t.Context(), user("x"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, v, viewOf(t, log))

	room.Store(-1)
	appendAll(t, fresh, user("x"))
	require.Equal(t, []string{"x"}, texts(t, fresh))
	require.NoError(t, fresh.Close())
}

func TestFault_TwoProcessesAppending(t *testing.T) {
	t.Parallel()
	each := 1000
	if testing.Short() {
		each = 100
	}
	dir := newSessionDir(t)
	log := openIn(t, dir, "s")
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() { // readers follow meanwhile
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := log.View(t.Context()); err != nil {
				t.Errorf("View: %v", err)
				return
			}
		}
	})
	acked := make(chan []string, 2)
	for range 2 {
		cmd, out := startChild(t, fmt.Sprintf("append:%d", each), dir)
		go func() {
			ids := scanAll(out)
			if err := cmd.Wait(); err != nil {
				t.Errorf("child: %v", err)
			}
			acked <- ids
		}()
	}
	ids := append(<-acked, <-acked...)
	close(stop)
	reader.Wait()

	require.Len(t, ids, 2*each)
	branch := branchOf(t, log)
	require.Len(t, branch, 1+2*each, "one tree, one branch")
	have := map[string]bool{}
	for _, e := range branch {
		have[e.ID] = true
	}
	for _, id := range ids {
		require.True(t, have[id], "entry %s was acknowledged", id)
	}
	require.Empty(t, log.Problems())
	require.Equal(t, texts(t, log), texts(t, openIn(t, dir, "s")))
}

func scanAll(out *bufio.Scanner) []string {
	var lines []string
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	return lines
}

func TestFault_TenMegabyteMessage(t *testing.T) {
	t.Parallel()
	dir := newSessionDir(t)
	big := strings.Repeat("y", 10<<20)
	if testing.Short() {
		big = big[:1<<20]
	}
	log := openIn(t, dir, "s")
	es := appendAll(t, log, user(big), assistant("a1"))
	_, err := log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{
		{EntryID: es[1].ID, Message: *assistant("a2").Message},
	}})
	require.NoError(t, err)
	got := texts(t, openIn(t, dir, "s"))
	require.Len(t, got, 3)
	require.True(t, got[1] == big)
	require.Equal(t, "a2", got[2])
}

func TestFault_HundredThousandEntries(t *testing.T) {
	t.Parallel()
	entries := 100_000
	if testing.Short() {
		entries = 5_000
	}
	path := longSession(t, entries, "text")
	log := openLog(t, path, nil)
	require.Len(t, viewOf(t, log).Messages, entries)
	start := time.Now()
	for range 100 {
		appendAll(t, log, user("more"))
		viewOf(t, log)
	}
	require.Less(t, time.Since(start), 5*time.Second, "appending and viewing do not depend on the length")
	again := openLog(t, path, nil)
	require.Len(t, viewOf(t, again).Messages, entries+100)
	require.Len(t, branchOf(t, again), entries+100)
}

func TestFault_SymlinkedAndDotDotNamesRefused(t *testing.T) {
	t.Parallel()
	outside := writeSession(t, `{"type":"session","version":3,"id":"linked","timestamp":"`+stamp+`","cwd":"/"}`, msg("a", "", "user", "secret"))
	before := read(t, outside)
	dir := newSessionDir(t)
	for _, name := range []string{"2026-07-01T00-00-00-000Z_linked.jsonl", "linked.jsonl"} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Skipf("this system makes no links: %v", err)
		}
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "2026-07-01T00-00-00-000Z_dangling.jsonl")))
	st, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	for _, id := range []string{"linked", "dangling"} {
		_, err := st.Open(t.Context(), id)
		var not *transcript.NotSessionError
		require.ErrorAs(t, err, &not, "a link is not followed")
	}
	for _, id := range []string{"..", "../" + filepath.Base(filepath.Dir(outside)) + "/s", "x/../../s", "/etc/passwd", `..\s`} {
		for name, err := range map[string]error{
			"open":   second(st.Open(t.Context(), id)),
			"create": second(st.Create(t.Context(), transcript.Header{ID: id})),
			"delete": st.Delete(t.Context(), id),
			"fork":   second(st.Fork(t.Context(), id, "")),
		} {
			var invalid *transcript.InvalidIDError
			require.ErrorAs(t, err, &invalid, "%s %q", name, id)
		}
	}
	listed := 0
	for h, err := range st.List(t.Context()) {
		if err == nil {
			require.Equal(t, "s", h.ID)
			listed++
			continue
		}
		var not *transcript.NotSessionError
		require.ErrorAs(t, err, &not)
	}
	require.Equal(t, 1, listed)
	require.Equal(t, before, read(t, outside))
}

func second[T any](_ T, err error) error { return err }

func TestFault_FilesAndFoldersBelongToTheirOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	st, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	require.Empty(t, listDir(t, dir), "nothing is stored before the first append")
	appendAll(t, log, user("u1"))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	if info.Mode().Perm() == 0o777 {
		return // a system without such permissions
	}
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	for _, name := range listDir(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
}

// A file that cannot be read any more gives errors, and works again when it can.
func TestFault_ReadErrors(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	faults := &transcript.Faults{}
	log, err := transcript.OpenFileWithFaults(path, nil, faults)
	require.NoError(t, err)
	defer log.Close()
	broken := func(string, int64) error { return errInjected }
	faults.ReadAt = broken
	_, err = log.View(t.Context())
	require.ErrorIs(t, err, errInjected)
	for _, err := range log.Branch(t.Context()) {
		require.ErrorIs(t, err, errInjected)
	}
	_, err = transcript.OpenFileWithFaults(path, nil, faults)
	require.ErrorIs(t, err, errInjected)
	var not *transcript.NotSessionError
	require.False(t, errors.As(err, &not), "a broken disk is no wrong file")
	faults.ReadAt = nil
	require.Equal(t, []string{"u1"}, texts(t, log))

	require.NoError(t, os.WriteFile(path+".new", []byte(header+"\n"+msg("b", "", "user", "other")+"\n"), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	faults.ReadAt = broken
	_, err = log.View(t.Context())
	require.ErrorIs(t, err, errInjected)
	faults.ReadAt = nil
	require.Equal(t, []string{"other"}, texts(t, log))
}

// A folder that cannot be forced to the disk: a new session is not there, a migrated one is.
func TestFault_FolderThatCannotBeSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	faults := &transcript.Faults{SyncDir: func() error { return errInjected }}
	st, err := transcript.OpenDirWithFaults(dir, nil, faults)
	require.NoError(t, err)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	_, err = log.Append(t.Context(), user("u1"))
	require.ErrorIs(t, err, errInjected)
	require.Empty(t, listDir(t, dir))
	require.Empty(t, texts(t, log))

	path := writeSession(t, versionTwo...)
	old, err := transcript.OpenFileWithFaults(path, nil, faults)
	require.NoError(t, err)
	defer old.Close()
	_, err = old.Append(t.Context(), user("u2"))
	require.ErrorIs(t, err, errInjected)
	require.Equal(t, []string{"u1", "h"}, texts(t, old))

	faults.SyncDir = nil
	appendAll(t, log, user("u1"))
	appendAll(t, old, user("u2"))
	require.Equal(t, []string{"u1"}, texts(t, openIn(t, dir, "s")))
	require.Equal(t, []string{"u1", "h", "u2"}, texts(t, openLog(t, path, nil)))
}
