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

var (
	versionOne = []string{
		`{"type":"session","id":"s1","timestamp":"` + stamp + `","cwd":"/w","provider":"p"}`,
		`{"type":"message","timestamp":"` + stamp + `","message":{"role":"user","content":"u1","timestamp":1}}`,
		`{"type":"message","timestamp":"` + stamp + `","message":{"role":"hookMessage","customType":"k","content":"h","display":true,"timestamp":2}}`,
		`{broken`,
		`{"type":"compaction","timestamp":"` + stamp + `","summary":"S","firstKeptEntryIndex":2,"tokensBefore":9}`,
		`{"type":"message","timestamp":"` + stamp + `","message":{"role":"user","content":"u1","timestamp":3},"kept":{"n":12345678901234567890}}`,
	}
	versionTwo = []string{
		`{"type":"session","version":2,"id":"s1","timestamp":"` + stamp + `","cwd":"/w"}`,
		`{"type":"message","id":"a","parentId":null,"timestamp":"` + stamp + `","message":{"role":"user","content":"u1","timestamp":1}}`,
		`{"type":"message","id":"b","parentId":"a","timestamp":"` + stamp + `","message":{"role":"hookMessage","customType":"k","content":"h","display":true,"timestamp":2}}`,
	}
)

func TestMigrate_FirstAppendWritesVersionThreeAndKeepsTheOldFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, backup string
		lines, view  []string
	}{
		{"version 1", ".v1.bak", versionOne, []string{"S", "h", "u1"}},
		{"version 2", ".v2.bak", versionTwo, []string{"u1", "h"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeSession(t, tt.lines...)
			before := read(t, path)
			log := openLog(t, path, nil)
			require.Equal(t, tt.view, texts(t, log))
			require.Equal(t, message.RoleCustom, viewOf(t, log).Messages[1].Role)
			oldKeys, oldGen, problems := keys(t, log), viewOf(t, log).Generation, log.Problems()
			require.Equal(t, before, read(t, path), "opening must not write")
			require.Equal(t, oldKeys, keys(t, openLog(t, path, nil)), "made-up ids are the same at every opening")

			stale := openLog(t, path, nil) // open before, used after
			appendAll(t, log, user("u2"))
			for _, l := range []transcript.Log{log, stale, openLog(t, path, nil)} {
				require.Equal(t, append(tt.view, "u2"), texts(t, l))
				require.Equal(t, oldKeys, keys(t, l)[:len(oldKeys)])
				require.Equal(t, 3, l.Header().Version)
				require.Equal(t, oldGen, viewOf(t, l).Generation)
				require.Len(t, l.Problems(), len(problems))
			}
			require.Equal(t, before, read(t, path+tt.backup))
			require.NotContains(t, read(t, path), "hookMessage")
			for _, line := range tt.lines {
				if !strings.HasPrefix(line, `{"type"`) {
					require.Contains(t, read(t, path), line+"\n", "broken lines stay")
				}
			}
			appendAll(t, stale, assistant("a2"))
			require.Equal(t, append(tt.view, "u2", "a2"), texts(t, log))
			require.Equal(t, []string{filepath.Base(path), filepath.Base(path) + tt.backup}, listDir(t, filepath.Dir(path)))
		})
	}
}

func TestMigrate_UnknownFieldsSurvive(t *testing.T) {
	t.Parallel()
	path := writeSession(t, versionOne...)
	log := openLog(t, path, nil)
	appendAll(t, log, user("u2"))
	require.Contains(t, read(t, path), `"kept":{"n":12345678901234567890}`)
	require.Contains(t, read(t, path), `"provider":"p"`)
}

// Whatever step of a migration fails, the session stays readable as it was.
func TestMigrate_FailureLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	full := &fs.PathError{Op: "x", Path: "y", Err: syscall.ENOSPC}
	isTemp := func(name string) error {
		if strings.Contains(name, ".tmp-") || strings.HasSuffix(name, ".bak") {
			return full
		}
		return nil
	}
	tests := []struct {
		name   string
		faults transcript.Faults
	}{
		{"create", transcript.Faults{Open: func(name string, _ int) error { return isTemp(name) }}},
		{"write", transcript.Faults{WriteAt: func(name string, _ []byte, _ int64) (int, error) { return 5, isTemp(name) }}},
		{"sync", transcript.Faults{Sync: isTemp}},
		{"rename", transcript.Faults{Rename: func(string, string) error { return full }}},
		{"backup without links", transcript.Faults{
			Link: func(string, string) error { return syscall.EPERM },
			Sync: isTemp,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeSession(t, versionTwo...)
			before := read(t, path)
			log, err := transcript.OpenFileWithFaults(path, nil, &tt.faults)
			require.NoError(t, err)
			defer log.Close()
			_, err = log.Append(t.Context(), user("u2"))
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.Equal(t, before, read(t, path))
			require.Equal(t, []string{"u1", "h"}, texts(t, log))
			require.NotContains(t, strings.Join(listDir(t, filepath.Dir(path)), " "), ".tmp")

			tt.faults = transcript.Faults{}
			appendAll(t, log, user("u2"))
			require.Equal(t, []string{"u1", "h", "u2"}, texts(t, openLog(t, path, nil)))
		})
	}
}

func TestMigrate_BackupWithoutLinks(t *testing.T) {
	t.Parallel()
	path := writeSession(t, versionTwo...)
	before := read(t, path)
	require.NoError(t, os.WriteFile(path+".v2.bak", []byte("someone else's"), 0o600))
	log, err := transcript.OpenFileWithFaults(path, nil, &transcript.Faults{Link: func(string, string) error { return syscall.EPERM }})
	require.NoError(t, err)
	defer log.Close()
	appendAll(t, log, user("u2"))
	require.Equal(t, "someone else's", read(t, path+".v2.bak"))
	require.Equal(t, before, read(t, path+".v2.bak.2"))
}

func TestMigrate_MissingHeaderIsMadeUp(t *testing.T) {
	t.Parallel()
	path := writeSession(t, msg("a", "", "user", "u1"), msg("b", "a", "assistant", "a1"))
	before := read(t, path)
	log := openLog(t, path, nil)
	require.Equal(t, "s", log.Header().ID)
	appendAll(t, log, user("u2"))
	require.Empty(t, log.Problems())
	require.Equal(t, []string{"u1", "a1", "u2"}, texts(t, openLog(t, path, nil)))
	kept, err := filepath.Glob(path + ".corrupt-*.jsonl")
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, before, read(t, kept[0]))
}
