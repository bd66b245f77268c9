package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A bare engine has what every engine has; tests override what they need.
type bare struct {
	assemble func(ce.AssembleParams) (ce.AssembleResult, error)
	ingested []message.Message
}

func (b *bare) Info() ce.Info { return ce.Info{ID: "bare", Name: "bare"} }
func (b *bare) Ingest(_ context.Context, p ce.IngestParams) (ce.IngestResult, error) {
	b.ingested = append(b.ingested, p.Message)
	return ce.IngestResult{Ingested: true}, nil
}

func (b *bare) Assemble(_ context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	if b.assemble == nil {
		return ce.AssembleResult{Messages: p.Messages}, nil
	}
	return b.assemble(p)
}

func (b *bare) Compact(context.Context, ce.CompactParams) (ce.CompactResult, error) {
	return ce.CompactResult{}, nil
}

// A full engine has the hooks that the steps call.
type full struct {
	bare
	calls      []string
	fail       map[string]error
	turn       ce.AfterTurnParams
	maintained ce.MaintainParams
	mode       ce.MaintenanceMode
}

func (f *full) Info() ce.Info { return ce.Info{ID: "full", Name: "full", TurnMaintenance: f.mode} }

func (f *full) called(hook string) error {
	f.calls = append(f.calls, hook)
	return f.fail[hook]
}

func (f *full) Bootstrap(context.Context, ce.BootstrapParams) (ce.BootstrapResult, error) {
	return ce.BootstrapResult{Bootstrapped: true}, f.called("bootstrap")
}

func (f *full) Maintain(_ context.Context, p ce.MaintainParams) (transcript.RewriteResult, error) {
	f.maintained = p
	return transcript.RewriteResult{}, f.called("maintain " + string(p.Reason))
}

func (f *full) AfterTurn(ctx context.Context, p ce.AfterTurnParams) error {
	f.turn = p
	if err := f.called("afterTurn"); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

var errBoom = errors.New("boom")

func session() *turn.Session {
	return turn.Lend(ce.SessionRef{SessionID: "s", SessionKey: "k"}, ce.SessionTarget{}, nil, ce.RuntimeContext{Cwd: "/w"})
}

func TestBootstrapOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		fail map[string]error
		want []string
		err  error
	}{
		{name: "both", want: []string{"bootstrap", "maintain bootstrap"}},
		{name: "bootstrap fails", fail: map[string]error{"bootstrap": errBoom}, want: []string{"bootstrap"}, err: errBoom},
		{name: "maintain fails", fail: map[string]error{"maintain bootstrap": errBoom}, want: []string{"bootstrap", "maintain bootstrap"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &full{fail: tt.fail}
			_, err := turn.Bootstrap(t.Context(), e, session(), turn.Beginning{Boundary: ce.BoundaryNew})
			require.ErrorIs(t, err, tt.err)
			require.Equal(t, tt.want, e.calls)
		})
	}
	_, err := turn.Bootstrap(t.Context(), &bare{}, session(), turn.Beginning{})
	require.NoError(t, err)
}

// An engine that no guard watches is held to the contract as well.
func TestX8_NilResult(t *testing.T) {
	t.Parallel()
	e := &bare{assemble: func(ce.AssembleParams) (ce.AssembleResult, error) { return ce.AssembleResult{}, nil }}
	_, err := turn.Assemble(t.Context(), e, session(), ce.AssembleParams{Messages: []message.Message{message.User("a")}})
	var broken *ce.ContractError
	require.ErrorAs(t, err, &broken)
	res, err := turn.Assemble(t.Context(), e, session(), ce.AssembleParams{})
	require.NoError(t, err)
	require.Empty(t, res.Messages)
}

func keyed(key string, m message.Message) message.Message {
	m.Key = key
	return m
}

func TestAssembleHidesAndReveals(t *testing.T) {
	t.Parallel()
	note := keyed("n", message.RuntimeContext(message.Text("note")))
	in := []message.Message{keyed("a", message.User("a")), note, keyed("b", message.User("b")), keyed("n2", note)}
	var seen []message.Message
	e := &bare{assemble: func(p ce.AssembleParams) (ce.AssembleResult, error) {
		seen = p.Messages
		require.Equal(t, len(p.Messages), cap(p.Messages), "clipped")
		require.Equal(t, "/w", p.Runtime.Cwd)
		return ce.AssembleResult{Messages: p.Messages[1:]}, nil
	}}
	res, err := turn.Assemble(t.Context(), e, session(), ce.AssembleParams{Messages: in})
	require.NoError(t, err)
	require.Len(t, seen, 2)
	require.Len(t, res.Messages, 2, "the note behind what the engine left out went with it")
	require.Equal(t, "b", res.Messages[0].Key)
	require.True(t, message.IsRuntimeContext(res.Messages[1]))
}

