package host_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
)

// The engine hears of a session's end after the open turn.
func TestEndSessionWaitsForTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tp tape
		reg := &ce.Registry{}
		register(t, reg, newProbe("alpha", ce.HookAfterTurn|ce.HookSessionEnded, &tp))
		h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}})
		tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), nil)
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- h.EndSession(t.Context(), ref("s"), ce.BoundaryReset, ref("s2")) }()
		synctest.Wait()
		require.Empty(t, ended)
		_, err = tn.End(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, <-ended)
		require.Equal(t, []string{
			`alpha assemble [] prompt="one" budget=0 tools=unknown`,
			"alpha afterTurn [u:one] new=[u:one] budget=0",
			"alpha sessionEnded s reset s2",
		}, tp.Take())
		require.NoError(t, h.Close(t.Context()))
	})
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
