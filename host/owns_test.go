package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// OwnsCompaction switches exactly these. One row each.
func TestSpec01_15_09_OwnsCompactionSwitches(t *testing.T) {
	t.Parallel()
	big := message.User(strings.Repeat("x", 9_000))
	overBudget := hosttest.ReplyUsing("b", &message.Usage{Input: 9_000, Total: 9_000})
	tests := []struct {
		name        string
		tools       []ce.Tool
		steps       []hosttest.Step
		inputs      []message.Message
		sign        string // in the trace or the events
		owner, rest bool
	}{
		{
			name: "automatic compaction", sign: "built-in compact trigger=threshold", rest: true,
			steps:  []hosttest.Step{hosttest.Reply("a"), overBudget},
			inputs: []message.Message{message.User("one"), message.User("two")},
		},
		{
			name: "precheck", sign: "event precheck", rest: true,
			steps: []hosttest.Step{hosttest.Reply("a")}, inputs: []message.Message{message.User("one")},
		},
		{
			name: "tool-loop hook", sign: "alpha afterTurn [u:one | a:@c1 | r:c1=data] ", owner: true,
			tools:  []ce.Tool{readTool("data")},
			steps:  []hosttest.Step{hosttest.Calls(call("c1", "read")), hosttest.Reply("a")},
			inputs: []message.Message{message.User("one")},
		},
		{
			name: "events around a compaction that the engine does itself", sign: "event " + host.OpBeforeCompaction, owner: true,
			steps:  []hosttest.Step{hosttest.Fail(&overflow{}), hosttest.Reply("a")},
			inputs: []message.Message{message.User("one")},
		},
		{
			name: "compaction after an overflow", sign: "alpha compact trigger=overflow", owner: true, rest: true,
			steps:  []hosttest.Step{hosttest.Fail(&overflow{}), hosttest.Reply("a")},
			inputs: []message.Message{message.User("one")},
		},
		{
			name: "compaction before a request that is too large", sign: "alpha compact trigger=budget", rest: true,
			steps: []hosttest.Step{hosttest.Reply("a")}, inputs: []message.Message{big},
		},
	}
	for _, tt := range tests {
		for _, owns := range []bool{true, false} {
			name := tt.name + " rest"
			if owns {
				name = tt.name + " owner"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				trace := ownershipTrace(t, owns, tt.tools, tt.steps, tt.inputs)
				want := tt.rest
				if owns {
					want = tt.owner
				}
				found := slices.ContainsFunc(trace, func(l string) bool { return strings.HasPrefix(l, tt.sign) })
				require.Equal(t, want, found, "%s", strings.Join(trace, "\n"))
			})
		}
	}
}

type overflow struct{}

func (*overflow) Error() string { return "prompt is too long: 12000 tokens > 10000 maximum" }

func ownershipTrace(t *testing.T, owns bool, tools []ce.Tool, steps []hosttest.Step, inputs []message.Message) []string {
	t.Helper()
	tp, store := &tape{}, transcript.NewMemory()
	p := newProbe("alpha", ce.HookAfterTurn, tp)
	p.About.OwnsCompaction = owns
	n := 1
	p.OnCompact = func(_ context.Context, q ce.CompactParams) (ce.CompactResult, error) {
		return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{TokensBefore: 2, TokensAfter: &n}}, nil
	}
	reg := &ce.Registry{}
	register(t, reg, p)
	h, err := host.New(store, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.NewModel(steps...), Tools: tools,
		Estimator: byteCount{}, Compactor: &hosttest.Compactor{Store: store, Tape: tp, Keep: 1},
		Models: func(context.Context, string) (host.ModelInfo, error) {
			return host.ModelInfo{ID: "m", Budget: tokens.Budget{Window: 10_000, Reserve: 2_000, MinPrompt: 1}}, nil
		},
	})
	require.NoError(t, err)
	var events []host.Event
	for _, in := range inputs {
		out, err := h.Run(t.Context(), ref("s"), in, nil)
		require.NoError(t, err)
		events = append(events, out.Events...)
	}
	require.NoError(t, h.Close(t.Context()))
	trace := tp.Take()
	for _, e := range events {
		trace = append(trace, "event "+e.Operation)
	}
	return trace
}

// What a list before assembly would cost has everything around it too; a compaction because of
// it is told that the context overflows.
func TestListBeforeAssemblyCountsWhole(t *testing.T) {
	t.Parallel()
	var asked []ce.CompactParams
	h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
		p.About.OwnsCompaction = true
		p.OnAssemble = func(ce.AssembleParams) ce.AssembleResult {
			return ce.AssembleResult{Messages: []message.Message{}, PromptAuthority: ce.AuthorityPreassembly}
		}
		p.OnCompact = func(_ context.Context, q ce.CompactParams) (ce.CompactResult, error) {
			asked = append(asked, q)
			return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
		}
		o.Models, o.Estimator, o.Uncalibrated = windowOf(8000), byteCount{}, true
		o.System = func(context.Context, prompt.Run) (prompt.Prompt, error) {
			return prompt.Text(strings.Repeat("s", 2000)), nil
		}
	}, hosttest.Reply("a"), hosttest.Reply("b"))
	_, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("x", 4000)), nil)
	require.NoError(t, err)
	require.Empty(t, asked)
	_, err = h.Run(t.Context(), ref("s"), message.User(strings.Repeat("y", 1500)), nil)
	require.NoError(t, err)
	check, ok := h.LastPrecheck(ref("s"))
	require.True(t, ok)
	require.Equal(t, 2000+4000+1+1500, check.Estimated)
	require.Equal(t, 2000+1500, check.HostEstimate)
	require.Equal(t, 3, check.UnwindowedCount)
	require.Len(t, asked, 1)
	require.Equal(t, check.Estimated, asked[0].CurrentTokens)
	require.EqualValues(t, ce.CodeContextOverflow, *asked[0].Settings.Diagnostics.DegradedReason)
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