// Unchanged input comes back as the same slice through the pass-through engine.
func TestX14_SameSlice(t *testing.T) {
	t.Parallel()
	in := []message.Message{message.User("a"), message.User("b")}
	res, err := turn.Assemble(t.Context(), ce.Legacy(), session(), ce.AssembleParams{Messages: in})
	require.NoError(t, err)
	require.Same(t, &in[0], &res.Messages[0])
}

func TestFinish(t *testing.T) {
	t.Parallel()
	note := message.RuntimeContext(message.Text("note"))
	all := []message.Message{message.User("old"), note, message.User("new"), note, message.Assistant(message.Text("x"))}
	tests := []struct {
		name    string
		end     turn.Ending
		fail    map[string]error
		calls   []string
		newOnes int
		want    error
	}{
		{name: "success", end: turn.Ending{Messages: all, PrePromptMessageCount: 2}, calls: []string{"afterTurn", "maintain turn"}, newOnes: 2},
		{name: "count beyond the end", end: turn.Ending{Messages: all, PrePromptMessageCount: 99}, calls: []string{"afterTurn", "maintain turn"}},
		{name: "negative count", end: turn.Ending{Messages: all, PrePromptMessageCount: -1}, calls: []string{"afterTurn", "maintain turn"}, newOnes: 3},
		{name: "failed", end: turn.Ending{Messages: all, Failed: true}},
		{name: "failed and asked for", end: turn.Ending{Messages: all, Failed: true, DeliverFailed: true}, calls: []string{"afterTurn"}, newOnes: 3},
		{name: "delivery fails", end: turn.Ending{Messages: all}, fail: map[string]error{"afterTurn": errBoom}, calls: []string{"afterTurn"}, newOnes: 3, want: errBoom},
		{name: "maintenance fails", end: turn.Ending{Messages: all}, fail: map[string]error{"maintain turn": errBoom}, calls: []string{"afterTurn", "maintain turn"}, newOnes: 3},
		{name: "too slow", end: turn.Ending{Messages: all, Within: time.Millisecond}, fail: map[string]error{"afterTurn": context.DeadlineExceeded}, calls: []string{"afterTurn"}, newOnes: 3, want: turn.ErrEndOfTurn},
	}
	for _, tt := range tests {
		t.Run("Spec01_15_08 "+tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &full{fail: tt.fail}
				require.ErrorIs(t, turn.Finish(t.Context(), e, session(), tt.end), tt.want)
				require.Equal(t, tt.calls, e.calls)
				require.Len(t, e.turn.New(), tt.newOnes)
				for _, m := range e.turn.Messages {
					require.False(t, message.IsRuntimeContext(m))
				}
			})
		})
	}
}

// queue takes work and keeps it.
type queue struct{ work []func(context.Context) error }

func (q *queue) Schedule(_ ce.SessionRef, w func(context.Context) error) bool {
	q.work = append(q.work, w)
	return true
}

func TestMaintainInTheBackground(t *testing.T) {
	t.Parallel()
	q := &queue{}
	s := session()
	s.Background = q
	e := &full{mode: ce.MaintenanceBackground}
	for _, reason := range []ce.MaintainReason{ce.MaintainBootstrap, ce.MaintainCompaction, ce.MaintainTurn} {
		_, err := turn.Maintain(t.Context(), e, s, reason, nil)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"maintain bootstrap", "maintain compaction"}, e.calls)
	require.False(t, e.maintained.Runtime.AllowDeferredCompaction)
	require.Len(t, q.work, 1)
	require.NoError(t, q.work[0](t.Context()))
	require.Equal(t, "maintain turn", e.calls[2])
	require.True(t, e.maintained.Runtime.AllowDeferredCompaction)
}

