package contextengine_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

func TestC15_SubstitutionTellsTheTruth(t *testing.T) {
	broken := func() *fake {
		f := newFake(allHooks)
		f.on = fail("bootstrap", errBoom)
		return f
	}
	t.Run("fallback", func(t *testing.T) {
		r := newRegistry()
		h := resolve(t, r, broken(), ce.Selection{})
		res, err := h.Bootstrap(t.Context(), ce.BootstrapParams{})
		require.NoError(t, err)
		require.False(t, res.Bootstrapped)
		s := h.Status()
		require.Equal(t, "x", s.Selected)
		require.Equal(t, "legacy", s.Answering)
		require.True(t, s.Degraded())
		require.Equal(t, "bootstrap", s.Quarantine.Operation)
		_, err = h.Bootstrap(t.Context(), ce.BootstrapParams{})
		require.NoError(t, err)
		require.Len(t, r.Quarantines(), 1)

		healed := resolve(t, r, newFake(allHooks), ce.Selection{})
		require.Empty(t, r.Quarantines())
		require.False(t, healed.Status().Degraded())
	})
	t.Run("strict", func(t *testing.T) {
		r, f := newRegistry(), broken()
		h := resolve(t, r, f, ce.Selection{Policy: ce.Strict})
		_, first := h.Bootstrap(t.Context(), ce.BootstrapParams{})
		var unavailable *ce.EngineUnavailableError
		require.ErrorAs(t, first, &unavailable)
		require.ErrorIs(t, first, errBoom)
		for _, op := range guardedOps() {
			_, err := callHook(t.Context(), h, op)
			require.EqualError(t, err, first.Error(), "stable: %s", op)
		}
		require.Equal(t, []string{"bootstrap"}, f.seen(), "no implicit retry")
		s := h.Status()
		require.Empty(t, s.Answering)
		require.True(t, s.Degraded())
		require.Equal(t, ce.Strict, s.Policy)
		require.Equal(t, "fake", h.Info().ID)
		_, err := r.Resolve(t.Context(), ce.Selection{Engine: "x", Policy: ce.Strict})
		require.EqualError(t, err, first.Error())
	})
	t.Run("cancelled bootstrap", func(t *testing.T) {
		r, f := newRegistry(), newFake(allHooks)
		ctx, cancel := context.WithCancel(t.Context())
		f.on = func(ctx context.Context, _ string, _ any) error { cancel(); return ctx.Err() }
		h := resolve(t, r, f, ce.Selection{})
		_, err := h.Bootstrap(ctx, ce.BootstrapParams{})
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, r.Quarantines())
	})
	t.Run("host requirement", func(t *testing.T) {
		for _, policy := range []ce.FailurePolicy{ce.Fallback, ce.Strict} {
			r, f := newRegistry(), newFake(allHooks)
			f.info.HostRequirements = map[ce.Operation]ce.HostRequirements{ce.OpAgentRun: {Required: []ce.Capability{ce.CapCompact}}}
			h := resolve(t, r, f, ce.Selection{Policy: policy})
			err := ce.CheckHost(h.Info(), ce.OpAgentRun, ce.CLIHost("x"))
			var he *ce.HostRequirementError
			require.ErrorAs(t, err, &he)
			require.Empty(t, r.Quarantines())
		}
	})
}

func TestDefaultEngineIsNotQuarantined(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.info.ID = "legacy"
	f.on = func(_ context.Context, op string, _ any) error {
		if op == "ingest" {
			panic("bad day")
		}
		return errBoom
	}
	require.NoError(t, r.Register("legacy", "core", factoryOf(f)))
	h, err := r.Resolve(t.Context(), ce.Selection{})
	require.NoError(t, err)
	for range 2 {
		_, err = h.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
		require.ErrorIs(t, err, errBoom)
		_, err = h.Ingest(t.Context(), ce.IngestParams{})
		var pe *ce.PanicError
		require.ErrorAs(t, err, &pe)
		require.Equal(t, "bad day", pe.Value)
		require.NotEmpty(t, pe.Stack)
	}
	require.Empty(t, r.Quarantines())
	require.Empty(t, r.out.lines())
}

func TestFallbackThatFailsTooReturnsTheEnginesError(t *testing.T) {
	errCore := errors.New("core failed")
	r, f, core := newRegistry(), newFake(allHooks), newFake(allHooks)
	f.on = fail("assemble", errBoom)
	core.on = fail("assemble", errCore)
	require.NoError(t, r.Register("legacy", "core", factoryOf(core)))
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "assemble")
	require.ErrorIs(t, err, errBoom)
	_, err = callHook(t.Context(), h, "assemble")
	require.ErrorIs(t, err, errCore, "later calls are the fallback's own")

	// A fallback that has the hooks answers them.
	got, err := callHook(t.Context(), h, "bootstrap")
	require.NoError(t, err)
	require.Equal(t, ce.BootstrapResult{Bootstrapped: true}, got)
}

func TestFallbackThatCannotBeMade(t *testing.T) {
	errCore := errors.New("no core today")
	made := 0
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("assemble", errBoom)
	require.NoError(t, r.Register("legacy", "core", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		made++
		return nil, errCore
	}))
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "assemble")
	require.ErrorIs(t, err, errBoom)
	for range 3 {
		_, err = callHook(t.Context(), h, "assemble")
		require.ErrorIs(t, err, errCore)
	}
	require.Equal(t, 1, made)
	require.Equal(t, ce.Legacy().Info(), h.Info())
	_, err = r.Resolve(t.Context(), ce.Selection{Engine: "missing"})
	require.ErrorIs(t, err, errCore)
	require.Len(t, r.Quarantines(), 2, "the missing id is recorded all the same")
}

