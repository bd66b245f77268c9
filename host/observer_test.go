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

// What was learnt of the estimate outlives the program, and budgets follow it.
func TestCalibrationSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(state host.StateStore) (*host.Host, *[]int) {
		budgets := &[]int{}
		h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
			o.Estimator, o.Models, o.State = byteCount{}, oneModel(10_000), state
			p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
				*budgets = append(*budgets, q.TokenBudget)
				return ce.AssembleResult{Messages: q.Messages}
			}
		}, hosttest.ReplyUsing("a", &message.Usage{Input: 2_000}), hosttest.Reply("b"))
		return h, budgets
	}
	h, budgets := open(host.DirState(dir))
	_, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("x", 1_000)), nil)
	require.NoError(t, err)
	require.NoError(t, h.EndSession(t.Context(), ref("s"), ce.BoundaryDeleted, ce.SessionRef{}))
	require.Equal(t, []int{9_000}, *budgets)

	h, budgets = open(host.DirState(dir))
	_, err = h.Run(t.Context(), ref("t"), message.User("x"), nil)
	require.NoError(t, err)
	require.Equal(t, []int{4_999}, *budgets, "the provider counts two for one")

	h, budgets = open(brokenState{})
	_, err = h.Run(t.Context(), ref("t"), message.User("x"), nil)
	require.NoError(t, err, "a calibration that cannot be kept is learnt again")
	require.Equal(t, []int{9_999}, *budgets)
}

func oneModel(window int) func(context.Context, string) (host.ModelInfo, error) {
	return func(context.Context, string) (host.ModelInfo, error) {
		m := host.ModelInfo{Provider: "p", ID: "m"}
		m.Budget.Window, m.Budget.MinPrompt = window, 1
		return m, nil
	}
}

// brokenState is a state store that fails.
type brokenState struct{}

func (brokenState) Load(context.Context, ce.SessionRef, string) ([]byte, error) { return nil, errDisk }
func (brokenState) Save(context.Context, ce.SessionRef, string, []byte) error   { return errDisk }
func (brokenState) Delete(context.Context, ce.SessionRef) error                 { return errDisk }

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
