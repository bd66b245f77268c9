package contextengine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func TestSpec01_15_02_SlotValues(t *testing.T) {
	for slot, want := range map[string]struct {
		answering string
		source    ce.SelectionSource
	}{
		"":                   {"legacy", ce.SourceDefault},
		" \t\n\u00a0\ufeff ": {"legacy", ce.SourceDefault},
		"legacy":             {"legacy", ce.SourceConfigured},
		" legacy ":           {"legacy", ce.SourceConfigured},
		"x":                  {"fake", ce.SourceConfigured},
		"\u3000x\u2028":      {"fake", ce.SourceConfigured},
		"X":                  {"legacy", ce.SourceConfigured},
		"none":               {"legacy", ce.SourceConfigured},
		"\u200bx":            {"legacy", ce.SourceConfigured},
		"\u0085x":            {"legacy", ce.SourceConfigured},
	} {
		t.Run(fmt.Sprintf("%q", slot), func(t *testing.T) {
			r := newRegistry()
			require.NoError(t, r.Register("x", "plugin:x", factoryOf(newFake(0))))
			h, err := r.Resolve(t.Context(), ce.Selection{Engine: slot})
			require.NoError(t, err)
			require.Equal(t, want.answering, h.Status().Answering)
			require.Equal(t, want.source, h.Status().Source)
		})
	}
}

// typedNil is an engine whose methods would crash on a nil pointer.
type typedNil struct{ info ce.Info }

func (e *typedNil) Info() ce.Info { return e.info }

func (e *typedNil) Ingest(context.Context, ce.IngestParams) (ce.IngestResult, error) {
	return ce.IngestResult{}, nil
}

func (e *typedNil) Assemble(_ context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	return ce.AssembleResult{Messages: p.Messages}, nil
}

func (e *typedNil) Compact(context.Context, ce.CompactParams) (ce.CompactResult, error) {
	return ce.CompactResult{}, nil
}

type panickyInfo struct{ *fake }

func TestSpec01_15_02_BrokenFactories(t *testing.T) {
	blank := func(info ce.Info) ce.Factory {
		f := newFake(ce.HookClose)
		f.info = info
		return factoryOf(f)
	}
	for _, tt := range []struct {
		name      string
		f         ce.Factory
		op, class string
		reason    string
	}{
		{"error", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return nil, errBoom }, "factory", "error", "boom"},
		{"panic", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { panic("factory fire") }, "factory", "panic", "panic: factory fire"},
		{"cancel words", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return nil, context.Canceled }, "factory", "error", "context canceled"},
		{"nil", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return nil, nil }, "contract-validation", "contract", `engine "x" breaks the contract: the factory returned no engine`},
		{"typed nil", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return (*typedNil)(nil), nil }, "contract-validation", "contract", `engine "x" breaks the contract: the factory returned no engine`},
		{"info panics", factoryOf(panickyInfo{newFake(0)}), "contract-validation", "panic", "panic: no info"},
		{"everything blank", blank(ce.Info{TurnMaintenance: "sometimes"}), "contract-validation", "contract", `engine "x" breaks the contract: Info.ID is blank; Info.Name is blank; Info.TurnMaintenance is "sometimes"`},
		{"blank id", blank(ce.Info{ID: " ", Name: "n"}), "contract-validation", "contract", `engine "x" breaks the contract: Info.ID is blank`},
		{"blank name", blank(ce.Info{ID: "n"}), "contract-validation", "contract", `engine "x" breaks the contract: Info.Name is blank`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRegistry()
			require.NoError(t, r.Register("x", "plugin:x", tt.f))
			h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
			require.NoError(t, err)
			require.Equal(t, "legacy", h.Status().Answering)
			q := h.Status().Quarantine
			require.Equal(t, tt.op, q.Operation)
			require.Equal(t, tt.class, q.Class)
			require.Equal(t, tt.reason, q.Reason)
			require.False(t, h.Stale())

			_, err = r.Resolve(t.Context(), ce.Selection{Engine: "x", Policy: ce.Strict})
			var unavailable *ce.EngineUnavailableError
			require.ErrorAs(t, err, &unavailable)
			require.Len(t, r.out.lines(), 1)

			// The same engine as core's legacy has nobody to fall back on.
			r = newRegistry()
			require.NoError(t, r.Register("legacy", "core", tt.f))
			_, err = r.Resolve(t.Context(), ce.Selection{})
			var oe *ce.OpError
			require.ErrorAs(t, err, &oe)
			require.Equal(t, tt.op, oe.Op)
			require.Empty(t, r.Quarantines())
		})
	}
}

