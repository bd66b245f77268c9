package transcript_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// Whatever would write fails, reads go on, and nothing in the folder changes.
func TestFault_ReadOnly(t *testing.T) {
	t.Parallel()
	readOnly := func(_ string, flag int) error {
		if flag != os.O_RDONLY {
			return &fs.PathError{Op: "open", Path: "s.jsonl", Err: syscall.EROFS}
		}
		return nil
	}
	no := func(string) error { return syscall.EROFS }
	stores := map[string]func(dir string) (transcript.Store, error){
		"file system": func(dir string) (transcript.Store, error) {
			return transcript.OpenDirWithFaults(dir, nil, &transcript.Faults{Open: readOnly, Remove: no, Truncate: no})
		},
		"option": func(dir string) (transcript.Store, error) {
			return transcript.OpenDir(dir, &transcript.DirOptions{ReadOnly: true})
		},
	}
	files := map[string]string{
		"as it should be": header + "\n" + msg("a", "", "user", "one") + "\n",
		"to migrate":      strings.Replace(header, `"version":3`, `"version":2`, 1) + "\n" + msg("a", "", "user", "one") + "\n",
		"with a torn row": header + "\n" + msg("a", "", "user", "one") + "\n" + msg("b", "a", "user", "two")[:40],
		"with a torn batch": header + "\n" + msg("a", "", "user", "one") + "\n" +
			inBatch(msg("b", "a", "user", "two"), 1, 2) + "\n",
		"without a header": msg("a", "", "user", "one") + "\n",
	}
	for name, open := range stores {
		for state, data := range files {
			t.Run(name+"/"+state, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := filepath.Join(dir, "s1.jsonl")
				require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
				st, err := open(dir)
				require.NoError(t, err)
				log, err := st.Open(t.Context(), "s1")
				require.NoError(t, err)
				defer log.Close()
				gen := viewOf(t, log).Generation
				for what, err := range map[string]error{
					"Append":  second(log.Append(t.Context(), user("x"))),
					"SetLeaf": log.SetLeaf(t.Context(), ""),
					"Rewrite": second(log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: gen, Replacements: []transcript.Replacement{
						{EntryID: "a", Message: message.User("x")},
					}})),
					"CommitCompaction": second(log.CommitCompaction(t.Context(), gen, transcript.Compaction{Summary: "S"})),
					"Create":           createAndAppend(t, st),
					"Fork":             second(st.Fork(t.Context(), "s1", "")),
					"Rotate":           second(st.Rotate(t.Context(), "s1", transcript.Header{})),
					"Delete":           st.Delete(t.Context(), "s1"),
				} {
					require.Error(t, err, what)
					require.ErrorContains(t, err, "read-only", what)
				}
				require.Equal(t, []string{"one"}, texts(t, log))
				require.Equal(t, data, read(t, path))
				require.Equal(t, []string{"s1.jsonl"}, listDir(t, dir))
			})
		}
	}
}

func createAndAppend(t *testing.T, st transcript.Store) error {
	t.Helper()
	log, err := st.Create(t.Context(), transcript.Header{ID: "new"})
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = log.Append(t.Context(), user("x"))
	return err
}

func TestFault_ReadOnlyRepair(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"), "{broken")
	before := read(t, path)
	require.NoError(t, os.Chmod(path, 0o400))
	if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil { // a user whom permissions do not bind
		require.NoError(t, f.Close())
		return
	}
	_, err := transcript.Repair(t.Context(), path)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.Equal(t, before, read(t, path))
}
