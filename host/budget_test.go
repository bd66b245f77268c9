package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/tokens"
)

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

// The host's context is part of the budget: an engine that fills what it is told overflows
// nothing.
func TestContextIsPartOfTheBudget(t *testing.T) {
	t.Parallel()
	compactions := 0
	p := newProbe("alpha", 0, &tape{})
	p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
		compactions++
		return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
	}
	p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
		left, cut := q.TokenBudget, len(q.Messages)
		for ; cut > 0; cut-- {
			if left -= (byteCount{}).Message(q.Messages[cut-1]); left < 0 {
				break
			}
		}
		return ce.AssembleResult{Messages: q.Messages[cut:], EstimatedTokens: q.TokenBudget - max(left, 0)}
	}
	reg := &ce.Registry{}
	register(t, reg, p)
	h := newHost(t, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Estimator: byteCount{},
		Model: hosttest.Always(hosttest.Reply("ok")), Models: windowOf(8000),
	})
	for range 20 {
		_, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("x", 500)), nil)
		require.NoError(t, err)
	}
	compactions = 0
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), &host.TurnOptions{
		Context: []message.Message{message.User(strings.Repeat("y", 1000))},
	})
	require.NoError(t, err)
	require.Zero(t, compactions)
	check, ok := h.LastPrecheck(ref("s"))
	require.True(t, ok)
	require.Equal(t, "fits", check.Route)
	require.GreaterOrEqual(t, check.EngineEstimate, 1001, "the context counts")
}

// C4: the numbers of the public report. The engine gets the budget of the precheck,
// not the window.
func TestC4_BudgetOfThePrecheck(t *testing.T) {
	t.Parallel()
	var got ce.CompactParams
	h, m, _ := setUp(t, 0, func(p *probe, o *host.Options) {
		o.Estimator = byteCount{}
		o.Models = func(context.Context, string) (host.ModelInfo, error) {
			return host.ModelInfo{Budget: tokens.Budget{Window: 272_000, Reserve: 50_000}}, nil
		}
		small := 1_000
		p.OnCompact = func(_ context.Context, q ce.CompactParams) (ce.CompactResult, error) {
			got = q
			if q.CurrentTokens <= q.TokenBudget {
				return ce.CompactResult{OK: true, Reason: "already under target"}, nil
			}
			p.OnAssemble = func(ce.AssembleParams) ce.AssembleResult {
				return ce.AssembleResult{Messages: []message.Message{}}
			}
			return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{TokensAfter: &small}}, nil
		}
	}, hosttest.Reply("a"), hosttest.Reply("b"))
	_, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("x", 200_000)), nil)
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s"), message.User(strings.Repeat("y", 30_656)), nil)
	require.NoError(t, err)
	require.Equal(t, 222_000, got.TokenBudget)
	require.Equal(t, 230_657, got.CurrentTokens)
	require.True(t, got.Force)
	require.Equal(t, ce.GoalBudget, got.Goal)
	require.LessOrEqual(t, m.Requests()[1].Estimated, 222_000)
	check, ok := h.LastPrecheck(ref("s"))
	require.True(t, ok)
	require.Equal(t, "fits", check.Route)
	require.Equal(t, 222_000, check.PromptBudget)
	_, ok = h.LastPrecheck(ref("unknown"))
	require.False(t, ok)
}

// brokenState is a state store that fails.
type brokenState struct{}

func (brokenState) Load(context.Context, ce.SessionRef, string) ([]byte, error) { return nil, errDisk }

func (brokenState) Save(context.Context, ce.SessionRef, string, []byte) error { return errDisk }

func (brokenState) Delete(context.Context, ce.SessionRef) error { return errDisk }

func oneModel(window int) func(context.Context, string) (host.ModelInfo, error) {
	return func(context.Context, string) (host.ModelInfo, error) {
		m := host.ModelInfo{Provider: "p", ID: "m"}
		m.Budget.Window, m.Budget.MinPrompt = window, 1
		return m, nil
	}
}
