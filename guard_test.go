package contextengine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// legacyAnswers is what each hook answers once legacy stands in.
func legacyAnswers() map[string]any {
	return map[string]any{
		"bootstrap":            ce.BootstrapResult{Reason: "context engine downgraded to legacy"},
		"maintain":             transcript.RewriteResult{Reason: "context engine downgraded to legacy"},
		"ingest":               ce.IngestResult{},
		"ingestBatch":          ce.IngestBatchResult{},
		"afterTurn":            nil,
		"commitTurn":           ce.CommitTurnResult{},
		"assemble":             ce.AssembleResult{Messages: history[:]},
		"compact":              ce.CompactResult{Reason: ce.ReasonNoCompactor, Detail: "the host lent no built-in compaction"},
		"prepareSubagentSpawn": (*ce.SubagentPreparation)(nil),
		"onSubagentEnded":      nil,
		"onSessionEnded":       nil,
		"tools":                []ce.Tool(nil),
	}
}

func TestSpec01_15_03_FailingEngineAnswersInTheSameCall(t *testing.T) {
	surfaces := map[string]bool{"compact": true, "prepareSubagentSpawn": true}
	for _, op := range guardedOps() {
		for _, kind := range []string{"error", "panic"} {
			t.Run(op+"/"+kind, func(t *testing.T) {
				r, f := newRegistry(), newFake(allHooks)
				f.on = func(_ context.Context, got string, _ any) error {
					if got != op {
						return nil
					}
					if kind == "panic" {
						panic(errBoom)
					}
					return errBoom
				}
				h := resolve(t, r, f, ce.Selection{})

				got, err := callHook(t.Context(), h, op)
				if surfaces[op] {
					require.ErrorIs(t, err, errBoom)
					var oe *ce.OpError
					require.ErrorAs(t, err, &oe)
					require.Equal(t, "x", oe.Engine)
					require.Equal(t, op, oe.Op)
				} else {
					require.NoError(t, err)
					require.Empty(t, cmp.Diff(legacyAnswers()[op], got))
				}
				require.Equal(t, []string{op}, f.seen())

				// Later calls do not reach the engine, whatever the hook.
				for _, next := range guardedOps() {
					got, err := callHook(t.Context(), h, next)
					require.NoError(t, err, next)
					require.Empty(t, cmp.Diff(legacyAnswers()[next], got), next)
				}
				require.Equal(t, []string{op}, f.seen())

				qs := r.Quarantines()
				require.Len(t, qs, 1)
				require.Equal(t, ce.Quarantine{
					EngineID: "x", Owner: "plugin:x", Operation: op, Class: kind,
					Reason: map[string]string{"error": "boom", "panic": "panic: boom"}[kind], Generation: 1, FailedAt: r.Now(),
				}, qs[0])
				require.Len(t, r.out.lines(), 1)
			})
		}
	}
}

func TestSpec01_15_03_HooksStayAndInfoFlips(t *testing.T) {
	r, f := newRegistry(), newFake(ce.HookMaintain|ce.HookAfterTurn)
	f.info.OwnsCompaction = true
	f.info.Version = "7"
	f.on = fail("compact", errBoom)
	h := resolve(t, r, f, ce.Selection{})
	before := h.Hooks()
	require.Equal(t, "fake", h.Info().ID)
	require.True(t, h.Info().OwnsCompaction)

	_, err := h.Compact(t.Context(), ce.CompactParams{})
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, before, h.Hooks())
	require.Equal(t, before, ce.HooksOf(h))
	require.Equal(t, ce.HooksOf(f), before)
	require.Equal(t, ce.Legacy().Info(), h.Info(), "legacy's full description at once")
	require.False(t, h.Info().OwnsCompaction)
	require.Equal(t, "core", h.Owner())
}

func TestSpec01_15_03_EveryHandleOfTheGenerationIsDowngraded(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	first := resolve(t, r, f, ce.Selection{})
	second, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)

	f.on = fail("ingest", errBoom)
	_, err = first.Ingest(t.Context(), ce.IngestParams{})
	require.NoError(t, err)
	res, err := second.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
	require.NoError(t, err)
	require.Zero(t, res.EstimatedTokens, "legacy answered")
	require.Equal(t, []string{"ingest"}, f.seen())

	third, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.Equal(t, "legacy", third.Status().Answering)
	require.Len(t, r.out.lines(), 1)
}

func TestSpec01_15_03_FirstFailureWinsUnderRace(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = func(_ context.Context, op string, _ any) error { return fmt.Errorf("%s failed", op) }
	h := resolve(t, r, f, ce.Selection{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				_, _ = callHook(t.Context(), h, guardedOps()[i])
			}
		})
	}
	wg.Wait()
	require.Len(t, r.Quarantines(), 1)
	require.Len(t, r.out.lines(), 1)
}

