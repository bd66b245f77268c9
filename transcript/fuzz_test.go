package transcript_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/transcript"
)

// Whatever a file holds: opening it fails with a typed error or gives a log that reads, takes
// entries, keeps every byte that was there, and reads the same again.
func FuzzOpen(f *testing.F) {
	seeds := [][]string{
		{header, msg("a", "", "user", "u1"), "{bad", msg("b", "a", "assistant", "a1")},
		{header, msg("a", "b", "user", "u1"), msg("b", "a", "user", "u2")},
		{header, msg("a", "", "user", "u1"), `{"type":"leaf","id":"l","parentId":"a","targetId":null}`, msg("b", "l", "user", "u2")},
		{header, `{"type":"compaction","id":"c","parentId":null,"summary":"S","firstKeptEntryId":"c"}`, `{"type":"x","id":"y","parentId":"c"}`},
		{header, `{"type":"message","id":"a","parentId":null,"batchSize":3,"message":{"role":"user","content":"x"}}`, msg("b", "a", "user", "u2")},
		{header, `{"type":"custom","id":"a","parentId":null,"appendMode":"side","contextengine":{"key":"z"}}`},
		{msg("a", "", "user", "no header")},
		{header, inBatch(msg("a", "", "user", "a"), 1, 2), msg("b", "a", "user", "b"), inBatch(msg("c", "b", "user", "c"), 1, 2), inBatch(msg("d", "c", "user", "d"), 2, 2), inBatch(msg("e", "d", "user", "e"), 1, 3)},
		{header, msg("a", "c", "user", "a"), msg("b", "a", "user", "b"), msg("c", "b", "user", "c"), msg("d", "a", "user", "d")},
		versionOne, versionTwo,
	}
	for _, lines := range seeds {
		f.Add([]byte(strings.Join(lines, "\n") + "\n"))
		f.Add([]byte(strings.Join(lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		log, err := transcript.OpenFile(path, nil)
		if err != nil {
			var not *transcript.NotSessionError
			require.ErrorAs(t, err, &not)
			return
		}
		defer log.Close()
		before, gen := texts(t, log), viewOf(t, log).Generation
		oldKeys := keys(t, log)
		branchOf(t, log)
		entriesOf(t, log)
		log.Problems()
		require.Equal(t, data, []byte(read(t, path)), "reading must not write")

		appendAll(t, log, user("appended"))
		again := openLog(t, path, nil)
		if viewOf(t, again).Generation == gen { // a leaf row may say that what comes hangs elsewhere
			require.Equal(t, append(before, "appended"), texts(t, again))
			require.Equal(t, oldKeys, keys(t, again)[:len(oldKeys)])
		}
		require.Equal(t, texts(t, log), texts(t, again))
		require.Equal(t, keys(t, log), keys(t, again))
		require.Equal(t, viewOf(t, log).Generation, viewOf(t, again).Generation)

		whole := keys(t, log)
		copied, err := transcript.Copy(t.Context(), transcript.NewMemory(), log)
		if err == nil { // ids that no store would give are refused
			require.Equal(t, texts(t, log), texts(t, copied))
		}
		if _, err := transcript.Repair(t.Context(), path); err != nil {
			t.Fatalf("repairing what could be opened: %v", err)
		}
		mended := keys(t, openLog(t, path, nil))
		for _, key := range whole {
			i := slices.Index(mended, key)
			require.GreaterOrEqual(t, i, 0, "mending lost %q", key)
			mended = mended[i+1:]
		}
	})
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(msg("a", "", "user", "u\u00e9\n")))
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\n\r") || transcript.ScanObject(line) != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "s.jsonl")
		require.NoError(t, os.WriteFile(path, append([]byte(header+"\n"), line...), 0o600))
		entriesOf(t, openLog(t, path, nil))
	})
}
