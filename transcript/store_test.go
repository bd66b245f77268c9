package transcript_test

import (
	"context"
	"io/fs"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
	"github.com/go-contextengine/contextengine/transcript/storetest"
)

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) transcript.Store { return transcript.NewMemory() }, &storetest.Options{
		Redacting: func(_ *testing.T, redact func(message.Message) message.Message) transcript.Store {
			return transcript.NewMemoryStore(&transcript.MemoryOptions{Redact: redact})
		},
	})
}

func TestDirStore(t *testing.T) {
	t.Parallel()
	for _, mode := range []transcript.SyncMode{transcript.SyncNone, transcript.SyncTurn} {
		t.Run("sync="+string(mode), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			dirs := map[transcript.Store]string{}
			open := func(t *testing.T, dir string) transcript.Store {
				st, err := transcript.OpenDir(dir, &transcript.DirOptions{Sync: mode})
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				dirs[st] = dir
				return st
			}
			dirOf := func(st transcript.Store) string {
				mu.Lock()
				defer mu.Unlock()
				return dirs[st]
			}
			storetest.Run(t, func(t *testing.T) transcript.Store { return open(t, t.TempDir()) }, &storetest.Options{
				Reopen: func(t *testing.T, st transcript.Store) transcript.Store { return open(t, dirOf(st)) },
				Second: func(t *testing.T, st transcript.Store) transcript.Store { return open(t, dirOf(st)) },
				Redacting: func(t *testing.T, redact func(message.Message) message.Message) transcript.Store {
					st, err := transcript.OpenDir(t.TempDir(), &transcript.DirOptions{Sync: mode, Redact: redact})
					require.NoError(t, err)
					return st
				},
			})
		})
	}
}

func TestHistoryStore(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	histories := map[transcript.Store]*database{}
	open := func(h *database) transcript.Store {
		st := transcript.FromHistory(h)
		mu.Lock()
		defer mu.Unlock()
		histories[st] = h
		return st
	}
	storetest.Run(t, func(t *testing.T) transcript.Store { return open(newDatabase(t)) }, &storetest.Options{
		Reopen: func(_ *testing.T, st transcript.Store) transcript.Store {
			mu.Lock()
			h := histories[st]
			mu.Unlock()
			return open(h)
		},
		Redacting: func(t *testing.T, redact func(message.Message) message.Message) transcript.Store {
			return transcript.NewHistoryStore(newDatabase(t), &transcript.MemoryOptions{Redact: redact})
		},
	})
}

// database is a host's own store: it keeps messages as JSON, and no keys.
type database struct {
	t *testing.T

	mu       sync.Mutex
	sessions map[string][][]byte
	fail     error
}

func newDatabase(t *testing.T) *database {
	return &database{t: t, sessions: map[string][][]byte{}}
}

func (d *database) Load(_ context.Context, id string) ([]message.Message, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	raw, ok := d.sessions[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	ms := make([]message.Message, len(raw))
	for i := range raw {
		require.NoError(d.t, ms[i].UnmarshalJSON(raw[i]))
	}
	return ms, nil
}

func (d *database) Append(_ context.Context, id string, ms ...message.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	for _, m := range ms {
		raw, err := m.AppendJSON(nil)
		require.NoError(d.t, err)
		d.sessions[id] = append(d.sessions[id], raw)
	}
	return nil
}

func (d *database) Sessions(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for id := range d.sessions {
			if !yield(id, nil) {
				return
			}
		}
	}
}

func (d *database) DeleteSession(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, id)
	return nil
}
