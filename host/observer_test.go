package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
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

// A notebook is an observer that keeps events.
type notebook struct {
	mu     sync.Mutex
	events []host.Event
}

func (n *notebook) Observe(_ context.Context, e host.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *notebook) reasons(outcome string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, e := range n.events {
		if e.Outcome == outcome {
			out = append(out, e.Operation+" "+e.Reason)
		}
	}
	return out
}

const secret = "what nobody else may read"

// The logging observer tells ids, codes, counts and durations; no text of messages or of
// errors, which may quote them.
func TestSlogObserverLogsNoContent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var kept notebook
	h, _, _ := setUp(t, ce.HookAfterTurn, func(p *probe, o *host.Options) {
		o.Observer = host.Observers(nil, host.SlogObserver(logger), &kept)
		p.Fail("afterTurn", func(context.Context) error { return errors.New("cannot store: " + secret) })
	}, hosttest.ReplyUsing(secret, &message.Usage{Input: 40, Output: 2}), hosttest.Fail(errors.New("refused: "+secret)))
	_, err := h.Run(t.Context(), ref("s1"), message.User(secret), nil)
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s1"), message.User(secret), nil)
	require.Error(t, err)
	text := out.String()
	require.NotContains(t, text, secret)
	for _, part := range []string{
		"event.op=assemble", "event.engine=alpha", "event.session=s1", "event.input=40", "event.output=2", "event.dur=",
		"level=WARN", "event.outcome=fallback", `event.reason="afterTurn error"`, "event.reason=error",
	} {
		require.Contains(t, text, part)
	}
	require.NotEmpty(t, kept.events)
	out.Reset()
	quiet := host.SlogObserver(slog.New(slog.NewTextHandler(&out, nil)))
	quiet.Observe(t.Context(), host.Event{Operation: host.OpAssemble, Outcome: host.OutcomeOK, Duration: time.Second})
	require.Empty(t, out.String(), "what goes well is for debugging")
}

// The reason of a failure is its class; the error itself is beside it.
func TestEventsClassifyFailures(t *testing.T) {
	t.Parallel()
	for want, fault := range map[string]hosttest.Fault{
		"error": hosttest.Failing, "panic": hosttest.Panicking,
		"host": func(context.Context) error { return &ce.HostError{Op: "read", Err: errDisk} },
		"deadline": func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var kept notebook
				h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
					o.Observer = &kept
					p.Fail("compact", fault)
				}, hosttest.Reply("ok"))
				_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
				require.NoError(t, err)
				_, err = h.Compact(t.Context(), ref("s"), "")
				require.NoError(t, err)
				require.Equal(t, []string{"compact " + want}, kept.reasons(host.OutcomeFailed))
				for _, e := range kept.events {
					require.Equal(t, e.Outcome == host.OutcomeFailed, e.Err != nil)
				}
			})
		})
	}
	t.Run("strict", func(t *testing.T) {
		t.Parallel()
		var kept notebook
		h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
			o.Observer, o.Selection.Policy = &kept, ce.Strict
			p.Fail("assemble", hosttest.Failing)
		})
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.Error(t, err)
		require.Equal(t, []string{"assemble unavailable"}, kept.reasons(host.OutcomeFailed))
	})
	t.Run("aborted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var kept notebook
			h, _, _ := setUp(t, 0, func(_ *probe, o *host.Options) { o.Observer = &kept }, hosttest.Hang())
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := h.Run(ctx, ref("s"), message.User("x"), nil)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, []string{"model cancelled"}, kept.reasons(host.OutcomeFailed))
		})
	})
}

// Each hook is told of by its own name and outcome: a failing maintenance is no failing
// delivery.
func TestEventsNameTheHookThatFailed(t *testing.T) {
	t.Parallel()
	h, _, _ := setUp(t, everyHook, func(p *probe, _ *host.Options) {
		p.Fail("maintain", hosttest.Fine, hosttest.Failing)
	}, hosttest.Reply("ok"), hosttest.Reply("ok"))
	events := func() []string {
		out, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		var got []string
		for _, e := range out.Events {
			got = append(got, e.Operation+" "+e.Engine+" "+e.Outcome)
		}
		return got
	}
	require.Equal(t, []string{
		"bootstrap alpha ok", "maintain alpha ok", "tools alpha ok", "assemble alpha ok", "model alpha ok",
		"commitTurn alpha ok", "maintain legacy fallback",
	}, events())
	require.Contains(t, events(), "model legacy ok", "legacy stands in for an engine, nobody for the model")
}

// An owner of compaction that delegates is told of once.
func TestEventsOfAnOwnerThatDelegates(t *testing.T) {
	t.Parallel()
	var tp tape
	st := transcript.NewMemory()
	p := newProbe("alpha", 0, &tp)
	p.About.OwnsCompaction = true
	reg := &ce.Registry{}
	register(t, reg, p)
	seen := map[string]int{}
	h := hostOver(t, st, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.Always(hosttest.Reply("ok")),
		Compactor: &hosttest.Compactor{Store: st, Tape: &tp, Keep: 1},
		Observer:  observerFunc(func(e host.Event) { seen[e.Operation]++ }),
	})
	for range 3 {
		_, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("a long story ", 50)), nil)
		require.NoError(t, err)
	}
	r, err := h.Compact(t.Context(), ref("s"), "")
	require.NoError(t, err)
	require.True(t, r.Compacted, r.Detail)
	require.Equal(t, 1, seen[host.OpBeforeCompaction])
	require.Equal(t, 1, seen[host.OpAfterCompaction])
	require.Equal(t, 1, seen[host.OpCompact])
}
