package transcript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestFile_TailIsFollowed(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	one, two := openLog(t, path, nil), openLog(t, path, nil)
	require.Equal(t, []string{"u1"}, texts(t, two))
	appendAll(t, one, assistant("a1"))
	require.Equal(t, []string{"u1", "a1"}, texts(t, two))
	appendAll(t, two, user("u2"))
	require.Equal(t, []string{"u1", "a1", "u2"}, texts(t, one))
	gen := viewOf(t, one).Generation
	require.NoError(t, two.SetLeaf(t.Context(), "a"))
	require.Equal(t, []string{"u1"}, texts(t, one))
	require.Greater(t, viewOf(t, one).Generation, gen)
	require.Equal(t, viewOf(t, one).Generation, viewOf(t, two).Generation)
}

// What another program writes is read row by row: a row in the making is not there yet.
func TestFile_ForeignWriter(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	log := openLog(t, path, nil)
	row := msg("b", "a", "assistant", "a1") + "\n"
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	for i, c := range []byte(row) {
		require.Equal(t, []string{"u1"}, texts(t, log), "byte %d", i)
		_, err := f.Write([]byte{c})
		require.NoError(t, err)
		if i == len(row)-2 {
			break
		}
	}
	require.Equal(t, []string{"u1", "a1"}, texts(t, log), "whole without its newline")
	_, err = f.WriteString("\n" + msg("c", "b", "user", "u2") + "\n")
	require.NoError(t, err)
	require.Equal(t, []string{"u1", "a1", "u2"}, texts(t, log))
	require.Empty(t, log.Problems())
}

func TestFile_ReplacedOrShortenedByAnotherProgram(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"), msg("b", "a", "assistant", "a1"))
	log := openLog(t, path, nil)
	require.Len(t, texts(t, log), 2)
	other := path + ".new"
	require.NoError(t, os.WriteFile(other, []byte(header+"\n"+msg("x", "", "user", "other")+"\n"), 0o600))
	require.NoError(t, os.Rename(other, path))
	require.Equal(t, []string{"other"}, texts(t, log))
	appendAll(t, log, assistant("a2"))
	require.NoError(t, os.Truncate(path, int64(len(header)+1)))
	require.Empty(t, texts(t, log))
	appendAll(t, log, user("again"))
	require.Equal(t, []string{"again"}, texts(t, openLog(t, path, nil)))

	require.NoError(t, os.Remove(path))
	_, err := log.View(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = log.Append(t.Context(), user("x"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotEmpty(t, log.Problems())
}

// A row that was overwritten in place is an error, not another row's content.
func TestFile_ChangedInPlace(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("aaaa", "", "user", "u1"))
	log := openLog(t, path, nil)
	require.NoError(t, os.WriteFile(path, []byte(header+"\n"+msg("bbbb", "", "user", "u1")+"\n"), 0o600))
	_, err := log.View(t.Context())
	require.ErrorContains(t, err, "changed in place")
}

func TestFile_ReadersAreNotBlockedByAWriter(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	writing, goOn := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	log, err := transcript.OpenFileWithFaults(path, nil, &transcript.Faults{WriteAt: func(string, []byte, int64) (int, error) {
		if once.CompareAndSwap(false, true) {
			close(writing)
			<-goOn
		}
		return 0, nil
	}})
	require.NoError(t, err)
	defer log.Close()
	done := make(chan error)
	go func() {
		_, err := log.Append(t.Context(), assistant("a1"))
		done <- err
	}()
	<-writing
	require.Equal(t, []string{"u1"}, texts(t, log))
	require.Len(t, branchOf(t, log), 1)
	require.Equal(t, []string{"u1"}, texts(t, openLog(t, path, nil)), "nor another process's reader")

	// Writers wait, here and in other processes, as long as they care to.
	for _, l := range []transcript.Log{log, openLog(t, path, nil)} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err = l.Append(ctx, user("impatient"))
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	close(goOn)
	require.NoError(t, <-done)
	require.Equal(t, []string{"u1", "a1"}, texts(t, log))
}

func TestFile_Lazy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := transcript.OpenDir(dir, &transcript.DirOptions{Lazy: true})
	require.NoError(t, err)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s", Timestamp: time.Date(2026, 7, 1, 12, 30, 0, 0, time.UTC)})
	require.NoError(t, err)
	first := appendAll(t, log, user("u1"), transcript.ModelChangeEntry("p", "m"))
	require.Empty(t, listDir(t, dir))
	require.Equal(t, []string{"u1"}, texts(t, log))
	appendAll(t, log, transcript.LabelEntry(first[0].ID, "x"))
	appendAll(t, log, assistant("a1"))
	require.Equal(t, []string{"2026-07-01T12-30-00-000Z_s.jsonl"}, listDir(t, dir))
	appendAll(t, log, user("u2"))
	for _, l := range []transcript.Log{log, openIn(t, dir, "s")} {
		require.Equal(t, []string{"u1", "a1", "u2"}, texts(t, l))
		require.Len(t, entriesOf(t, l), 5)
		require.Empty(t, l.Problems())
	}
	require.NoError(t, log.Close())
}

func TestFile_SyncModes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode                  transcript.SyncMode
		user, answer, closing int64
	}{
		{transcript.SyncNone, 0, 0, 0},
		{transcript.SyncTurn, 0, 1, 1},
		{transcript.SyncEntry, 1, 2, 3},
	}
	for _, tt := range tests {
		t.Run("mode="+string(tt.mode), func(t *testing.T) {
			t.Parallel()
			var syncs atomic.Int64
			path := writeSession(t, header)
			log, err := transcript.OpenFileWithFaults(path, &transcript.DirOptions{Sync: tt.mode}, &transcript.Faults{
				Sync: func(string) error { syncs.Add(1); return nil },
			})
			require.NoError(t, err)
			appendAll(t, log, user("u1"))
			require.Equal(t, tt.user, syncs.Load())
			appendAll(t, log, assistant("a1"))
			require.Equal(t, tt.answer, syncs.Load())
			appendAll(t, log, transcript.MessageEntry(message.Assistant(message.ToolCall("c", "read", json.RawMessage(`{}`)))))
			require.NoError(t, log.Close())
			want := tt.closing
			if tt.mode == transcript.SyncTurn {
				want++ // what was not forced yet
			}
			require.Equal(t, want, syncs.Load())
		})
	}
	require.False(t, transcript.SyncMode("sometimes").Valid())
	_, err := transcript.OpenDir(t.TempDir(), &transcript.DirOptions{Sync: "sometimes"})
	require.ErrorContains(t, err, "sometimes")
}

