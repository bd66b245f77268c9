package healthfile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/internal/healthfile"
)

func at(s int) time.Time { return time.Unix(1_700_000_000+int64(s), 0).UTC() }

func record(id string, s int) healthfile.Record {
	return healthfile.Record{EngineID: id, Operation: "assemble", Reason: "boom", Class: "error", FailedAt: at(s)}
}

// foreign writes the file of another process.
func foreign(t *testing.T, dir, name string, content map[string]any) {
	t.Helper()
	data, err := json.Marshal(content)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".quarantine.json"), data, 0o600))
}

func TestSpec01_15_17_EarliestRecordOfLiveProcesses(t *testing.T) {
	dir := t.TempDir()
	host, err := os.Hostname()
	require.NoError(t, err)
	d := healthfile.New(dir, &healthfile.Options{
		Now:   func() time.Time { return at(100) },
		Alive: func(pid int, _ string) bool { return pid == os.Getpid() || pid == 1001 },
	})
	require.NoError(t, d.Put(t.Context(), record("a", 50)))
	require.NoError(t, d.Put(t.Context(), record("b", 51)))
	beat := func(pid int, beat time.Time, rs ...healthfile.Record) map[string]any {
		return map[string]any{"version": 1, "pid": pid, "host": host, "heartbeat": beat, "records": rs}
	}
	foreign(t, dir, "live", beat(1001, at(90), record("a", 40), record("c", 60)))
	foreign(t, dir, "dead", beat(1002, at(90), record("d", 1)))
	foreign(t, dir, "stale", beat(1001, at(90-3700), record("e", 1)))
	foreign(t, dir, "nobody", beat(0, at(90), record("f", 1)))
	foreign(t, dir, "otherversion", map[string]any{"version": 2, "pid": 1001, "heartbeat": at(90), "records": []healthfile.Record{record("g", 1)}})
	foreign(t, dir, "incomplete", beat(1001, at(90), healthfile.Record{EngineID: "h"}, healthfile.Record{Operation: "x", FailedAt: at(1)}))
	remote := beat(1002, at(90), record("remote", 70))
	remote["host"] = host + "-elsewhere"
	foreign(t, dir, "remote", remote)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "torn.quarantine.json"), []byte(`{"version":1,"pid":10`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "note.txt"), []byte("not ours"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub.quarantine.json"), 0o700))

	got, err := d.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []healthfile.Record{record("a", 40), record("b", 51), record("c", 60), record("remote", 70)}, got)
}

func TestSpec01_15_17_Bounded(t *testing.T) {
	d := healthfile.New(t.TempDir(), nil)
	for i := range healthfile.MaxRecords + 10 {
		require.NoError(t, d.Put(t.Context(), record(fmt.Sprint("e", i), i)))
	}
	got, err := d.List(t.Context())
	require.NoError(t, err)
	require.Len(t, got, healthfile.MaxRecords)
	require.Equal(t, "e0", got[0].EngineID, "the first failures stay")
}

// However many processes ended without clearing up, the live ones are seen, and what is
// very old goes.
func TestLeftoversHideNobody(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i := range 300 {
		name := fmt.Sprintf("%03d", i)
		foreign(t, dir, name, map[string]any{"version": 1, "pid": 1 << 30, "heartbeat": now.Add(-2 * time.Hour), "records": []healthfile.Record{record(name, i)}})
		old := now.Add(-time.Duration(2+i%48) * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, name+".quarantine.json"), old, old))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "note.txt"), nil, 0o600))
	tmp := filepath.Join(dir, "9-x.quarantine.json.1.tmp")
	require.NoError(t, os.WriteFile(tmp, nil, 0o600))
	old := now.Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "note.txt"), old, old))
	foreign(t, dir, "zzz", map[string]any{"version": 1, "pid": 1, "host": "elsewhere", "heartbeat": now, "records": []healthfile.Record{record("live", 1)}})
	d := healthfile.New(dir, nil)
	got, err := d.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []healthfile.Record{record("live", 1)}, got)

	require.NoError(t, os.Chtimes(tmp, old, old))
	require.NoError(t, d.Put(t.Context(), record("mine", 2)))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Less(t, len(entries), 200)
	require.NoFileExists(t, tmp)
	require.FileExists(t, filepath.Join(dir, "note.txt"), "not ours")
	got, err = d.List(t.Context())
	require.NoError(t, err)
	require.Len(t, got, 2)
}

func TestReusedProcessID(t *testing.T) {
	dir := t.TempDir()
	host, err := os.Hostname()
	require.NoError(t, err)
	foreign(t, dir, "old", map[string]any{
		"version": 1, "pid": os.Getpid(), "started": "before the flood", "host": host,
		"heartbeat": time.Now(), "records": []healthfile.Record{record("a", 1)},
	})
	got, err := healthfile.New(dir, nil).List(t.Context())
	require.NoError(t, err)
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		require.Empty(t, got)
	} else {
		require.Len(t, got, 1, "where the system does not tell, the heartbeat decides")
	}
}

func TestClearRemovesTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "when needed")
	d := healthfile.New(dir, nil)
	got, err := d.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, got)
	require.NoError(t, d.Clear(t.Context(), "a"))
	require.NoDirExists(t, dir)
	require.NoError(t, d.Put(t.Context(), record("a", 1)))
	require.NoError(t, d.Put(t.Context(), record("a", 2)))
	require.NoError(t, d.Clear(t.Context(), "a"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "no file, no temporary leftovers")
}

func TestWriteFailureIsAnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	d := healthfile.New(dir, nil)
	require.Error(t, d.Put(t.Context(), record("a", 1)))
	_, err := d.List(t.Context())
	require.Error(t, err)
}

func TestReadersNeverSeeATornFile(t *testing.T) {
	dir := t.TempDir()
	writer, reader := healthfile.New(dir, nil), healthfile.New(dir, nil)
	require.NoError(t, writer.Put(t.Context(), record("a", 1)))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 200 {
			require.NoError(t, writer.Put(t.Context(), record(fmt.Sprint("b", i%8), i)))
		}
	})
	wg.Go(func() {
		for range 200 {
			got, err := reader.List(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, got)
		}
	})
	wg.Wait()
}
