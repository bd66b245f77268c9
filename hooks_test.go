package contextengine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

func TestHooksOf(t *testing.T) {
	require.Zero(t, ce.HooksOf(&typedNil{}))
	require.Equal(t, ce.HookAfterTurn|ce.HookClose, ce.HooksOf(&plainEngine{}))
	require.Equal(t, allHooks, ce.HooksOf(newFake(allHooks)))
	require.Equal(t, ce.HookTools, ce.HooksOf(newFake(ce.HookTools)), "what is reported counts")
	require.Equal(t, ce.HookAfterTurn, ce.HooksOf(claims{}), "and nothing that is not there")
	require.True(t, allHooks.Has(ce.HookTools|ce.HookClose))
	require.False(t, ce.HookTools.Has(ce.HookTools|ce.HookClose))
}

// claims reports hooks that it does not have.
type claims struct{ *typedNil }

func (claims) Hooks() ce.HookSet                                   { return allHooks }
func (claims) AfterTurn(context.Context, ce.AfterTurnParams) error { return nil }

func TestSpec01_15_08_ExactlyOneWayToEndATurn(t *testing.T) {
	turn := ce.AfterTurnParams{
		Messages:              []message.Message{message.User("old"), message.User("new"), message.Assistant(message.Text("answer"))},
		PrePromptMessageCount: 1,
	}
	for _, tt := range []struct {
		name  string
		hooks ce.HookSet
		count int
		want  []string
	}{
		{"commit", allHooks, 1, []string{"commitTurn"}},
		{"after turn", allHooks &^ ce.HookCommitTurn, 1, []string{"afterTurn"}},
		{"after turn without news", ce.HookAfterTurn, 3, []string{"afterTurn"}},
		{"batch", ce.HookIngestBatch, 1, []string{"ingestBatch"}},
		{"batch without news", ce.HookIngestBatch, 3, nil},
		{"one by one", 0, 1, []string{"ingest", "ingest"}},
		{"one by one without news", 0, 3, nil},
		{"count beyond the end", 0, 9, nil},
		{"negative count", 0, -1, []string{"ingest", "ingest", "ingest"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(tt.hooks)
			p := turn
			p.PrePromptMessageCount = tt.count
			res, err := ce.CommitTurn(t.Context(), f, ce.CommitTurnParams{AfterTurnParams: p})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, f.seen()))
			require.Equal(t, tt.name == "commit", res.Status == ce.CommitCommitted)

			// The same through a Handle, hook by hook.
			g := newFake(tt.hooks)
			h := resolve(t, newRegistry(), g, ce.Selection{})
			_, err = ce.CommitTurn(t.Context(), h, ce.CommitTurnParams{AfterTurnParams: p})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, g.seen()))
		})
	}
}

func TestIngestBatchLadderGoesOnAndJoins(t *testing.T) {
	f, n := newFake(0), 0
	f.on = func(context.Context, string, any) error {
		n++
		if n == 2 {
			return errBoom
		}
		return nil
	}
	res, err := ce.IngestBatch(t.Context(), f, ce.IngestBatchParams{Messages: make([]message.Message, 4)})
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 3, res.IngestedCount)
	require.Len(t, f.seen(), 4)

	ctx, cancel := context.WithCancel(t.Context())
	f.on = func(context.Context, string, any) error { cancel(); return nil }
	res, err = ce.IngestBatch(ctx, f, ce.IngestBatchParams{Messages: make([]message.Message, 4)})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, res.IngestedCount)
}

func TestLadderOnAHandleRecordsTheStepThatFailed(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	n := 0
	f.on = func(context.Context, string, any) error {
		n++
		if n == 2 {
			return errBoom
		}
		return nil
	}
	h := resolve(t, r, f, ce.Selection{})
	_, err := ce.CommitTurn(t.Context(), h, ce.CommitTurnParams{AfterTurnParams: ce.AfterTurnParams{Messages: make([]message.Message, 4)}})
	require.NoError(t, err, "legacy took the rest")
	require.Equal(t, "ingest", r.Quarantines()[0].Operation)
	require.Equal(t, []string{"ingest", "ingest"}, f.seen())
}

func TestTotalFunctionsOnABareEngine(t *testing.T) {
	e := &typedNil{}
	b, err := ce.Bootstrap(t.Context(), e, ce.BootstrapParams{})
	require.NoError(t, err)
	require.Zero(t, b)
	m, err := ce.Maintain(t.Context(), e, ce.MaintainParams{})
	require.NoError(t, err)
	require.Zero(t, m)
	prep, err := ce.PrepareSubagentSpawn(t.Context(), e, ce.SubagentSpawnParams{})
	require.NoError(t, err)
	require.Nil(t, prep)
	require.NoError(t, ce.OnSubagentEnded(t.Context(), e, ce.SubagentEndedParams{}))
	require.NoError(t, ce.OnSessionEnded(t.Context(), e, ce.SessionEndedParams{}))
	ts, err := ce.Tools(t.Context(), e, ce.ToolsParams{})
	require.NoError(t, err)
	require.Nil(t, ts)
	require.NoError(t, ce.Close(e))

	f := newFake(allHooks)
	f.on = func(context.Context, string, any) error { return errBoom }
	_, err = ce.Bootstrap(t.Context(), f, ce.BootstrapParams{})
	require.ErrorIs(t, err, errBoom)
	require.ErrorIs(t, ce.Close(f), errBoom)
}