func TestSpec01_15_09_PrecheckRoutes(t *testing.T) {
	t.Parallel()
	b := tokens.Budget{Window: 100_000, Reserve: 20_000}
	const over = 60_029
	tests := []struct {
		name      string
		budget    tokens.Budget
		load      turn.Load
		reducible int
		want      turn.Route
		source    string
	}{
		{name: "at the budget", budget: b, load: turn.Load{Estimated: 80_000}, want: turn.RouteFits, source: turn.SourceTranscript},
		{name: "nothing to cut", budget: b, load: turn.Load{Estimated: 80_001}, want: turn.RouteCompact, source: turn.SourceTranscript},
		{name: "a little to cut", budget: b, load: turn.Load{Estimated: 80_000 + over}, reducible: 360_173, want: turn.RouteCompactThenTruncate, source: turn.SourceTranscript},
		{name: "enough to cut", budget: b, load: turn.Load{Estimated: 80_000 + over}, reducible: 360_174, want: turn.RouteTruncate, source: turn.SourceTranscript},
		{name: "unwindowed wins when larger", budget: b, load: turn.Load{Estimated: 1, Unwindowed: 90_000}, want: turn.RouteCompact, source: turn.SourceUnwindowed},
		{name: "unwindowed does not win when equal", budget: b, load: turn.Load{Estimated: 90_000, Unwindowed: 90_000}, want: turn.RouteCompact, source: turn.SourceTranscript},
		{name: "the engine knows better", budget: b, load: turn.Load{Estimated: 1, Engine: 90_000}, want: turn.RouteCompact, source: turn.SourceEngine},
		{name: "X3 unknown window", load: turn.Load{Estimated: 1 << 40}, want: turn.RouteFits, source: turn.SourceTranscript},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.load.Reducible = func(bool) int { return tt.reducible }
			c := turn.Precheck(tt.budget, tt.load)
			require.Equal(t, tt.want, c.Route)
			require.Equal(t, tt.source, c.Source)
		})
	}
}

// A request that fits never asks for anything, one that does not always does, and
// more to cut never makes the route harsher.
func TestPrecheckProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := tokens.Budget{
			Window: rapid.IntRange(1, 1<<21).Draw(t, "window"), Reserve: rapid.IntRange(0, 1<<20).Draw(t, "reserve"),
		}
		est := rapid.IntRange(0, 1<<22).Draw(t, "estimate")
		less := rapid.IntRange(0, 1<<23).Draw(t, "reducible")
		more := less + rapid.IntRange(0, 1<<23).Draw(t, "more")
		check := func(n int) turn.Check {
			return turn.Precheck(b, turn.Load{Estimated: est, Reducible: func(bool) int { return n }})
		}
		a, c := check(less), check(more)
		if (est <= b.Prompt()) != (a.Route == turn.RouteFits) {
			t.Fatalf("%d of %d: %s", est, b.Prompt(), a.Route)
		}
		if a.Route == turn.RouteTruncate && c.Route != turn.RouteTruncate {
			t.Fatalf("more to cut gives %s", c.Route)
		}
		if a.Overflow > 0 && a.Remaining > 0 {
			t.Fatalf("overflow %d and remaining %d", a.Overflow, a.Remaining)
		}
	})
}

// Each hook is lent a model that knows what it is asked for.
func TestCompleterKnowsItsHook(t *testing.T) {
	t.Parallel()
	s := session()
	require.Same(t, s.RuntimeFor(turn.PurposeAssemble), s.RuntimeFor(turn.PurposeCompaction), "without a completer there is one runtime")
	s.Completer = func(purpose string) ce.Completer { return named(purpose) }
	asked := func(rt *ce.RuntimeContext) string {
		done, err := rt.Completer.Complete(t.Context(), ce.CompletionRequest{})
		require.NoError(t, err)
		return done.Text
	}
	require.Equal(t, turn.PurposeTimeout, asked(s.RuntimeFor(turn.PurposeTimeout)))
	require.Same(t, s.RuntimeFor(turn.PurposeTimeout), s.RuntimeFor(turn.PurposeTimeout))
	var e full
	_, err := turn.Maintain(t.Context(), &e, s, ce.MaintainCompaction, nil)
	require.NoError(t, err)
	require.Equal(t, "context-engine.compaction.maintenance", asked(e.maintained.Runtime))
	require.NoError(t, turn.Finish(t.Context(), &e, s, turn.Ending{}))
	require.Equal(t, turn.PurposeAfterTurn, asked(e.turn.Runtime))
	s.SetRuntime(func(rt *ce.RuntimeContext) { rt.CurrentTokens = 7 })
	require.Equal(t, 7, s.RuntimeFor(turn.PurposeTimeout).CurrentTokens)
}

type named string

func (n named) Complete(context.Context, ce.CompletionRequest) (ce.Completion, error) {
	return ce.Completion{Text: string(n)}, nil
}

// The bootstrap, the end of a turn and maintenance are observed in order.
func TestCallsAreObserved(t *testing.T) {
	t.Parallel()
	s := session()
	var calls []string
	s.Observe = func(_ context.Context, c turn.Call) { calls = append(calls, c.Hook+" "+c.Reason) }
	var e full
	_, err := turn.Bootstrap(t.Context(), &e, s, turn.Beginning{Boundary: ce.BoundaryNew})
	require.NoError(t, err)
	require.NoError(t, turn.Finish(t.Context(), &e, s, turn.Ending{}))
	require.Equal(t, []string{"bootstrap new", "maintain bootstrap", "commitTurn ", "maintain turn"}, calls)
}
