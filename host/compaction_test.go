package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

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

// The built-in compaction is configured by its own options; what they leave out is the
// host's.
func TestCompactionOptions(t *testing.T) {
	t.Parallel()
	_, err := host.New(transcript.NewMemory(), &host.Options{Compaction: &compact.Options{Mode: "sideways"}})
	require.Error(t, err)
}

// A manual compaction counts by what an owner of compaction would send, where it tells no
// numbers and leaves the log alone.
func TestManualCompactionOfAWindowingOwner(t *testing.T) {
	t.Parallel()
	p := newProbe("alpha", 0, &tape{})
	p.About.OwnsCompaction = true
	tail := 8
	p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
		return ce.AssembleResult{Messages: message.Tail(q.Messages, tail)}
	}
	p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
		tail = max(tail/2, 2)
		return ce.CompactResult{OK: true, Compacted: true}, nil
	}
	reg := &ce.Registry{}
	register(t, reg, p)
	h := newHost(t, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Estimator: byteCount{},
		Model: hosttest.Always(hosttest.ReplyUsing("0123456789", &message.Usage{Input: 100, Total: 5000})),
	})
	for range 5 {
		_, err := h.Run(t.Context(), ref("s"), message.User("0123456789"), nil)
		require.NoError(t, err)
	}
	for _, want := range []struct {
		compacted     bool
		before, after int
	}{{true, 80, 40}, {true, 40, 20}, {false, 20, 20}} {
		r, err := h.Compact(t.Context(), ref("s"), "")
		require.NoError(t, err)
		require.Equal(t, want.compacted, r.Compacted, "%s: %s", r.Reason, r.Detail)
		require.Equal(t, want.before, r.Result.TokensBefore)
		require.Equal(t, want.after, *r.Result.TokensAfter)
	}
}

// A compaction by hand is for the model that the session is run with.
func TestCompactUsesTheSessionsModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	windows := map[string]int{"": 100000, "small": 8000}
	var budget int
	start := func() *host.Host {
		st, err := transcript.OpenDir(dir, nil)
		require.NoError(t, err)
		p := newProbe("alpha", 0, &tape{})
		p.OnCompact = func(_ context.Context, q ce.CompactParams) (ce.CompactResult, error) {
			budget = q.TokenBudget
			return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
		}
		reg := &ce.Registry{}
		register(t, reg, p)
		return hostOver(t, st, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha"}, State: host.DirState(dir), Model: hosttest.Always(hosttest.Reply("ok")),
			Models: func(_ context.Context, name string) (host.ModelInfo, error) {
				return host.ModelInfo{ID: name, Budget: tokens.Budget{Window: windows[name]}}, nil
			},
		})
	}
	h := start()
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), &host.TurnOptions{Model: "small"})
	require.NoError(t, err)
	for range 2 {
		budget = 0
		_, err = h.Compact(t.Context(), ref("s"), "")
		require.NoError(t, err)
		require.LessOrEqual(t, budget, 8000)
		require.NotZero(t, budget)
		require.NoError(t, h.Close(t.Context()))
		h = start()
	}
	_, err = h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	_, err = h.Compact(t.Context(), ref("s"), "")
	require.NoError(t, err)
	require.Greater(t, budget, 50000, "the last turn had the default model")
}

type compactorFunc compactFunc

func (f compactorFunc) CompactSession(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	return f(ctx, p)
}
