package contextengine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestStatusOfASubstitute(t *testing.T) {
	r := newRegistry()
	require.NoError(t, r.Register("shy", "o", factoryOf(newFake(0)), ce.DiscoveryOnly()))
	shy, err := r.Resolve(t.Context(), ce.Selection{Engine: "shy"})
	require.NoError(t, err)
	require.True(t, shy.Status().Degraded())
	require.True(t, shy.Status().Substituted)
	ghost, err := r.Resolve(t.Context(), ce.Selection{Engine: "ghost"})
	require.NoError(t, err)
	r.ClearQuarantine("ghost")
	require.True(t, ghost.Status().Degraded(), "legacy still answers")
	require.Empty(t, r.Quarantines())
}

func TestStatusWithoutAnyEngine(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.info.OwnsCompaction = true
	f.on = fail("assemble", errBoom)
	require.NoError(t, r.Register("legacy", "core", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return nil, errors.New("no core") }))
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "assemble")
	require.ErrorIs(t, err, errBoom)
	require.Empty(t, h.Status().Answering)
	require.False(t, h.Info().OwnsCompaction)
	_, err = callHook(t.Context(), h, "assemble")
	var oe *ce.OpError
	require.ErrorAs(t, err, &oe)
	require.Equal(t, "assemble", oe.Op)
}

func TestOwnerWhereNobodyAnswers(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("assemble", errBoom)
	h := resolve(t, r, f, ce.Selection{Policy: ce.Strict})
	require.Equal(t, "plugin:x", h.Owner())
	_, err := callHook(t.Context(), h, "assemble")
	require.Error(t, err)
	require.Empty(t, h.Owner())
}

func TestClosedHandleCallsNothing(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	h := resolve(t, r, f, ce.Selection{})
	require.NoError(t, h.Close())
	require.NoError(t, h.Close())
	for _, op := range guardedOps() {
		_, err := callHook(t.Context(), h, op)
		require.ErrorIs(t, err, ce.ErrClosed, op)
	}
	require.Equal(t, []string{"close"}, f.seen())
	bare := resolve(t, r, newFake(0), ce.Selection{})
	require.NoError(t, ce.Close(bare))
	for _, op := range guardedOps() {
		_, err := callHook(t.Context(), bare, op)
		require.ErrorIs(t, err, ce.ErrClosed, op)
	}
}

func TestCloseIsNotGuarded(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("close", errBoom)
	require.ErrorIs(t, resolve(t, r, f, ce.Selection{}).Close(), errBoom)
	f.on = func(context.Context, string, any) error { panic("closing") }
	var pe *ce.PanicError
	require.ErrorAs(t, resolve(t, r, f, ce.Selection{}).Close(), &pe)
	require.Empty(t, r.Quarantines())
}

func TestAbsentHooksOnAHandle(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	h := resolve(t, r, f, ce.Selection{})
	require.Zero(t, h.Hooks())
	want := map[string]any{
		"bootstrap": ce.BootstrapResult{}, "maintain": transcript.RewriteResult{},
		"ingestBatch": ce.IngestBatchResult{IngestedCount: 2}, "afterTurn": nil, "commitTurn": ce.CommitTurnResult{},
		"prepareSubagentSpawn": (*ce.SubagentPreparation)(nil), "onSubagentEnded": nil, "onSessionEnded": nil, "tools": []ce.Tool(nil),
	}
	for op, answer := range want {
		got, err := callHook(t.Context(), h, op)
		require.NoError(t, err, op)
		require.Empty(t, cmp.Diff(answer, got), op)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for op := range want {
		_, err := callHook(ctx, h, op)
		require.ErrorIs(t, err, context.Canceled, op)
	}
}
