package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A host that is closed while sessions are at every point of a turn: each turn ends, its
// calls are closed in the log, the engine is closed once and last, nothing is left running.
func TestCloseWhileBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tp := &tape{}
		p := newProbe("alpha", everyHook, tp)
		p.About.TurnMaintenance = ce.MaintenanceBackground
		p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
			}
			return transcript.RewriteResult{}, nil
		}
		reg := &ce.Registry{}
		register(t, reg, p)
		model := hosttest.StreamModel{Model: hosttest.Always(func(ctx context.Context, r host.Request) (message.Message, error) {
			reply := message.Assistant(message.Text("a"), message.ToolCall("c", "read", nil))
			if r.Messages[len(r.Messages)-1].Role == message.RoleToolResult {
				reply = message.Assistant(message.Text("done"))
			}
			select {
			case <-time.After(time.Second):
				return reply, nil
			case <-ctx.Done():
				return reply, context.Cause(ctx)
			}
		})}
		store := transcript.NewMemory()
		h, err := host.New(store, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: model, Tools: []ce.Tool{readTool("data")},
		})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for s := range 16 {
			wg.Go(func() {
				<-time.After(time.Duration(s) * 300 * time.Millisecond)
				for {
					_, err := h.Run(t.Context(), ref(fmt.Sprint("s", s)), message.User("hi"), nil)
					if errors.Is(err, ce.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("session %d: %v", s, err)
						return
					}
				}
			})
		}
		<-time.After(6200 * time.Millisecond)
		closing, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, h.Close(closing))
		wg.Wait()
		lines := tp.Take()
		require.Equal(t, "alpha close ", lines[len(lines)-1])
		for s := range 16 {
			log, err := store.Open(t.Context(), fmt.Sprint("s", s))
			if errors.Is(err, fs.ErrNotExist) { // it had not begun
				continue
			}
			require.NoError(t, err)
			v, err := log.View(t.Context())
			require.NoError(t, err)
			_, repair := message.RepairPairs(v.Messages, nil)
			require.Equal(t, message.Repair{}, repair, "session %d: %s", s, saidAll(v.Messages))
			require.NoError(t, log.Close())
		}
	})
}

// A tool that comes back after Close changes nothing any more: its call was closed.
func TestToolThatOutlivesTheHost(t *testing.T) {
	t.Parallel()
	store := transcript.NewMemory()
	closed := make(chan error, 1)
	var h *host.Host
	h, err := host.New(store, &host.Options{
		Model: hosttest.NewModel(hosttest.Calls(call("c", "read"))),
		Tools: []ce.Tool{hosttest.Tool("read", func(context.Context, json.RawMessage) ([]message.Block, error) {
			closed <- h.Close(context.WithoutCancel(t.Context()))
			return []message.Block{message.Text("late")}, nil
		})},
	})
	require.NoError(t, err)
	out, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
	require.NoError(t, <-closed)
	require.ErrorIs(t, err, ce.ErrClosed)
	require.ErrorIs(t, err, host.ErrTurnEnded)
	require.Len(t, out.Messages, 3)
	log, err := store.Open(t.Context(), "s")
	require.NoError(t, err)
	v, err := log.View(t.Context())
	require.NoError(t, err)
	require.Len(t, v.Messages, 3)
	require.True(t, message.IsMissingResult(v.Messages[2]))
	require.NoError(t, log.Close())
}

// Who gives up waiting for a session's id gives its key back.
func TestKeyIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, &host.Options{Model: hosttest.Always(hosttest.Reply("ok"))})
		tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), nil)
		require.NoError(t, err)
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = h.Begin(soon, ce.SessionRef{SessionID: "s", SessionKey: "k"}, message.User("two"), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = h.Run(t.Context(), ce.SessionRef{SessionID: "other", SessionKey: "k"}, message.User("three"), nil)
		require.NoError(t, err)
		_, err = tn.End(t.Context(), errors.New("enough"))
		require.NoError(t, err)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A turn that leaves after Close gave up on it keeps no log at hand.
func TestNoLogIsKeptAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newFaultStore(transcript.NewMemory())
		p := newProbe("alpha", ce.HookAfterTurn, &tape{})
		p.Fail("afterTurn", func(context.Context) error {
			<-time.After(time.Second)
			return nil
		})
		reg := &ce.Registry{}
		register(t, reg, p)
		h := hostOver(t, st, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.Always(hosttest.Reply("ok"))})
		done := make(chan error, 1)
		go func() {
			_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
			done <- err
		}()
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, h.Close(ended), context.Canceled)
		require.NoError(t, <-done)
		require.Zero(t, st.live.Load(), "logs are open")
	})
}

// Close ends turns that do nothing, also when its own context has ended.
func TestCloseWithAnEndedContext(t *testing.T) {
	t.Parallel()
	st := newFaultStore(transcript.NewMemory())
	h := hostOver(t, st, nil)
	var turns []*host.Turn
	for i := range 30 {
		tn, err := h.Begin(t.Context(), ref(fmt.Sprint("s", i)), message.User("x"), nil)
		require.NoError(t, err)
		turns = append(turns, tn)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, h.Close(ctx))
	for _, tn := range turns {
		require.ErrorIs(t, tn.Append(t.Context(), message.User("y")), host.ErrTurnEnded)
	}
	require.Zero(t, st.live.Load(), "logs are open")
}

// A Close that gave up can be repeated, and then waits for what was left.
func TestCloseIsRepeatable(t *testing.T) {
	t.Parallel()
	st := newFaultStore(transcript.NewMemory())
	in, out := make(chan struct{}), make(chan struct{})
	h := hostOver(t, st, &host.Options{
		Model: hosttest.Always(hosttest.Reply("ok")), Models: windowOf(8000),
		Passes: passes(passFunc{apply: func(ms []message.Message) []message.Message {
			close(in)
			<-out
			return ms
		}}),
	})
	begun := make(chan error, 1)
	go func() {
		_, err := h.Begin(context.WithoutCancel(t.Context()), ref("s"), message.User("x"), nil)
		begun <- err
	}()
	<-in
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.Close(ctx), context.Canceled)
	close(out)
	require.NoError(t, h.Close(t.Context()))
	require.ErrorIs(t, <-begun, ce.ErrClosed, "a turn of a closed host is none")
	require.Zero(t, st.live.Load(), "logs are open")
}

// What a turn does ends with the host.
func TestOperationsEndWithTheHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbe("alpha", ce.HookAfterTurn, &tape{})
		p.About.OwnsCompaction = true
		p.Fail("afterTurn", hosttest.Hanging)
		reg := &ce.Registry{}
		register(t, reg, p)
		h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{
			Engine: "alpha", Deadline: ce.Deadlines{AfterTurn: time.Hour, EndOfTurn: time.Hour},
		}})
		tn, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		appended := make(chan error, 1)
		go func() { appended <- tn.Append(t.Context(), message.User("y")) }()
		synctest.Wait()
		start := time.Now()
		require.NoError(t, h.Close(t.Context()))
		require.ErrorIs(t, <-appended, ce.ErrClosed)
		require.Less(t, time.Since(start), time.Minute)
	})
}
