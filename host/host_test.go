package host_test

import (
	"context"
	"fmt"
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

const everyHook = ce.HookBootstrap | ce.HookMaintain | ce.HookAfterTurn | ce.HookSessionEnded | ce.HookTools | ce.HookClose

func TestTurnOrder(t *testing.T) {
	t.Parallel()
	var tp tape
	p := newProbe("alpha", everyHook, &tp)
	reg := &ce.Registry{}
	register(t, reg, p)
	m := hosttest.NewModel(hosttest.Reply("hi"), hosttest.Reply("bye"))
	h, err := host.New(transcript.NewMemory(), &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: m,
	})
	require.NoError(t, err)

	_, err = h.Run(t.Context(), ref("s"), message.User("one"), nil)
	require.NoError(t, err)
	out, err := h.Run(t.Context(), ref("s"), message.User("two"), &host.TurnOptions{IsHeartbeat: true})
	require.NoError(t, err)
	require.Equal(t, "bye", out.Reply.Text())
	require.Equal(t, "[u:two | a:bye]", saidAll(out.Messages))
	require.NoError(t, h.EndSession(t.Context(), ref("s"), ce.BoundaryDeleted, ce.SessionRef{}))
	require.NoError(t, h.Close(t.Context()))
	require.NoError(t, h.Close(t.Context()))
	require.Equal(t, []string{
		"alpha bootstrap s new rows=0",
		"alpha maintain s bootstrap",
		"alpha tools s",
		`alpha assemble [] prompt="one" budget=0 tools=unknown`,
		"alpha afterTurn [u:one | a:hi] new=[u:one | a:hi] budget=0",
		"alpha maintain s turn",
		"alpha tools s",
		`alpha assemble [u:one | a:hi] prompt="two" budget=0 tools=unknown`,
		"alpha afterTurn [u:one | a:hi | u:two | a:bye] new=[u:two | a:bye] budget=0 heartbeat",
		"alpha maintain s turn",
		"alpha sessionEnded s deleted ",
		"alpha close ",
	}, tp.Take())
	_, err = h.Run(t.Context(), ref("s"), message.User("three"), nil)
	require.ErrorIs(t, err, ce.ErrClosed)
}

// Whatever an engine does wrong at whatever step, the turn answers from the
// transcript, with its whole history.
func TestX9_FailingEngineNeverEmptiesTheHistory(t *testing.T) {
	t.Parallel()
	faults := map[string]hosttest.Fault{"error": hosttest.Failing, "panic": hosttest.Panicking}
	for _, hook := range []string{"bootstrap", "maintain", "tools", "assemble", "afterTurn", "nil result"} {
		for name, f := range faults {
			t.Run(hook+" "+name, func(t *testing.T) {
				t.Parallel()
				var tp tape
				p := newProbe("alpha", everyHook, &tp)
				reg := &ce.Registry{}
				register(t, reg, p)
				m := hosttest.Always(hosttest.Reply("ok"))
				h := newHost(t, &host.Options{Registry: reg, Model: m})
				_, err := h.Run(t.Context(), ref("s"), message.User("before"), nil)
				require.NoError(t, err)

				if hook == "nil result" {
					p.OnAssemble = func(ce.AssembleParams) ce.AssembleResult { return ce.AssembleResult{} }
				} else {
					p.Fail(hook, f)
				}
				h.Select(ce.Selection{Engine: "alpha"})
				out, err := h.Run(t.Context(), ref("s"), message.User("now"), nil)
				require.NoError(t, err)
				require.Equal(t, "ok", out.Reply.Text())
				require.Equal(t, "legacy", out.Engine.Answering)
				require.Equal(t, "alpha", out.Engine.Selected)
				require.NotNil(t, out.Engine.Quarantine)
				rs := m.Requests()
				require.Equal(t, "[u:before | a:ok | u:now]", saidAll(rs[len(rs)-1].Messages))
			})
		}
	}
}

