package host_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// What an engine is told of a run when it assembles and compacts.
func TestEnginesAreToldOfTheRun(t *testing.T) {
	t.Parallel()
	var got ce.AssembleParams
	var compacted ce.CompactParams
	h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
		o.Citations, o.Tools, o.Estimator = ce.CitationsOn, []ce.Tool{readTool("d")}, byteCount{}
		o.System = func(_ context.Context, r prompt.Run) (prompt.Prompt, error) {
			require.Equal(t, prompt.ModeMinimal, r.Mode)
			require.Len(t, r.Tools, 1)
			return prompt.Text("0123456789"), nil
		}
		o.Models = func(_ context.Context, name string) (host.ModelInfo, error) {
			return host.ModelInfo{
				Provider: "p", ID: "resolved-" + name, Family: "f",
				Budget: tokens.Budget{Window: 10_000, Reserve: 2_000, MinPrompt: 1, Output: 500},
			}, nil
		}
		p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
			got = q
			return ce.AssembleResult{Messages: q.Messages}
		}
		p.OnCompact = func(_ context.Context, q ce.CompactParams) (ce.CompactResult, error) {
			compacted = q
			return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
		}
	}, hosttest.Reply("ok"))
	_, err := h.Run(t.Context(), ref("s"), message.User("input"), &host.TurnOptions{Model: "big", Mode: prompt.ModeMinimal})
	require.NoError(t, err)
	require.Equal(t, ce.CitationsOn, got.CitationsMode)
	require.Equal(t, "resolved-big", got.Model)
	require.Equal(t, []string{"read"}, got.AvailableTools)
	require.Equal(t, "input", *got.Prompt)
	require.NotNil(t, got.Messages)
	require.LessOrEqual(t, got.TokenBudget, 8_000-10-5)
	s := got.Settings
	require.Equal(t, "alpha", *s.Selection.SelectedID)
	require.Equal(t, "big", *s.Model.Requested)
	require.Equal(t, "resolved-big", *s.Model.Resolved)
	require.Equal(t, "p", *s.Model.Provider)
	require.Equal(t, "f", *s.Model.Family)
	require.Equal(t, got.TokenBudget, *s.Limits.PromptTokenBudget)
	require.Equal(t, 500, *s.Limits.MaxOutputTokens)
	require.NotNil(t, got.Runtime.Compactor)
	require.NotNil(t, got.Runtime.Completer)
	require.NotNil(t, got.Runtime.Estimator)
	require.Nil(t, got.Runtime.Rewriter)
	require.Equal(t, 8_000, got.Runtime.TokenBudget)

	_, err = h.Compact(t.Context(), ref("s"), "dwell on names")
	require.NoError(t, err)
	require.Equal(t, "s", compacted.Target.SessionID)
	require.Equal(t, 8_000, compacted.TokenBudget)
	require.Equal(t, "dwell on names", compacted.CustomInstructions)
	require.Equal(t, ce.GoalThreshold, compacted.Goal)
}

// What Begin cannot take is refused before anything is stored, in words that name the session
// where it has a name.
func TestInputsThatAreNone(t *testing.T) {
	t.Parallel()
	st := transcript.NewMemory()
	h := hostOver(t, st, &host.Options{Model: hosttest.Always(hosttest.Reply("ok"))})
	for _, input := range []message.Message{message.User(""), message.User(" \n"), {Role: message.RoleUser, Timestamp: time.Now()}} {
		_, err := h.Run(t.Context(), ref("s"), input, nil)
		require.ErrorContains(t, err, "the input says nothing")
	}
	_, err := h.Run(t.Context(), ref("s"), message.Message{Content: []message.Block{message.Text("x")}}, nil)
	require.ErrorContains(t, err, "the input has no role")
	_, err = st.Open(t.Context(), "s")
	require.ErrorIs(t, err, fs.ErrNotExist)

	picture := message.Message{Role: message.RoleUser, Content: []message.Block{message.Image("AA==", "image/png")}}
	_, err = h.Run(t.Context(), ref("s"), picture, nil)
	require.NoError(t, err)

	small := hostOver(t, st, &host.Options{Models: func(context.Context, string) (host.ModelInfo, error) {
		return host.ModelInfo{Budget: tokens.NewBudget(1_000, nil)}, nil
	}})
	_, err = small.Begin(t.Context(), ce.SessionRef{}, message.User("x"), nil)
	require.EqualError(t, err, "beginning a turn of a new session: the window of the model has 1000 tokens; at least 4000 are needed")
	require.NoError(t, small.Close(t.Context()))
	_, err = small.Begin(t.Context(), ref("s"), message.User("x"), nil)
	require.EqualError(t, err, "the host is closed")
}