func TestSpec01_15_03_LateFailureOfAReplacedRegistration(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	old := resolve(t, r, f, ce.Selection{})
	fresh := resolve(t, r, newFake(allHooks), ce.Selection{})
	require.True(t, old.Stale())
	require.False(t, fresh.Stale())

	f.on = fail("assemble", errBoom)
	res, err := old.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
	require.NoError(t, err)
	require.Zero(t, res.EstimatedTokens)
	require.NotNil(t, old.Status().Quarantine)
	require.Empty(t, r.Quarantines(), "not the current registration's")
	require.Len(t, r.out.lines(), 1)

	res, err = fresh.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
	require.NoError(t, err)
	require.Equal(t, 11, res.EstimatedTokens)
	require.NotNil(t, old.Status().Quarantine, "a generation that failed stays so")
}

func TestClearQuarantineHealsHandlesOfTheCurrentGeneration(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("assemble", errBoom)
	live := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), live, "assemble")
	require.NoError(t, err)
	bare, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.False(t, bare.Stale())

	f.on = nil
	r.ClearQuarantine("x")
	require.Empty(t, r.Quarantines())
	require.Nil(t, live.Status().Quarantine)
	res, err := live.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
	require.NoError(t, err)
	require.Equal(t, 11, res.EstimatedTokens)
	require.True(t, bare.Stale(), "has no engine of its own: resolve again")
	require.False(t, live.Stale())
}

func TestNestedHandles(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	inner := resolve(t, r, f, ce.Selection{})
	require.NoError(t, r.Register("outer", "plugin:outer", factoryOf(inner)))
	outer, err := r.Resolve(t.Context(), ce.Selection{Engine: "outer"})
	require.NoError(t, err)
	require.Equal(t, inner.Hooks(), outer.Hooks())

	f.on = fail("ingest", errBoom)
	res, err := outer.Ingest(t.Context(), ce.IngestParams{})
	require.NoError(t, err)
	require.False(t, res.Ingested)
	require.Len(t, r.Quarantines(), 1, "the inner guard absorbed it")

	r2, g := newRegistry(), newFake(allHooks)
	g.on = fail("compact", errBoom)
	inner = resolve(t, r2, g, ce.Selection{})
	require.NoError(t, r2.Register("outer", "plugin:outer", factoryOf(inner)))
	outer, err = r2.Resolve(t.Context(), ce.Selection{Engine: "outer"})
	require.NoError(t, err)
	_, err = outer.Compact(t.Context(), ce.CompactParams{})
	require.ErrorIs(t, err, errBoom)
	records := r2.Quarantines()
	require.Len(t, records, 2, "what surfaces counts for both")
	for _, q := range records {
		require.Equal(t, errBoom.Error(), q.Reason, "the engine's own words, however many handles are in between")
	}
}

func TestSpec01_15_04_Cancellation(t *testing.T) {
	cause := errors.New("operator left")
	type step struct {
		name       string
		cause      error
		before     bool
		err        func(ctx context.Context) error
		want       error
		quarantine bool
	}
	for _, tt := range []step{
		{name: "done before", before: true, want: context.Canceled},
		{name: "done before with cause", before: true, cause: cause, want: cause},
		{name: "ctx error during", err: func(ctx context.Context) error { return fmt.Errorf("read: %w", ctx.Err()) }, want: context.Canceled},
		{name: "cause during", cause: cause, err: func(ctx context.Context) error { return context.Cause(ctx) }, want: cause},
		{name: "unrelated error during", err: func(context.Context) error { return errBoom }, quarantine: true},
		{name: "abort words during", err: func(context.Context) error { return errors.New("operation aborted") }, quarantine: true},
	} {
		for _, op := range guardedOps() {
			t.Run(tt.name+"/"+op, func(t *testing.T) {
				r, f := newRegistry(), newFake(allHooks)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				f.on = func(ctx context.Context, got string, _ any) error {
					if got != op {
						return nil
					}
					cancel(tt.cause)
					return tt.err(ctx)
				}
				h := resolve(t, r, f, ce.Selection{})
				if tt.before {
					cancel(tt.cause)
				}
				_, err := callHook(ctx, h, op)
				if tt.want != nil {
					require.ErrorIs(t, err, tt.want)
				}
				if tt.quarantine {
					require.Len(t, r.Quarantines(), 1)
				} else {
					require.Empty(t, r.Quarantines())
					require.Empty(t, r.out.lines())
				}
				if tt.before {
					require.Empty(t, f.seen())
				}
			})
		}
	}
	t.Run("abort words without a done context", func(t *testing.T) {
		r, f := newRegistry(), newFake(allHooks)
		f.on = fail("assemble", context.Canceled)
		h := resolve(t, r, f, ce.Selection{})
		_, err := callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
		require.Len(t, r.Quarantines(), 1)
	})
	t.Run("a result despite the cancellation counts", func(t *testing.T) {
		r, f := newRegistry(), newFake(allHooks)
		ctx, cancel := context.WithCancel(t.Context())
		f.on = func(context.Context, string, any) error { cancel(); return nil }
		h := resolve(t, r, f, ce.Selection{})
		res, err := h.Ingest(ctx, ce.IngestParams{})
		require.NoError(t, err)
		require.True(t, res.Ingested)
	})
}

