package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/transcript"
)

type compactorFunc compactFunc

func (f compactorFunc) CompactSession(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	return f(ctx, p)
}

// Automatic compactions that free nothing are given up after three, until one frees
// something.
func TestAutomaticCompactionGivesUp(t *testing.T) {
	t.Parallel()
	calls, frees := 0, map[int]bool{3: true}
	opts := &host.Options{
		Estimator: byteCount{}, Models: windowOf(8000), Uncalibrated: true,
		Compactor: compactorFunc(func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
			calls++
			before, after := 9000, 9000
			if frees[calls] {
				after = 100
			}
			return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{TokensBefore: before, TokensAfter: &after}}, nil
		}),
	}
	h := newHost(t, opts)
	tn, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	full := func() message.Message {
		m := message.Assistant(call("c", "read"))
		m.Usage = &message.Usage{Input: 9000, Total: 9000}
		return m
	}
	for range 8 {
		require.NoError(t, tn.Append(t.Context(), full()))
	}
	require.Equal(t, 6, calls, "two in vain, one that helps, three in vain")
	_, err = tn.End(t.Context(), nil)
	require.NoError(t, err)
}

// An answer that broke off fails the turn, and its usage says nothing of the context.
func TestBrokenOffAnswers(t *testing.T) {
	t.Parallel()
	h := newHost(t, &host.Options{Model: hosttest.NewModel(
		hosttest.ReplyUsing("whole", &message.Usage{Input: 10, Total: 20}),
		func(context.Context, host.Request) (message.Message, error) {
			m := message.Assistant(message.Text("half"))
			m.StopReason, m.ErrorMessage, m.Usage = message.StopError, "overloaded", &message.Usage{Input: 70, Total: 77}
			return m, nil
		},
	)})
	_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
	require.NoError(t, err)
	out, err := h.Run(t.Context(), ref("s"), message.User("two"), nil)
	require.ErrorContains(t, err, "overloaded")
	require.Equal(t, "half", out.Reply.Text())
	require.Equal(t, 20, h.Status(ref("s")).Used)
}

type sizedTool struct {
	ce.Tool
	size int
}

func (s sizedTool) Description() string { return strings.Repeat("d", s.size) }

// schemaCount counts tools too.
type schemaCount struct{ byteCount }

func (schemaCount) Schema(raw json.RawMessage) int { return len(raw) }

// What an engine may fill is the prompt budget without system prompt, tools and input.
func TestEngineBudget(t *testing.T) {
	t.Parallel()
	var budget int
	p := newProbe("alpha", 0, &tape{})
	p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
		budget = q.TokenBudget
		return ce.AssembleResult{Messages: q.Messages}
	}
	reg := &ce.Registry{}
	register(t, reg, p)
	h := newHost(t, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Estimator: schemaCount{}, Uncalibrated: true,
		Model: hosttest.Always(hosttest.Reply("ok")), Models: windowOf(8000), Tools: []ce.Tool{sizedTool{readTool("d"), 300}},
		System: func(context.Context, prompt.Run) (prompt.Prompt, error) {
			return prompt.Text(strings.Repeat("s", 500)), nil
		},
	})
	_, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("x", 200)), nil)
	require.NoError(t, err)
	require.LessOrEqual(t, budget, 7000-500-300-200)
	require.Greater(t, budget, 7000-500-300-200-200, "less the rest of the tool's definition")
}

// The host's context stays in front of the input when the user says more.
func TestContextStaysInFrontOfTheInput(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), &host.TurnOptions{Context: []message.Message{message.User("noon")}})
	require.NoError(t, err)
	require.NoError(t, tn.Append(t.Context(), message.Assistant(call("c1", "read"))))
	require.NoError(t, tn.Append(t.Context(), message.ToolResult("c1", "read", message.Text("d")), message.User("more")))
	require.Equal(t, "[u:noon | u:one | a:@c1 | r:c1=d | u:more]", saidAll(tn.Request().Messages))
	_, err = tn.End(t.Context(), nil)
	require.NoError(t, err)
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

// An engine that leaves the log alone tells its own summary to the end of the turn.
func TestSummaryOfTheEngine(t *testing.T) {
	t.Parallel()
	h, _, tp := setUp(t, ce.HookAfterTurn, func(p *probe, o *host.Options) {
		p.About.OwnsCompaction = true
		o.Models = windowOf(8000)
		p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
			n := 1
			return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{Summary: "mine", TokensBefore: 9000, TokensAfter: &n}}, nil
		}
	}, hosttest.Fail(errTooLong), hosttest.Reply("ok"))
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	require.Contains(t, lineWith(tp, "alpha afterTurn"), `summary="mine"`)
}

