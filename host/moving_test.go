package host_test

import (
	"context"
	"errors"
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

// Sessions that begin at once share one engine: it is resolved once.
func TestEngineIsResolvedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := make(chan struct{}, 9)
		reg := &ce.Registry{}
		require.NoError(t, reg.Register("alpha", "o", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
			made <- struct{}{}
			<-time.After(time.Second)
			return newProbe("alpha", 0, &tape{}), nil
		}))
		h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.Always(hosttest.Reply("ok"))})
		errs := make(chan error, 3)
		for _, id := range []string{"a", "b", "c"} {
			go func() {
				_, err := h.Run(t.Context(), ref(id), message.User("x"), nil)
				errs <- err
			}()
		}
		for range 3 {
			require.NoError(t, <-errs)
		}
		require.Len(t, made, 1)
		require.NoError(t, h.Close(t.Context()))
	})
}