// A sync that fails is a failed append: nothing of it stays.
func TestFile_FailedSyncIsTakenBack(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	before := read(t, path)
	broken := errors.New("injected")
	log, err := transcript.OpenFileWithFaults(path, &transcript.DirOptions{Sync: transcript.SyncEntry}, &transcript.Faults{
		Sync: func(string) error { return broken },
	})
	require.NoError(t, err)
	defer log.Close()
	_, err = log.Append(t.Context(), user("u2"))
	require.ErrorIs(t, err, broken)
	require.Equal(t, before, read(t, path))
	require.Equal(t, []string{"u1"}, texts(t, log))
}

// However little of an append reached the disk, none of it is in the session.
func TestFile_BatchesAreAllOrNoneAfterACrash(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	before := read(t, path)
	log := openLog(t, path, nil)
	appendAll(t, log, assistant("a1"), user("u2"), assistant("a2"))
	after := read(t, path)
	for cut := len(before); cut < len(after)-1; cut += 5 {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(after[:cut]), 0o600))
		torn := openLog(t, path, nil)
		require.Equal(t, []string{"u1"}, texts(t, torn), "cut at %d", cut)
		appendAll(t, torn, user("next"))
		require.Equal(t, []string{"u1", "next"}, texts(t, torn))
		require.Equal(t, []string{"u1", "next"}, texts(t, openLog(t, path, nil)))
		require.Empty(t, torn.Problems())
	}
}

func TestFile_IDsAndClockComeFromTheOptions(t *testing.T) {
	t.Parallel()
	n := 0
	now := time.Date(2030, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	opts := &transcript.DirOptions{
		NewID: func() string { n++; return fmt.Sprintf("e%d", n/2) }, // each one twice
		Now:   func() time.Time { return now },
	}
	path := writeSession(t, header, msg("e0", "", "user", "u1"))
	log := openLog(t, path, opts)
	out := appendAll(t, log, user("u2"), user("u3"))
	require.Equal(t, []string{"e1", "e2"}, ids(out))
	require.Equal(t, now, out[0].Timestamp)
	require.Equal(t, now, out[0].Message.Timestamp)
	require.Contains(t, read(t, path), `"timestamp":"2030-01-02T03:04:05.006Z"`)
}

func TestFile_UnusualNamesAreFoundByTheirHeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "my session.jsonl"), []byte(header+"\n"+msg("a", "", "user", "u1")+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.jsonl"), []byte("{}\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "readme.txt"), []byte("hello"), 0o600))
	st, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	log, err := st.Open(t.Context(), "s1")
	require.NoError(t, err)
	defer log.Close()
	require.Equal(t, []string{"u1"}, texts(t, log))
	var found []string
	var failed int
	for h, err := range st.List(t.Context()) {
		if err != nil {
			failed++
			continue
		}
		found = append(found, h.ID)
	}
	require.Equal(t, []string{"s1"}, found)
	require.Equal(t, 1, failed)
}

func TestFile_LinkToAFileIsResolved(t *testing.T) {
	t.Parallel()
	path := writeSession(t, versionTwo...)
	link := filepath.Join(t.TempDir(), "link.jsonl")
	if err := os.Symlink(path, link); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	log := openLog(t, link, nil)
	appendAll(t, log, user("u2"))
	require.Equal(t, []string{"u1", "h", "u2"}, texts(t, openLog(t, path, nil)))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&fs.ModeSymlink)
}

func TestFile_TornRowIsKeptAside(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	torn := `{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"half a tho`
	require.NoError(t, os.WriteFile(path, []byte(read(t, path)+torn), 0o600))
	log := openLog(t, path, nil)
	require.Len(t, log.Problems(), 1)
	require.Equal(t, 3, log.Problems()[0].Line)
	appendAll(t, log, user("u2"))
	aside, err := filepath.Glob(path + ".torn-*")
	require.NoError(t, err)
	require.Len(t, aside, 1)
	require.Equal(t, torn, read(t, aside[0]))
	require.True(t, strings.HasSuffix(read(t, path), "}\n"))
}