// Engines are told what the provider counted for the last call, and when its cache was last
// touched; after a compaction the former is unknown.
func TestEnginesAreToldOfTheCache(t *testing.T) {
	t.Parallel()
	var told []*ce.PromptCacheInfo
	p := &cacheReader{probe: newProbe("alpha", ce.HookAfterTurn, &tape{}), told: &told}
	p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) { return shrunk(1) }
	reg := &ce.Registry{}
	require.NoError(t, reg.Register("alpha", "o", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return p, nil }))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := newHost(t, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Now: func() time.Time { return now },
		Model: hosttest.NewModel(
			hosttest.ReplyUsing("a", &message.Usage{Input: 5, CacheRead: 70, Total: 76, Output: 1}),
			hosttest.ReplyUsing("b", &message.Usage{Input: 80, Total: 81, Output: 1}), hosttest.Reply("c"),
		),
	})
	for range 2 {
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		now = now.Add(time.Hour)
	}
	_, err := h.Compact(t.Context(), ref("s"), "")
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	touched := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, second := told[1].LastCall, told[3].LastCall
	require.Equal(t, 70, first.CacheRead)
	require.Equal(t, 80, second.Input)
	require.Equal(t, []*ce.PromptCacheInfo{
		nil,
		{LastCall: first, LastTouchAt: touched}, // assemble and afterTurn of each turn
		{LastCall: first, LastTouchAt: touched},
		{LastCall: second, LastTouchAt: touched},
		{LastTouchAt: touched},
		{LastTouchAt: touched},
	}, told)
}

// A cacheReader keeps what it is told of the cache.
type cacheReader struct {
	*probe
	told *[]*ce.PromptCacheInfo
}

func (c *cacheReader) Assemble(ctx context.Context, q ce.AssembleParams) (ce.AssembleResult, error) {
	*c.told = append(*c.told, q.Runtime.PromptCache)
	return c.probe.Assemble(ctx, q)
}

func (c *cacheReader) AfterTurn(ctx context.Context, q ce.AfterTurnParams) error {
	*c.told = append(*c.told, q.Runtime.PromptCache)
	return c.probe.AfterTurn(ctx, q)
}

// A model that answers as somebody else made a mistake, which is not stored, whether it failed
// as well or not. What it used was used.
func TestAnswersOfAnotherRole(t *testing.T) {
	t.Parallel()
	foreign := message.User("an answer")
	foreign.Usage = &message.Usage{Input: 7, Total: 7}
	h := hostOver(t, transcript.NewMemory(), &host.Options{Model: hosttest.NewModel(
		func(context.Context, host.Request) (message.Message, error) { return foreign, nil },
		func(context.Context, host.Request) (message.Message, error) { return foreign, errors.New("cut off") },
		func(context.Context, host.Request) (message.Message, error) {
			return message.Message{Content: []message.Block{message.Text("an answer")}}, nil
		},
	)})
	for _, want := range []string{`the model answered with a message of role "user"`, "cut off"} {
		out, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
		require.EqualError(t, err, "asking the model: "+want)
		require.Equal(t, "[u:hi]", saidAll(out.Messages))
		asked := out.Events[slices.IndexFunc(out.Events, func(e host.Event) bool { return e.Operation == host.OpModel })]
		require.Equal(t, 7, asked.InputTokens)
	}
	out, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, message.RoleAssistant, out.Reply.Role)
}