func TestEnumsKnowTheirValues(t *testing.T) {
	type valid interface{ Valid() bool }
	for _, v := range []valid{
		ce.MaintenanceMode(""), ce.MaintenanceBackground, ce.MaintainTurn, ce.PromptAuthority(""), ce.AuthorityPreassembly,
		ce.ProjectionThreadBootstrap, ce.CitationsOn, ce.TriggerManual, ce.GoalThreshold, ce.ReasonSuperseded,
		ce.DeliverySnapshot, ce.BoundaryArchived, ce.CommitDuplicate, ce.OpManualCompact, ce.CapCompact, ce.ParamPrompt,
		ce.SubagentFork, ce.SubagentSwept, ce.Strict, ce.ModeDegraded,
		ce.SourceDefault, ce.CodeRateLimited,
	} {
		require.True(t, v.Valid(), "%T %v", v, v)
	}
	for _, v := range []valid{
		ce.MaintenanceMode("x"), ce.MaintainReason(""), ce.PromptAuthority("x"), ce.ProjectionMode("x"), ce.CitationsMode("x"),
		ce.CompactionTrigger("x"), ce.CompactionGoal("x"), ce.CompactionReason("x"), ce.Delivery("x"), ce.Boundary("x"),
		ce.CommitStatus("x"), ce.Operation(""), ce.Capability("x"), ce.HostParam("x"), ce.SubagentMode("x"),
		ce.SubagentEndReason(""), ce.FailurePolicy("x"), ce.RuntimeMode("x"),
		ce.SelectionSource("x"), ce.ReasonCode("x"),
	} {
		require.False(t, v.Valid(), "%T %v", v, v)
	}
}

func TestHookSetNamesItsHooks(t *testing.T) {
	t.Parallel()
	require.Empty(t, ce.HookSet(0).String())
	require.Equal(t, "bootstrap onSessionEnded close", (ce.HookClose | ce.HookSessionEnded | ce.HookBootstrap).String())
	require.Len(t, strings.Fields(allHooks.String()), 10)
	require.Equal(t, "close", ce.HooksOf(nearly{ce.Legacy()}).String(), "maintain has another signature")
}

// nearly is an engine that has one hook and means to have two.
type nearly struct{ ce.ContextEngine }

func (nearly) Maintain(context.Context, ce.MaintainParams) error { return nil }

func (nearly) Close() error { return nil }

func TestStrictLadderAnswersOnce(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	f.on = fail("ingest", errBoom)
	h := resolve(t, r, f, ce.Selection{Policy: ce.Strict})
	p := ce.CommitTurnParams{AfterTurnParams: ce.AfterTurnParams{Messages: make([]message.Message, 3)}}
	_, first := ce.CommitTurn(t.Context(), h, p)
	_, again := ce.CommitTurn(t.Context(), h, p)
	require.EqualError(t, again, first.Error())
	require.NotContains(t, first.Error(), "\n")
	require.Equal(t, []string{"ingest"}, f.seen())
}

func TestLadderPassesDeliveryAndHeartbeat(t *testing.T) {
	f := newFake(ce.HookIngestBatch)
	var got ce.IngestBatchParams
	f.on = func(_ context.Context, _ string, p any) error { got = p.(ce.IngestBatchParams); return nil }
	require.NoError(t, ce.AfterTurn(t.Context(), f, ce.AfterTurnParams{SessionRef: session("s"), Messages: history[:], Delivery: ce.DeliverySnapshot, IsHeartbeat: true}))
	require.Equal(t, ce.IngestBatchParams{SessionRef: session("s"), Messages: history[:], Delivery: ce.DeliverySnapshot, IsHeartbeat: true}, got)
	g := newFake(0)
	g.on = func(_ context.Context, _ string, p any) error {
		require.True(t, p.(ce.IngestParams).IsHeartbeat)
		return nil
	}
	_, err := ce.IngestBatch(t.Context(), g, got)
	require.NoError(t, err)
}

func TestWrappersAreClosed(t *testing.T) {
	r, closed := newRegistry(), false
	require.NoError(t, r.Register("x", "o", factoryOf(closer{&typedNil{ce.Info{ID: "x", Name: "X"}}, &closed})))
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.NoError(t, h.Close())
	require.True(t, closed)
}

// closer has more to close than the engine that it wraps.
type closer struct {
	ce.ContextEngine
	closed *bool
}

func (c closer) Hooks() ce.HookSet { return ce.HooksOf(c.ContextEngine) }

func (c closer) Close() error { *c.closed = true; return ce.Close(c.ContextEngine) }
