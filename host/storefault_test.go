package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// faultStore fails operations by name, from a given call on, and counts open logs.
type faultStore struct {
	transcript.Store
	live atomic.Int32

	mu    sync.Mutex
	from  map[string]int // the first call that fails, counted from 1
	calls map[string]int
}

func newFaultStore(st transcript.Store) *faultStore {
	return &faultStore{Store: st, from: map[string]int{}, calls: map[string]int{}}
}

// Follows implements [transcript.Follower].
func (f *faultStore) Follows() bool { return true }

// fail lets an operation fail from its nth next call on; 0: no more.
func (f *faultStore) fail(op string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from[op], f.calls[op] = n, 0
}

func (f *faultStore) hit(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	if n := f.from[op]; n > 0 && f.calls[op] >= n {
		return errDisk
	}
	return nil
}

func (f *faultStore) lend(op string, open func() (transcript.Log, error)) (transcript.Log, error) {
	if err := f.hit(op); err != nil {
		return nil, err
	}
	log, err := open()
	if err != nil {
		return nil, err
	}
	f.live.Add(1)
	return &faultLog{Log: log, store: f}, nil
}

func (f *faultStore) Create(ctx context.Context, h transcript.Header) (transcript.Log, error) {
	return f.lend("create", func() (transcript.Log, error) { return f.Store.Create(ctx, h) })
}

func (f *faultStore) Open(ctx context.Context, id string) (transcript.Log, error) {
	return f.lend("open", func() (transcript.Log, error) { return f.Store.Open(ctx, id) })
}

func (f *faultStore) Delete(ctx context.Context, id string) error {
	return errors.Join(f.hit("delete"), f.Store.Delete(ctx, id))
}

type faultLog struct {
	transcript.Log
	store *faultStore
	once  sync.Once
}

func (l *faultLog) View(ctx context.Context) (transcript.View, error) {
	if err := l.store.hit("view"); err != nil {
		return transcript.View{}, err
	}
	return l.Log.View(ctx)
}

func (l *faultLog) Append(ctx context.Context, es ...transcript.Entry) ([]transcript.Entry, error) {
	if err := l.store.hit("append"); err != nil {
		return nil, err
	}
	return l.Log.Append(ctx, es...)
}

func (l *faultLog) Close() error {
	l.once.Do(func() { l.store.live.Add(-1) })
	return errors.Join(l.Log.Close(), l.store.hit("close"))
}

// Whatever the store fails at, the session is free for the next turn, and no log stays
// open.
func TestStoreFaults(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"create", "open", "view", "append", "close", "delete"} {
		for n := 1; n <= 8; n++ {
			t.Run(fmt.Sprintf("%s %d", op, n), func(t *testing.T) {
				t.Parallel()
				st := newFaultStore(transcript.NewMemory())
				st.fail(op, n)
				h := hostOver(t, st, &host.Options{
					Model: hosttest.NewModel(hosttest.Calls(call("c", "read")), hosttest.Reply("ok"), hosttest.Reply("ok"), hosttest.Reply("ok")),
					Tools: []ce.Tool{readTool("d")},
				})
				_, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
				if err != nil {
					require.ErrorIs(t, err, errDisk)
				}
				st.fail(op, 0)
				out, err := h.Run(t.Context(), ref("s"), message.User("again"), nil)
				require.NoError(t, err)
				require.NotEmpty(t, out.Reply.Text())
				require.NoError(t, h.Close(t.Context()))
				require.Zero(t, st.live.Load(), "logs are open")
			})
		}
	}
}

// A turn that was answered and stored is not spoilt by what happens to its log later.
func TestLeavingFaultsAreNoFailureOfTheTurn(t *testing.T) {
	t.Parallel()
	for op, n := range map[string]int{"open": 2, "close": 1} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			st := newFaultStore(transcript.NewMemory())
			st.fail(op, n)
			h := hostOver(t, st, &host.Options{Model: hosttest.Always(hosttest.Reply("ok"))})
			out, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
			require.NoError(t, err)
			require.Equal(t, "ok", out.Reply.Text())
		})
	}
}

// A host keeps the logs of a limited number of sessions open, and all of them close with it.
func TestLogsAreKeptOpenUpToALimit(t *testing.T) {
	t.Parallel()
	st := newFaultStore(transcript.NewMemory())
	h := hostOver(t, st, &host.Options{Model: hosttest.Always(hosttest.Reply("ok"))})
	for i := range 40 {
		_, err := h.Run(t.Context(), ref(fmt.Sprint("s", i)), message.User("hi"), nil)
		require.NoError(t, err)
	}
	require.EqualValues(t, 32, st.live.Load())
	require.NoError(t, h.EndSession(t.Context(), ref("s39"), ce.BoundaryDeleted, ce.SessionRef{}))
	require.EqualValues(t, 31, st.live.Load(), "a session that ended is not kept open")
	require.NoError(t, h.Close(t.Context()))
	require.Zero(t, st.live.Load())
}

// A database is a History that others write to as well.
type database struct {
	mu   sync.Mutex
	rows map[string][]message.Message
}

func (d *database) Load(_ context.Context, id string) ([]message.Message, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rows[id] == nil {
		return nil, fs.ErrNotExist
	}
	return append([]message.Message(nil), d.rows[id]...), nil
}

func (d *database) Append(_ context.Context, id string, ms ...message.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows[id] = append(d.rows[id], ms...)
	return nil
}

// What others add between two turns is in the next one, whatever the store.
func TestForeignAppendsAreSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openDir := func() transcript.Store {
		st, err := transcript.OpenDir(dir, nil)
		require.NoError(t, err)
		return st
	}
	d := &database{rows: map[string][]message.Message{}}
	for name, stores := range map[string][2]transcript.Store{
		"history":   {transcript.FromHistory(d), transcript.FromHistory(d)},
		"directory": {openDir(), openDir()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := hosttest.Always(hosttest.Reply("ok"))
			h := hostOver(t, stores[0], &host.Options{Model: m})
			_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
			require.NoError(t, err)
			other := hostOver(t, stores[1], &host.Options{Model: hosttest.Always(hosttest.Reply("seen"))})
			_, err = other.Run(t.Context(), ref("s"), message.User("from the web"), nil)
			require.NoError(t, err)
			_, err = h.Run(t.Context(), ref("s"), message.User("two"), nil)
			require.NoError(t, err)
			require.Equal(t, "[u:one | a:ok | u:from the web | a:seen | u:two]", saidAll(m.Requests()[1].Messages))
		})
	}
}

// A session that another process deleted is a new one at the next turn.
func TestForeignDeleteIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	m := hosttest.Always(hosttest.Reply("ok"))
	h := hostOver(t, st, &host.Options{Model: m})
	_, err = h.Run(t.Context(), ref("s"), message.User("one"), nil)
	require.NoError(t, err)
	other, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	require.NoError(t, other.Delete(t.Context(), "s"))
	_, err = h.Run(t.Context(), ref("s"), message.User("two"), nil)
	require.NoError(t, err)
	require.Equal(t, "[u:two]", saidAll(m.Requests()[1].Messages))
}
