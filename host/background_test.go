package host_test

import (
	"context"
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

// Whatever name a session goes by next, its next turn waits for its maintenance, which has
// the log for as long as it takes.
func TestBackgroundIsWaitedForUnderEveryName(t *testing.T) {
	t.Parallel()
	plain, keyed := ref("s"), ce.SessionRef{SessionID: "s", SessionKey: "k"}
	for name, refs := range map[string][2]ce.SessionRef{
		"the same": {plain, plain}, "with a key": {plain, keyed}, "without its key": {keyed, plain}, "by key": {keyed, keyed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var tp tape
				reg := &ce.Registry{}
				register(t, reg, slowMaintainer(&tp))
				st := newFaultStore(transcript.NewMemory())
				h := hostOver(t, st, &host.Options{
					Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.NewModel(hosttest.Reply("a"), hosttest.Reply("b")),
				})
				_, err := h.Run(t.Context(), refs[0], message.User("one"), nil)
				require.NoError(t, err)
				_, err = h.Run(t.Context(), refs[1], message.User("two"), nil)
				require.NoError(t, err)
				require.Equal(t, []string{
					"alpha bootstrap s new rows=0",
					"alpha maintain s bootstrap",
					`alpha assemble [] prompt="one" budget=0 tools=unknown`,
					"alpha afterTurn [u:one | a:a] new=[u:one | a:a] budget=0",
					"alpha maintain s turn deferred",
					"maintained [u:one | a:a] error=<nil>",
					`alpha assemble [u:one | a:a] prompt="two" budget=0 tools=unknown`,
					"alpha afterTurn [u:one | a:a | u:two | a:b] new=[u:two | a:b] budget=0",
				}, tp.Take()[:8])
				require.NoError(t, h.Close(t.Context()))
				require.Zero(t, st.live.Load(), "logs are open")
			})
		})
	}
}

// A former engine is closed with the last turn that needs it.
func TestFormerEngineCloses(t *testing.T) {
	t.Parallel()
	var tp tape
	reg := &ce.Registry{}
	register(t, reg, newProbe("alpha", ce.HookClose, &tp), newProbe("beta", ce.HookClose, &tp))
	h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.Always(hosttest.Reply("ok"))})
	first, err := h.Begin(t.Context(), ref("a"), message.User("x"), nil)
	require.NoError(t, err)
	second, err := h.Begin(t.Context(), ref("b"), message.User("x"), nil)
	require.NoError(t, err)
	h.Select(ce.Selection{Engine: "beta"})
	_, err = h.Run(t.Context(), ref("c"), message.User("x"), nil)
	require.NoError(t, err)
	_, err = first.End(t.Context(), nil)
	require.NoError(t, err)
	require.NotContains(t, tp.Take(), "alpha close ")
	_, err = second.End(t.Context(), nil)
	require.NoError(t, err)
	require.Contains(t, tp.Take(), "alpha close ")
}

// What happens in the background is in no outcome, also when it is over before the turn is.
func TestOutcomeLeavesTheBackgroundOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbe("alpha", ce.HookMaintain, &tape{})
		p.About.TurnMaintenance = ce.MaintenanceBackground
		asked := 0
		p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
			if q.Reason != ce.MaintainTurn {
				return transcript.RewriteResult{}, nil
			}
			_, err := q.Runtime.Completer.Complete(ctx, ce.CompletionRequest{Messages: []message.Message{message.User("sum up")}})
			asked++
			return transcript.RewriteResult{}, err
		}
		reg := &ce.Registry{}
		register(t, reg, p)
		h := newHost(t, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha"}, State: lateState{host.DirState(t.TempDir())},
			Model: hosttest.Always(hosttest.ReplyUsing("ok", &message.Usage{Input: 3, Output: 1, Total: 4})),
		})
		out, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		require.Equal(t, 1, asked, "it is over")
		var got []string
		for _, e := range out.Events {
			got = append(got, e.Operation+" "+e.Outcome)
		}
		require.Equal(t, []string{"maintain ok", "assemble ok", "model ok", "commitTurn ok", "background scheduled"}, got)
		require.Zero(t, out.Spent)
		require.Equal(t, host.Spending{Calls: 1, Input: 3, Output: 1}, h.Spent(ref("s")))
		require.NoError(t, h.Close(t.Context()))
	})
}

// lateState takes its time to save.
type lateState struct{ host.StateStore }

func (s lateState) Save(ctx context.Context, r ce.SessionRef, name string, value []byte) error {
	<-time.After(time.Second)
	return s.StateStore.Save(ctx, r, name, value)
}
