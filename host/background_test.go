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

// slowMaintainer maintains in the background, after a turn, for a second; then it reads the
// transcript and says so.
func slowMaintainer(tp *tape) *probe {
	p := newProbe("alpha", ce.HookMaintain|ce.HookAfterTurn|ce.HookSessionEnded|ce.HookBootstrap, tp)
	p.About.TurnMaintenance = ce.MaintenanceBackground
	p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
		if q.Reason != ce.MaintainTurn {
			return transcript.RewriteResult{}, nil
		}
		<-time.After(time.Second)
		v, err := q.Log.View(ctx)
		tp.Add("maintained %s error=%v", saidAll(v.Messages), err)
		return transcript.RewriteResult{}, err
	}
	return p
}

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

// The engine hears of a session's end after its maintenance, and takes it up anew if it goes
// on all the same.
func TestEndSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tp tape
		reg := &ce.Registry{}
		register(t, reg, slowMaintainer(&tp))
		h := newHost(t, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.NewModel(hosttest.Reply("a"), hosttest.Reply("b")),
		})
		_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
		require.NoError(t, err)
		require.NoError(t, h.EndSession(t.Context(), ref("s"), ce.BoundaryReset, ref("next")))
		_, err = h.Run(t.Context(), ref("s"), message.User("two"), nil)
		require.NoError(t, err)
		require.Equal(t, []string{
			"maintained [u:one | a:a] error=<nil>",
			"alpha sessionEnded s reset next",
			"alpha bootstrap s resumed rows=2",
		}, tp.Take()[5:8])
		require.NoError(t, h.Close(t.Context()))
	})
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