// Who answered one call is told where it was asked for, whatever the reason.
func TestWatchStandIn(t *testing.T) {
	f := newFake(0)
	h := resolve(t, newRegistry(), f, ce.Selection{})
	answered := func() bool {
		ctx, outer := ce.WatchStandIn(t.Context())
		inner, standIn := ce.WatchStandIn(ctx)
		_, err := callHook(inner, h, "assemble")
		require.NoError(t, err)
		require.Equal(t, outer.Answered(), standIn.Answered())
		_, later := ce.WatchStandIn(inner)
		require.False(t, later.Answered(), "what was before is over")
		return standIn.Answered()
	}
	require.False(t, answered())
	f.on = fail("assemble", &ce.HostError{Op: "complete", Err: errBoom})
	require.True(t, answered(), "for this call")
	f.on = nil
	require.False(t, answered())
	f.on = fail("assemble", errBoom)
	require.True(t, answered(), "in the same call")
	require.True(t, answered(), "from now on")
}

func TestGoexitOfTheFallbacksFactory(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("assemble", errBoom)
	require.NoError(t, r.Register("legacy", "core", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		runtime.Goexit()
		return nil, nil
	}))
	h := resolve(t, r, f, ce.Selection{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = callHook(context.Background(), h, "assemble")
	}()
	<-done
	_, err := callHook(t.Context(), h, "assemble")
	var oe *ce.OpError
	require.ErrorAs(t, err, &oe, "nobody waits for what will not come")
	require.Empty(t, h.Status().Answering)
}

func TestCancelledFallbackIsMadeAgain(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("assemble", errBoom)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	require.NoError(t, r.Register("legacy", "core", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		if n++; n == 1 {
			cancel()
			return nil, context.Canceled
		}
		return ce.Legacy(), nil
	}))
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(ctx, h, "assemble")
	require.ErrorIs(t, err, errBoom)
	got, err := h.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
	require.NoError(t, err)
	require.Len(t, got.Messages, 2)
	require.Equal(t, 2, n)
}

func TestFallbackThatIsMadeWhileTheHandleCloses(t *testing.T) {
	r, f, core := newRegistry(), newFake(allHooks), newFake(allHooks)
	f.on = fail("assemble", errBoom)
	var h *ce.Handle
	require.NoError(t, r.Register("legacy", "core", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		require.NoError(t, h.Close())
		return core, nil
	}))
	h = resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "assemble")
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []string{"close"}, core.seen(), "closed by whoever came too late")
	require.Equal(t, ce.LegacyID, h.Info().ID)
	require.Equal(t, []string{"close"}, core.seen(), "and not made again")
}

func TestFailuresOfTheFallbackNameIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f, core := newRegistry(), newFake(allHooks), newFake(allHooks)
		f.on = fail("ingest", errBoom)
		core.on = func(ctx context.Context, op string, _ any) error {
			if op == "assemble" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		require.NoError(t, r.Register("legacy", "core", factoryOf(core)))
		h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Second)})
		_, err := callHook(t.Context(), h, "ingest")
		require.NoError(t, err)
		_, err = callHook(t.Context(), h, "assemble")
		var de *ce.DeadlineError
		require.ErrorAs(t, err, &de)
		require.Equal(t, ce.LegacyID, de.Engine)
		require.NoError(t, h.Close())
	})
}

func TestFallbacksToolsAreGuardedToo(t *testing.T) {
	r, core := newRegistry(), newFake(allHooks)
	core.tools = []ce.Tool{tool{"wild", func() ([]message.Block, error) { panic("tool") }}}
	require.NoError(t, r.Register("legacy", "core", factoryOf(core)))
	for _, id := range []string{"missing", "legacy"} {
		h, err := r.Resolve(t.Context(), ce.Selection{Engine: id})
		require.NoError(t, err)
		before := len(r.Quarantines())
		ts, err := h.Tools(t.Context(), ce.ToolsParams{})
		require.NoError(t, err)
		_, err = ts[0].Call(t.Context(), json.RawMessage(`{}`))
		var pe *ce.PanicError
		require.ErrorAs(t, err, &pe)
		require.Len(t, r.Quarantines(), before, "the default engine is never quarantined")
		require.NoError(t, h.Close())
		_, err = ts[0].Call(t.Context(), nil)
		require.ErrorIs(t, err, ce.ErrClosed)
	}
}

func TestFallbackThatDeclinesTakesItsOwnNextStep(t *testing.T) {
	r, f, core := newRegistry(), newFake(allHooks), newFake(allHooks)
	f.on = fail("afterTurn", errBoom)
	core.on = func(_ context.Context, op string, _ any) error {
		if op == "afterTurn" {
			return ce.ErrDeclined
		}
		return nil
	}
	require.NoError(t, r.Register("legacy", "core", factoryOf(core)))
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "afterTurn")
	require.NoError(t, err)
	require.Equal(t, []string{"afterTurn", "ingestBatch"}, core.seen())
}
