package host_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestDirState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := host.DirState(dir)
	_, err := s.Load(t.Context(), ref("a"), "status")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, s.Save(t.Context(), ref("a"), "status", []byte("one")))
	require.NoError(t, s.Save(t.Context(), ref("a"), "status", []byte("two\n")))
	require.NoError(t, s.Save(t.Context(), ref("b"), "status", nil))
	got, err := host.DirState(dir).Load(t.Context(), ref("a"), "status")
	require.NoError(t, err)
	require.Equal(t, "two\n", string(got))
	require.NoError(t, s.Delete(t.Context(), ref("a")))
	require.NoError(t, s.Delete(t.Context(), ref("a")))
	_, err = s.Load(t.Context(), ref("a"), "status")
	require.ErrorIs(t, err, fs.ErrNotExist)
	got, err = s.Load(t.Context(), ref("b"), "status")
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestDirStateTorn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := host.DirState(dir)
	require.NoError(t, s.Save(t.Context(), ref("a"), "status", []byte("some value")))
	file := filepath.Join(dir, "a.state", "status")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for n := range len(whole) {
		require.NoError(t, os.WriteFile(file, whole[:n], 0o600))
		_, err := s.Load(t.Context(), ref("a"), "status")
		require.ErrorIs(t, err, host.ErrTornState, "%d bytes", n)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no leftovers")
}

// Whatever session ids are, their values do not mix and stay in their folder.
func TestDirStateNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := host.DirState(filepath.Join(dir, "in"))
	ids := []string{"..", ".", "", "a/b", "A", "a", "é", "a%", "con:1", strings.Repeat("x", 500), strings.Repeat("x", 501)}
	for _, id := range ids {
		require.NoError(t, s.Save(t.Context(), ref(id), "../n", []byte(id)), id)
	}
	for _, id := range ids {
		got, err := s.Load(t.Context(), ref(id), "../n")
		require.NoError(t, err)
		require.Equal(t, id, string(got))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestDirStateKeepsBytes(t *testing.T) {
	t.Parallel()
	s := host.DirState(t.TempDir())
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.SliceOf(rapid.Byte()).Draw(r, "value")
		id := rapid.String().Draw(r, "id")
		require.NoError(r, s.Save(t.Context(), ref(id), "v", value))
		got, err := s.Load(t.Context(), ref(id), "v")
		require.NoError(r, err)
		require.Equal(r, string(value), string(got))
	})
}

// A host that starts again finds how a session stands; what is torn starts anew
// and says so.
func TestStateSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), transcript.NewMemory()
	start := func(steps ...hosttest.Step) (*host.Host, func()) {
		h, err := host.New(store, &host.Options{Model: hosttest.NewModel(steps...), State: host.DirState(dir)})
		require.NoError(t, err)
		return h, func() { require.NoError(t, h.Close(t.Context())) }
	}
	h, stop := start(hosttest.ReplyUsing("a", &message.Usage{Input: 90, Output: 10, Total: 100}))
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), &host.TurnOptions{Settings: map[string]string{"think": "high"}})
	require.NoError(t, err)
	stop()

	h, stop = start(hosttest.Reply("b"))
	out, err := h.Run(t.Context(), ref("s"), message.User("y"), nil)
	require.NoError(t, err)
	require.Equal(t, 100, h.Status(ref("s")).Used)
	require.Equal(t, "high", h.Status(ref("s")).Settings["think"])
	for _, e := range out.Events {
		require.NotEqual(t, host.OpState, e.Operation)
	}
	stop()

	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.state", "status"), []byte("half a va"), 0o600))
	h, stop = start(hosttest.Reply("c"))
	out, err = h.Run(t.Context(), ref("s"), message.User("z"), nil)
	require.NoError(t, err)
	require.Equal(t, host.OpState, out.Events[0].Operation)
	require.ErrorIs(t, out.Events[0].Err, host.ErrTornState)
	require.Zero(t, h.Status(ref("s")).Used)
	require.NoError(t, h.EndSession(t.Context(), ref("s"), ce.BoundaryDeleted, ce.SessionRef{}))
	stop()
	_, err = host.DirState(dir).Load(t.Context(), ref("s"), "status")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A counting pass belongs to one session and is kept with it.
type countingPass struct{ applied, observed byte }