// The request of an owner that could not assemble is judged: it is the transcript.
func TestOwnerThatCouldNotAssembleIsChecked(t *testing.T) {
	t.Parallel()
	var compactions atomic.Int32
	p := newProbe("alpha", 0, &tape{})
	p.About.OwnsCompaction = true
	p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
		compactions.Add(1)
		return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
	}
	asks := &asking{probe: p, before: func(ce.AssembleParams) bool { return true }}
	reg := &ce.Registry{}
	require.NoError(t, reg.Register("alpha", "test", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return asks, nil }))
	h := newHost(t, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Estimator: byteCount{}, Models: windowOf(8000),
		Model: hosttest.Always(func(_ context.Context, r host.Request) (message.Message, error) {
			if r.Caller != "" {
				return message.Message{}, errors.New("overloaded")
			}
			return message.Assistant(message.Text("ok")), nil
		}),
	})
	out, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("x", 7500)), nil)
	require.NoError(t, err)
	require.Equal(t, "alpha", out.Engine.Answering, "the host's failure is not the engine's")
	require.EqualValues(t, 1, compactions.Load())
}

// An asking engine asks the host's model before it assembles, where it is told to.
type asking struct {
	*probe
	before func(ce.AssembleParams) bool
}

func (a *asking) Assemble(ctx context.Context, q ce.AssembleParams) (ce.AssembleResult, error) {
	if a.before(q) {
		if _, err := q.Runtime.Completer.Complete(ctx, ce.CompletionRequest{}); err != nil {
			return ce.AssembleResult{}, err
		}
	}
	return a.probe.Assemble(ctx, q)
}

// How much of the view an owner of compaction sends, only the provider can say: without its
// word, there is no compaction before the turn.
func TestNoPreflightOfAnOwnerBeforeTheProviderCounted(t *testing.T) {
	t.Parallel()
	for used, want := range map[int]int{0: 0, 6900: 1} {
		compactions := 0
		h, _, _ := setUp(t, ce.HookAfterTurn, func(p *probe, o *host.Options) {
			p.About.OwnsCompaction = true
			o.Models, o.SoftThreshold, o.Estimator, o.Uncalibrated = windowOf(8000), 1000, byteCount{}, true
			p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
				return ce.AssembleResult{Messages: message.Tail(q.Messages, 1)}
			}
			p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
				compactions++
				return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
			}
		}, hosttest.ReplyUsing("a", &message.Usage{Input: used, Total: used}), hosttest.Reply("b"))
		for _, text := range []string{strings.Repeat("x", 6800), "two"} {
			_, err := h.Run(t.Context(), ref("s"), message.User(text), nil)
			require.NoError(t, err)
		}
		require.Equal(t, want, compactions, "used %d", used)
	}
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

// Results that are appended together count one by one for the guard against loops.
func TestLoopOfParallelCalls(t *testing.T) {
	t.Parallel()
	h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
		p.About.OwnsCompaction = true
		n := 1
		p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
			return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{TokensBefore: 9000, TokensAfter: &n}}, nil
		}
	})
	tn, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	again, err := tn.Recover(t.Context(), errTooLong)
	require.NoError(t, err)
	require.True(t, again)
	require.NoError(t, tn.Append(t.Context(), message.Assistant(call("c1", "read"), call("c2", "read"), call("c3", "read"))))
	var results []message.Message
	for _, id := range []string{"c1", "c2", "c3"} {
		results = append(results, message.ToolResult(id, "read", message.Text("the same")))
	}
	err = tn.Append(t.Context(), results...)
	var loop *host.LoopError
	var stored *host.StoredError
	require.ErrorAs(t, err, &loop)
	require.ErrorAs(t, err, &stored)
	_, err = tn.End(t.Context(), err)
	require.NoError(t, err)
}

// A request teaches once: usage that comes after its answer is that of another one.
func TestRequestTeachesOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, &host.Options{Estimator: byteCount{}, Models: windowOf(8000)})
	usage := func(n int) message.Message {
		m := message.Assistant(message.Text("ok"))
		m.Usage = &message.Usage{Input: n, Total: n}
		return m
	}
	for range 2 {
		tn, err := h.Begin(t.Context(), ref("s"), message.User(strings.Repeat("x", 2000)), nil)
		require.NoError(t, err)
		for _, n := range []int{tn.Request().Estimated, 7000} {
			require.NoError(t, tn.Append(t.Context(), usage(n)))
		}
		_, err = tn.End(t.Context(), nil)
		require.NoError(t, err)
	}
	check, ok := h.LastPrecheck(ref("s"))
	require.True(t, ok)
	require.Equal(t, 7000, check.PromptBudget)
}