func TestSpec01_15_02_RefusedEnginesAreClosed(t *testing.T) {
	r, f := newRegistry(), newFake(ce.HookClose)
	f.info = ce.Info{}
	h := resolve(t, r, f, ce.Selection{})
	require.Equal(t, []string{"close"}, f.seen())
	require.Equal(t, "legacy", h.Status().Answering)
}

func TestSpec01_15_02_MissingAndDiscovery(t *testing.T) {
	r := newRegistry()
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "ghost"})
	require.NoError(t, err)
	require.Equal(t, ce.Quarantine{EngineID: "ghost", Operation: "resolve", Reason: "not registered", Class: "error", FailedAt: r.Now()}, *h.Status().Quarantine)
	_, err = r.Resolve(t.Context(), ce.Selection{Engine: "ghost"})
	require.NoError(t, err)
	require.Len(t, r.out.lines(), 1, "silent from the second time on")
	_, err = r.Resolve(t.Context(), ce.Selection{Engine: "ghost", Policy: ce.Strict})
	require.ErrorIs(t, err, ce.ErrNotRegistered)

	require.NoError(t, r.Register("shy", "plugin:shy", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		t.Error("a discovery-only engine was constructed")
		return nil, errBoom
	}, ce.DiscoveryOnly()))
	for range 2 {
		h, err = r.Resolve(t.Context(), ce.Selection{Engine: "shy"})
		require.NoError(t, err)
		require.Nil(t, h.Status().Quarantine)
		require.Equal(t, "legacy", h.Status().Answering)
		require.False(t, h.Stale())
	}
	require.Len(t, r.out.lines(), 3, "one warning each time")
	require.Contains(t, r.out.lines()[2], "level=WARN")
	_, err = r.Resolve(t.Context(), ce.Selection{Engine: "shy", Policy: ce.Strict})
	require.ErrorIs(t, err, ce.ErrDiscoveryOnly)

	require.NoError(t, r.Register("shy", "plugin:shy", factoryOf(newFake(0))))
	require.True(t, h.Stale())
	h, err = r.Resolve(t.Context(), ce.Selection{Engine: "shy"})
	require.NoError(t, err)
	require.Equal(t, "fake", h.Status().Answering)
}

func TestSpec01_15_02_CancelledFactory(t *testing.T) {
	cause := errors.New("gone home")
	for _, id := range []string{"x", "legacy"} {
		for name, answer := range map[string]func(context.Context) error{
			"its cause": context.Cause,
			"its error": func(ctx context.Context) error { return fmt.Errorf("connecting: %w", ctx.Err()) },
		} {
			t.Run(id+" answers "+name, func(t *testing.T) {
				r := newRegistry()
				ctx, cancel := context.WithCancelCause(t.Context())
				owner := map[string]string{"x": "plugin:x", "legacy": "core"}[id]
				require.NoError(t, r.Register(id, owner, func(ctx context.Context, _ ce.FactoryContext) (ce.ContextEngine, error) {
					cancel(cause)
					return nil, answer(ctx)
				}))
				_, err := r.Resolve(ctx, ce.Selection{Engine: id})
				require.ErrorIs(t, err, cause)
				require.Empty(t, r.Quarantines())
				_, err = r.Resolve(ctx, ce.Selection{Engine: id})
				require.ErrorIs(t, err, cause, "nothing is called once ctx is done")
			})
		}
	}
}

func TestFactoryThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, f := make(chan struct{}), newFake(allHooks)
		for _, id := range []string{"x", "legacy"} {
			r := newRegistry()
			owner := map[string]string{"x": "plugin:x", "legacy": "core"}[id]
			require.NoError(t, r.Register(id, owner, func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
				<-release
				return f, nil
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			_, err := r.Resolve(ctx, ce.Selection{Engine: id})
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Less(t, time.Since(start), 2*time.Second)
			require.Empty(t, r.Quarantines())
		}
		close(release)
		synctest.Wait()
		require.Equal(t, []string{"close", "close"}, f.seen(), "engines that come too late are closed")
	})
}

// deafInfo hangs in Info until it is released.
type deafInfo struct {
	*fake
	release chan struct{}
}

func (d deafInfo) Info() ce.Info {
	<-d.release
	return d.fake.Info()
}

func TestEngineThatHangsInInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, e := newRegistry(), deafInfo{newFake(allHooks), make(chan struct{})}
		require.NoError(t, r.Register("x", "plugin:x", factoryOf(e)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.Resolve(ctx, ce.Selection{Engine: "x"})
		require.Equal(t, context.DeadlineExceeded, err)
		require.Empty(t, r.Quarantines())
		close(e.release)
		synctest.Wait()
		require.Equal(t, []string{"close"}, e.seen())
	})
}

func TestFactoryContextIsTheSameOnEveryPath(t *testing.T) {
	fc := ce.FactoryContext{Config: []byte(`{"a":1}`), HostConfig: 7, AgentDir: "agent", WorkspaceDir: "work"}
	var got []ce.FactoryContext
	record := func(e ce.ContextEngine, err error) ce.Factory {
		return func(_ context.Context, fc ce.FactoryContext) (ce.ContextEngine, error) {
			got = append(got, fc)
			return e, err
		}
	}
	r := newRegistry()
	core, broken := newFake(0), newFake(0)
	broken.on = fail("assemble", errBoom)
	require.NoError(t, r.Register("legacy", "core", record(core, nil)))
	require.NoError(t, r.Register("x", "plugin:x", record(broken, nil)))
	require.NoError(t, r.Register("y", "plugin:y", record(nil, errBoom)))
	for _, id := range []string{"", "x", "y", "missing"} {
		h, err := r.Resolve(t.Context(), ce.Selection{Engine: id, Factory: fc})
		require.NoError(t, err)
		_, err = callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
	}
	require.Len(t, got, 6, "legacy; x and its fallback; y and its fallback; the fallback of missing")
	for _, g := range got {
		require.Equal(t, fc, g)
	}
}

func TestParallelResolvesOfAFailingEngineRecordOnce(t *testing.T) {
	r := newRegistry()
	require.NoError(t, r.Register("x", "plugin:x", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return nil, errBoom }))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
			require.NoError(t, err)
			require.Equal(t, "legacy", h.Status().Answering)
		})
	}
	wg.Wait()
	require.Len(t, r.Quarantines(), 1)
	require.Len(t, r.out.lines(), 1)
}

func TestSelectionValidate(t *testing.T) {
	err := ce.Selection{Policy: "maybe", Deadline: ce.Deadlines{Assemble: -1, Close: -2}}.Validate()
	require.ErrorContains(t, err, `unknown failure policy "maybe"`)
	require.ErrorContains(t, err, "deadline Assemble is negative")
	require.ErrorContains(t, err, "deadline Close is negative")
	require.NoError(t, ce.Selection{Deadline: ce.DefaultDeadlines()}.Validate())
	var r ce.Registry
	_, err = r.Resolve(t.Context(), ce.Selection{Engine: "x", Policy: "maybe"})
	require.ErrorContains(t, err, `"x"`)
	require.Empty(t, r.Quarantines())
}