// assembler answers Assemble with a fixed result.
type assembler struct {
	*fake
	res ce.AssembleResult
}

func (a assembler) Assemble(context.Context, ce.AssembleParams) (ce.AssembleResult, error) {
	return a.res, nil
}

func TestX8_NilResultIsAnEngineFailure(t *testing.T) {
	for _, tt := range []struct {
		name  string
		res   ce.AssembleResult
		input []message.Message
		fails bool
	}{
		{"nil for messages", ce.AssembleResult{}, history[:], true},
		{"nil for nothing", ce.AssembleResult{}, nil, false},
		{"deliberately empty", ce.AssembleResult{Messages: []message.Message{}}, history[:], false},
		{"unknown authority", ce.AssembleResult{Messages: history[:], PromptAuthority: "mine"}, history[:], true},
		{"known authority", ce.AssembleResult{Messages: history[:], PromptAuthority: ce.AuthorityPreassembly}, history[:], false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRegistry()
			require.NoError(t, r.Register("x", "plugin:x", factoryOf(assembler{newFake(0), tt.res})))
			h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
			require.NoError(t, err)
			res, err := h.Assemble(t.Context(), ce.AssembleParams{Messages: tt.input})
			require.NoError(t, err)
			if !tt.fails {
				require.Empty(t, r.Quarantines())
				return
			}
			require.Empty(t, cmp.Diff(tt.input, res.Messages))
			require.Equal(t, ce.ClassContract, r.Quarantines()[0].Class)
		})
	}
}

func TestX9_AssembleErrorNeverYieldsAnEmptyHistory(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	f.on = fail("assemble", errBoom)
	h := resolve(t, r, f, ce.Selection{})
	for range 3 {
		res, err := h.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
		require.NoError(t, err)
		require.Len(t, res.Messages, len(history))
	}
}

func TestX14_LegacyReturnsTheSameSlice(t *testing.T) {
	var r ce.Registry
	h, err := r.Resolve(t.Context(), ce.Selection{})
	require.NoError(t, err)
	in := history[:]
	res, err := h.Assemble(t.Context(), ce.AssembleParams{Messages: in})
	require.NoError(t, err)
	require.Same(t, &in[0], &res.Messages[0])
}

func TestDeclinedHookTakesTheNextStepOnTheSameEngine(t *testing.T) {
	for _, policy := range []ce.FailurePolicy{ce.Fallback, ce.Strict} {
		r, f := newRegistry(), newFake(allHooks)
		f.on = func(_ context.Context, op string, _ any) error {
			if op == "ingest" {
				return nil
			}
			return ce.ErrDeclined
		}
		h := resolve(t, r, f, ce.Selection{Policy: policy})
		_, err := h.CommitTurn(t.Context(), ce.CommitTurnParams{})
		require.True(t, err == ce.ErrDeclined, "bare")
		res, err := ce.CommitTurn(t.Context(), h, ce.CommitTurnParams{AfterTurnParams: ce.AfterTurnParams{Messages: history[:], PrePromptMessageCount: 1}})
		require.NoError(t, err)
		require.Empty(t, res.Status)
		require.Equal(t, []string{"commitTurn", "commitTurn", "afterTurn", "ingestBatch", "ingest"}, f.seen())
		require.Empty(t, r.Quarantines())
	}
	t.Run("wrapped, or from a required method, it is a failure", func(t *testing.T) {
		r, f := newRegistry(), newFake(allHooks)
		f.on = fail("afterTurn", fmt.Errorf("not today: %w", ce.ErrDeclined))
		h := resolve(t, r, f, ce.Selection{})
		require.NoError(t, h.AfterTurn(t.Context(), ce.AfterTurnParams{}))
		require.Len(t, r.Quarantines(), 1)

		r, f = newRegistry(), newFake(allHooks)
		f.on = fail("assemble", ce.ErrDeclined)
		h = resolve(t, r, f, ce.Selection{})
		_, err := callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
		require.Len(t, r.Quarantines(), 1)
	})
}

func (brokenHost) CompactSession(context.Context, ce.CompactParams) (ce.CompactResult, error) {
	return ce.CompactResult{}, errBoom
}

func (brokenHost) Rewrite(context.Context, transcript.RewriteRequest) (transcript.RewriteResult, error) {
	return transcript.RewriteResult{}, errBoom
}

func (brokenHost) Complete(context.Context, ce.CompletionRequest) (ce.Completion, error) {
	return ce.Completion{}, errBoom
}

func (brokenHost) Lines([]string, ce.CitationsMode) ([]string, error) { panic(errBoom) }
