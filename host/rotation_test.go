package host_test

import (
	"context"
	"strings"
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

// How a session stands goes on where it moves to, from that moment on; nothing stays open
// where it came from.
func TestStandingGoesWithTheSession(t *testing.T) {
	t.Parallel()
	st := newFaultStore(transcript.NewMemory())
	p := newProbe("alpha", 0, &tape{})
	p.OnCompact = rotatesTo(st, "s2")
	reg := &ce.Registry{}
	register(t, reg, p)
	h := hostOver(t, st, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Models: windowOf(8000)})
	tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), &host.TurnOptions{Settings: map[string]string{"mood": "calm"}})
	require.NoError(t, err)
	again, err := tn.Recover(t.Context(), errTooLong)
	require.NoError(t, err)
	require.True(t, again)
	now := h.Status(tn.Session())
	require.Equal(t, 1, now.Compactions)
	require.Equal(t, 8000, now.Window)
	require.Equal(t, map[string]string{"mood": "calm"}, now.Settings)
	out, err := tn.End(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "s2", out.Session.SessionID)
	require.Equal(t, now, h.Status(out.Session))
	require.NoError(t, h.Close(t.Context()))
	require.Zero(t, st.live.Load(), "logs are open")
}

// The engine is told once of the session that a compaction moved to, before it gets any other
// hook of it, and not of one that it knows already.
func TestSuccessorIsBootstrappedOnce(t *testing.T) {
	t.Parallel()
	st := transcript.NewMemory()
	var tp tape
	p := newProbe("alpha", ce.HookBootstrap|ce.HookAfterTurn, &tp)
	p.OnCompact = rotatesTo(st, "s2")
	reg := &ce.Registry{}
	register(t, reg, p)
	h := hostOver(t, st, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Models: windowOf(8000), Model: hosttest.Always(hosttest.Reply("ok")),
	})
	for _, id := range []string{"s", "s"} {
		_, err := h.Run(t.Context(), ref(id), message.User("x"), nil)
		require.NoError(t, err)
	}
	_, err := h.Compact(t.Context(), ref("s"), "")
	require.NoError(t, err)
	p.OnCompact = movesTo("s")
	_, err = h.Run(t.Context(), ref("s2"), message.User("x"), nil)
	require.NoError(t, err)
	_, err = h.Compact(t.Context(), ref("s2"), "")
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	var got []string
	for _, line := range tp.Take() {
		if strings.HasPrefix(line, "alpha bootstrap") {
			got = append(got, line)
		}
	}
	require.Equal(t, []string{"alpha bootstrap s new rows=0", "alpha bootstrap s2 rotated from s rows=4"}, got)
}

// A session keeps what it holds when a compaction claims to move back to where it came from
// and nothing is there any more.
func TestSuccessorThatIsHeldStaysHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := transcript.NewMemory()
		p := newProbe("alpha", 0, &tape{})
		p.OnCompact = rotatesTo(st, "s2")
		reg := &ce.Registry{}
		register(t, reg, p)
		h := hostOver(t, st, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Models: windowOf(8000)})
		tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), nil)
		require.NoError(t, err)
		_, err = tn.Recover(t.Context(), errTooLong)
		require.NoError(t, err)
		require.NoError(t, st.Delete(t.Context(), "s"))
		p.OnCompact = movesTo("s")
		_, err = tn.Recover(t.Context(), errTooLong)
		require.Error(t, err)

		begun := make(chan *host.Turn, 1)
		go func() {
			other, err := h.Begin(t.Context(), ref("s"), message.User("two"), nil)
			if err != nil {
				t.Error(err)
			}
			begun <- other
		}()
		synctest.Wait()
		require.Empty(t, begun, "the former id is held until the turn ends")
		_, err = tn.End(t.Context(), nil)
		require.NoError(t, err)
		_, err = (<-begun).End(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A session that moves to where maintenance still runs waits for it: no other hook of that
// session comes beside it.
func TestMaintenanceOfTheSuccessorIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"soon over": false, "takes too long": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := transcript.NewMemory()
				p := newProbe("alpha", ce.HookMaintain, &tape{})
				p.About.TurnMaintenance = ce.MaintenanceBackground
				running, overlaps := 0, 0
				took := time.Second
				if refused {
					took = 10 * time.Second
				}
				p.OnMaintain = func(_ context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
					if q.SessionID == "s2" {
						running++
						if running > 1 {
							overlaps++
						}
						<-time.After(took)
						running--
					}
					return transcript.RewriteResult{}, nil
				}
				p.OnCompact = movesTo("s2")
				reg := &ce.Registry{}
				register(t, reg, p)
				h := hostOver(t, st, &host.Options{
					Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Models: windowOf(8000), Model: hosttest.Always(hosttest.Reply("ok")),
				})
				tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), nil)
				require.NoError(t, err)
				_, err = h.Run(t.Context(), ref("s2"), message.User("two"), nil)
				require.NoError(t, err)
				again, err := tn.Recover(t.Context(), errTooLong)
				require.Equal(t, refused, err != nil, "%v", err)
				require.Equal(t, !refused, again)
				require.Zero(t, overlaps)
				out, err := tn.End(t.Context(), err)
				require.NoError(t, err)
				require.Equal(t, map[bool]string{false: "s2", true: "s"}[refused], out.Session.SessionID)
				_, err = h.Run(t.Context(), ref("s2"), message.User("free"), nil)
				require.NoError(t, err)
				require.NoError(t, h.Close(t.Context()))
			})
		})
	}
}
