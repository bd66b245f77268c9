// Package healthfile keeps small failure records in a folder that several
// processes share: one file per process.
package healthfile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// MaxRecords bounds the records of one file; the oldest failures stay. 64 as
	// in OpenClaw 2026.7.1.
	MaxRecords = 64
	// MaxAge is how long a file counts without a sign of life from its process.
	MaxAge = time.Hour
	// maxFileSize bounds what is read of one file, in bytes.
	maxFileSize = 1 << 20
	// maxFiles bounds how many files List reads: the ones written last.
	maxFiles = 256
	// leftoverAge is how old a file must be to be removed: no process has refreshed it
	// for so long, even one on another machine whose clock is off by hours.
	leftoverAge = 24 * time.Hour

	schemaVersion = 1
	suffix        = ".quarantine.json"
)

// A Record is one engine's failure.
type Record struct {
	EngineID   string
	Owner      string
	Operation  string
	Reason     string
	Class      string
	Generation uint64
	FailedAt   time.Time
}

// A Dir is a folder of records. Safe for concurrent use.
type Dir struct {
	path, name string
	now        func() time.Time
	alive      func(pid int, started string) bool

	mu      sync.Mutex
	records []Record
	swept   bool
}

// Options are for tests: nil or zero fields mean the real thing.
type Options struct {
	Now func() time.Time
	// Alive reports whether the process of this machine that had pid and began
	// at started ("": unknown) still runs.
	Alive func(pid int, started string) bool
}

// file is what stands on disk.
type file struct {
	Version   int       `json:"version"`
	PID       int       `json:"pid"`
	Started   string    `json:"started,omitempty"` // tells a reused process id, where the system can
	Host      string    `json:"host"`
	Heartbeat time.Time `json:"heartbeat"`
	Records   []Record  `json:"records"`
}

// New returns the folder at path as this process sees it. Nothing is touched
// before the first record.
func New(path string, opts *Options) *Dir {
	d := &Dir{path: path, now: time.Now, alive: stillRuns}
	if opts != nil && opts.Now != nil {
		d.now = opts.Now
	}
	if opts != nil && opts.Alive != nil {
		d.alive = opts.Alive
	}
	// The token keeps two Dirs of one process, and a reused process id, apart.
	d.name = fmt.Sprintf("%d-%s%s", os.Getpid(), rand.Text()[:8], suffix)
	return d
}

// Put stores a record; one of the same engine is replaced.
func (d *Dir) Put(ctx context.Context, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(d.records), func(o Record) bool { return o.EngineID == r.EngineID })
	next = append(next, r)
	slices.SortStableFunc(next, func(a, b Record) int { return a.FailedAt.Compare(b.FailedAt) })
	d.records = next[:min(len(next), MaxRecords)]
	return d.write()
}

// Clear removes this process's record of an engine.
func (d *Dir) Clear(ctx context.Context, engineID string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(d.records), func(o Record) bool { return o.EngineID == engineID })
	if len(next) == len(d.records) {
		return nil
	}
	d.records = next
	if len(next) > 0 {
		return d.write()
	}
	if err := os.Remove(filepath.Join(d.path, d.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing health file: %w", err)
	}
	return nil
}

// write replaces this process's file. d.mu is held.
func (d *Dir) write() error {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	data, err := json.Marshal(file{Version: schemaVersion, PID: os.Getpid(), Started: processStart(os.Getpid()), Host: host, Heartbeat: d.now().UTC(), Records: d.records})
	if err != nil {
		return fmt.Errorf("encoding health records: %w", err)
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("making health folder: %w", err)
	}
	tmp, err := os.CreateTemp(d.path, d.name+".*.tmp")
	if err != nil {
		return fmt.Errorf("writing health file: %w", err)
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(d.path, d.name))
	}
	if err != nil {
		return fmt.Errorf("writing health file: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	if !d.swept {
		d.swept = true
		d.sweep()
	}
	return nil
}

// sweep removes what processes left that ended long ago. A file that cannot be removed
// does no harm.
func (d *Dir) sweep() {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), suffix) || !e.Type().IsRegular() || e.Name() == d.name {
			continue
		}
		if info, err := e.Info(); err == nil && d.now().Sub(info.ModTime()) > leftoverAge {
			_ = os.Remove(filepath.Join(d.path, e.Name()))
		}
	}
}

// List returns the records of all live processes, one per engine, the earliest.
// Files that cannot be read, are torn or stale are passed over; only a folder
// that cannot be listed is an error. A missing folder has no records.
func (d *Dir) List(ctx context.Context) ([]Record, error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing health folder: %w", err)
	}
	earliest := make(map[string]Record)
	for _, name := range newest(entries) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, r := range d.read(name) {
			if old, ok := earliest[r.EngineID]; !ok || r.FailedAt.Before(old.FailedAt) {
				earliest[r.EngineID] = r
			}
		}
	}
	return slices.SortedFunc(maps.Values(earliest), func(a, b Record) int {
		return cmp.Or(a.FailedAt.Compare(b.FailedAt), strings.Compare(a.EngineID, b.EngineID))
	}), nil
}

// newest returns the names of the files written last, so that what ended processes left
// does not keep live ones from being read.
func newest(entries []fs.DirEntry) []string {
	var files []fs.FileInfo
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil { // else it has just gone
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	names := make([]string, 0, maxFiles)
	for _, f := range files[:min(len(files), maxFiles)] {
		names = append(names, f.Name())
	}
	return names
}

// read returns the records of one file, none when it does not count.
func (d *Dir) read(name string) []Record {
	f, err := os.Open(filepath.Join(d.path, name))
	if err != nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize))
	if errors.Join(err, f.Close()) != nil {
		return nil
	}
	var content file
	if json.Unmarshal(data, &content) != nil || content.Version != schemaVersion || !d.live(content) {
		return nil
	}
	return slices.DeleteFunc(content.Records, func(r Record) bool {
		return r.EngineID == "" || r.Operation == "" || r.FailedAt.IsZero()
	})
}

// live reports whether the process behind a file is there: it gave a sign of
// life not long ago and, where that can be told, still runs. A heartbeat from
// the future is a clock that was set back, and counts.
func (d *Dir) live(f file) bool {
	if f.PID <= 0 || f.Heartbeat.IsZero() || d.now().Sub(f.Heartbeat) > MaxAge {
		return false
	}
	host, err := os.Hostname()
	if err != nil || host != f.Host {
		return true // another machine on a shared disk: the heartbeat must do
	}
	return d.alive(f.PID, f.Started)
}

func stillRuns(pid int, started string) bool {
	if now := processStart(pid); started != "" && now != "" && now != started {
		return false
	}
	return pid == os.Getpid() || processAlive(pid)
}

// processStart returns when a process began, in the system's own unit, where
// the system tells (Linux), else "".
func processStart(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command's name stands in parentheses and may hold anything; the start
	// time is the 20th field behind it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}