func (p *countingPass) Apply(ms []message.Message, _ prune.Input) []message.Message {
	p.applied++
	return ms
}
func (p *countingPass) Observe(message.Usage, time.Time) { p.observed++ }
func (p *countingPass) Snapshot() []byte                 { return []byte{p.observed} }
func (p *countingPass) Restore(b []byte) error {
	p.observed = b[0]
	return nil
}

func TestStatefulPassesAreKeptPerSession(t *testing.T) {
	t.Parallel()
	state, store := host.DirState(t.TempDir()), transcript.NewMemory()
	var made []*countingPass
	start := func() *host.Host {
		h, err := host.New(store, &host.Options{
			Model: hosttest.Always(hosttest.ReplyUsing("a", &message.Usage{Input: 5, Total: 5})), State: state,
			Passes: func(ce.SessionRef) []prune.Pass {
				made = append(made, &countingPass{})
				return []prune.Pass{made[len(made)-1]}
			},
		})
		require.NoError(t, err)
		return h
	}
	h := start()
	for _, id := range []string{"s", "other", "s"} {
		_, err := h.Run(t.Context(), ref(id), message.User("x"), nil)
		require.NoError(t, err)
	}
	require.NoError(t, h.Close(t.Context()))
	require.Len(t, made, 2)
	require.EqualValues(t, 2, made[0].observed)
	h = start()
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	require.NoError(t, h.Close(t.Context()))
	require.EqualValues(t, 3, made[2].observed)
}

// A session's state is read once.
func TestStateIsReadOnce(t *testing.T) {
	t.Parallel()
	st := countingState{host.DirState(t.TempDir()), map[string]int{}}
	h := newHost(t, &host.Options{Model: hosttest.Always(hosttest.Reply("ok")), State: st})
	for range 3 {
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		h.Status(ref("s"))
	}
	require.Equal(t, 1, st.loads["status"])
	require.Equal(t, 1, st.loads["calibration"])
}

// What a host knows of sessions that it no longer keeps at hand is in the state store.
func TestSessionsAreUnloadedAndRecalled(t *testing.T) {
	t.Parallel()
	h := hostOver(t, transcript.NewMemory(), &host.Options{
		Model: hosttest.Always(hosttest.ReplyUsing("ok", &message.Usage{Input: 123, Output: 1, Total: 124})),
	})
	names := []string{"first"}
	for i := range 40 {
		names = append(names, strings.Repeat("s", i+1))
	}
	for _, name := range names {
		_, err := h.Run(t.Context(), ref(name), message.User("hi"), nil)
		require.NoError(t, err)
	}
	out, err := h.Run(t.Context(), ref("first"), message.User("again"), nil)
	require.NoError(t, err)
	require.Equal(t, "ok", out.Reply.Text())
	require.Equal(t, 124, h.Status(ref("first")).Used)
}

// A state store that hangs holds the end of a turn for a moment only.
func TestStateThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, &host.Options{Model: hosttest.Always(hosttest.Reply("ok")), State: hangingState{}})
		start := time.Now()
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		require.Less(t, time.Since(start), 10*time.Second)
		require.NoError(t, h.Close(t.Context()))
	})
}

// Nor does it hold every round of a tool loop, after each of which what the engine was given
// is noted.
func TestStateThatHangsInAToolLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []hosttest.Step
		for _, id := range []string{"c1", "c2", "c3", "c4", "c5"} {
			steps = append(steps, hosttest.Calls(call(id, "read")))
		}
		h, _, _ := setUp(t, ce.HookAfterTurn, func(p *probe, o *host.Options) {
			p.About.OwnsCompaction = true
			o.State, o.Tools = hangingState{}, []ce.Tool{readTool("data")}
		}, append(steps, hosttest.Reply("ok"))...)
		start := time.Now()
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), 10*time.Second, "once in the loop, once at the end")
		require.NoError(t, h.Close(t.Context()))
	})
}

// countingState counts what is read.
type countingState struct {
	host.StateStore
	loads map[string]int
}

func (c countingState) Load(ctx context.Context, r ce.SessionRef, name string) ([]byte, error) {
	c.loads[name]++
	return c.StateStore.Load(ctx, r, name)
}

// A hangingState waits for the end of the context.
type hangingState struct{}

func (hangingState) Load(context.Context, ce.SessionRef, string) ([]byte, error) {
	return nil, fs.ErrNotExist
}

func (hangingState) Save(ctx context.Context, _ ce.SessionRef, _ string, _ []byte) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (hangingState) Delete(context.Context, ce.SessionRef) error { return nil }