func TestStrictFailsTheTurnAndKeepsTheInput(t *testing.T) {
	t.Parallel()
	var tp tape
	p := newProbe("alpha", everyHook, &tp)
	p.Fail("assemble", hosttest.Failing)
	reg := &ce.Registry{}
	register(t, reg, p)
	m := hosttest.Always(hosttest.Reply("ok"))
	h := newHost(t, &host.Options{Registry: reg, Model: m, Selection: ce.Selection{Engine: "alpha", Policy: ce.Strict}})
	_, err := h.Run(t.Context(), ref("s"), message.User("hello"), nil)
	var gone *ce.EngineUnavailableError
	require.ErrorAs(t, err, &gone)
	require.Empty(t, m.Requests())

	h.Select(ce.Selection{})
	out, err := h.Run(t.Context(), ref("s"), message.Message{}, nil)
	require.NoError(t, err)
	require.Equal(t, "[u:hello]", saidAll(m.Requests()[0].Messages))
	require.Equal(t, "[u:hello | a:ok]", saidAll(out.Messages))
}

func TestHostRequirementLeavesNoTrace(t *testing.T) {
	t.Parallel()
	var tp tape
	p := newProbe("alpha", everyHook, &tp)
	p.About.HostRequirements = map[ce.Operation]ce.HostRequirements{
		ce.OpAgentRun: {Required: []ce.Capability{ce.CapThreadBootstrapProjection}},
	}
	reg := &ce.Registry{}
	register(t, reg, p)
	store := transcript.NewMemory()
	h, err := host.New(store, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	_, err = h.Begin(t.Context(), ref("s"), message.User("hello"), nil)
	var missing *ce.HostRequirementError
	require.ErrorAs(t, err, &missing)
	require.Empty(t, tp.Take())
	require.Empty(t, reg.Quarantines())
	for range store.List(t.Context()) {
		t.Fatal("a session was made")
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	_, err := h.Begin(t.Context(), ref("s"), message.Message{}, nil)
	require.ErrorContains(t, err, "no stored history")
	_, err = h.Begin(t.Context(), ref("s"), message.Message{Content: []message.Block{message.Text("x")}}, nil)
	require.ErrorContains(t, err, "no role")
	_, err = h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.ErrorContains(t, err, "no model")
	_, err = host.New(nil, nil)
	require.Error(t, err)
	_, err = host.New(transcript.NewMemory(), &host.Options{Selection: ce.Selection{Policy: "maybe"}})
	require.ErrorContains(t, err, "maybe")
	tn, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	_, err = tn.End(t.Context(), nil)
	require.NoError(t, err)
	require.ErrorIs(t, tn.Append(t.Context(), message.User("y")), host.ErrTurnEnded)
	require.Equal(t, "[u:x]", saidAll(tn.Request().Messages))
}

// Many sessions run their turns at once, each in order; sessions share one engine.
func TestSessionsRunConcurrently(t *testing.T) {
	t.Parallel()
	sessions, turns := 64, 20
	if testing.Short() {
		sessions, turns = 16, 5
	}
	var tp tape
	p := newProbe("alpha", everyHook, &tp)
	reg := &ce.Registry{}
	register(t, reg, p)
	m := hosttest.Always(func(_ context.Context, r host.Request) (message.Message, error) {
		last := r.Messages[len(r.Messages)-1]
		return message.Assistant(message.Text("to " + last.Text())), nil
	})
	h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: m})
	var wg sync.WaitGroup
	errs := make([]error, sessions)
	for s := range sessions {
		wg.Go(func() { errs[s] = converse(t.Context(), h, fmt.Sprintf("s%d", s), turns) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Empty(t, reg.Quarantines())
}

func converse(ctx context.Context, h *host.Host, id string, turns int) error {
	for n := range turns {
		out, err := h.Run(ctx, ref(id), message.User(fmt.Sprintf("%s %d", id, n)), nil)
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("to %s %d", id, n); out.Reply.Text() != want {
			return fmt.Errorf("got %q, want %q", out.Reply.Text(), want)
		}
	}
	return nil
}

func TestNewSessionGetsAnID(t *testing.T) {
	t.Parallel()
	h, _, _ := setUp(t, 0, nil, hosttest.Reply("a"), hosttest.Reply("b"))
	out, err := h.Run(t.Context(), ce.SessionRef{}, message.User("x"), nil)
	require.NoError(t, err)
	require.NotEmpty(t, out.Session.SessionID)
	out, err = h.Run(t.Context(), out.Session, message.User("y"), nil)
	require.NoError(t, err)
	require.Equal(t, "b", out.Reply.Text())
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
