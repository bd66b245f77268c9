package contextengine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func TestSpec01_15_01_RegistrationMatrix(t *testing.T) {
	alpha, beta := factoryOf(newFake(0)), factoryOf(newFake(allHooks))
	type reg struct {
		id, owner string
		f         ce.Factory
		discovery bool
		conflict  string // owner named by the refusal
		bad       string // text of any other refusal
	}
	for _, tt := range []struct {
		name string
		regs []reg
		want map[string]ce.Registration
	}{
		{"owner is trimmed", []reg{{id: "a", owner: "  plugin:a ", f: alpha}, {id: "a", owner: "plugin:a", f: beta}}, map[string]ce.Registration{"a": {ID: "a", Owner: "plugin:a", Generation: 2}}},
		{"blank owner", []reg{{id: "a", owner: " \t", f: alpha, bad: `"a": the owner is blank`}}, nil},
		{"blank id", []reg{{id: " ", owner: "o", f: alpha, bad: "the id is blank"}}, nil},
		{"padded id", []reg{{id: " a", owner: "o", f: alpha, bad: `" a" has white space`}}, nil},
		{"nil factory", []reg{{id: "a", owner: "o", bad: "the factory is nil"}}, nil},
		{"foreign owner", []reg{{id: "a", owner: "one", f: alpha}, {id: "a", owner: "two", f: beta, conflict: "one"}}, map[string]ce.Registration{"a": {ID: "a", Owner: "one", Generation: 1}}},
		{"owners are case-sensitive", []reg{{id: "a", owner: "one", f: alpha}, {id: "a", owner: "One", f: beta, conflict: "one"}}, nil},
		{"legacy is core's", []reg{{id: "legacy", owner: "plugin:x", f: alpha, conflict: "core"}, {id: "legacy", owner: "core", f: alpha}}, map[string]ce.Registration{"legacy": {ID: "legacy", Owner: "core", Generation: 1}}},
		{"Legacy is not legacy", []reg{{id: "Legacy", owner: "plugin:x", f: alpha}}, map[string]ce.Registration{"Legacy": {ID: "Legacy", Owner: "plugin:x", Generation: 1}}},
		{"discovery", []reg{{id: "a", owner: "o", f: alpha, discovery: true}}, map[string]ce.Registration{"a": {ID: "a", Owner: "o", DiscoveryOnly: true, Generation: 1}}},
		{"upgrade", []reg{{id: "a", owner: "o", f: alpha, discovery: true}, {id: "a", owner: "o", f: beta}}, map[string]ce.Registration{"a": {ID: "a", Owner: "o", Generation: 2}}},
		{"no downgrade", []reg{{id: "a", owner: "o", f: alpha}, {id: "a", owner: "o", f: beta, discovery: true}}, map[string]ce.Registration{"a": {ID: "a", Owner: "o", Generation: 1}}},
		{"foreign discovery", []reg{{id: "a", owner: "o", f: alpha, discovery: true}, {id: "a", owner: "p", f: beta, conflict: "o"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRegistry()
			for _, x := range tt.regs {
				var opts []ce.RegisterOption
				if x.discovery {
					opts = append(opts, ce.DiscoveryOnly())
				}
				err := r.Register(x.id, x.owner, x.f, opts...)
				var conflict *ce.ConflictError
				switch {
				case x.conflict != "":
					require.ErrorAs(t, err, &conflict)
					require.Equal(t, ce.ConflictError{ID: x.id, Owner: x.conflict}, *conflict)
					require.Contains(t, err.Error(), fmt.Sprintf("%q", x.conflict))
				case x.bad != "":
					require.ErrorContains(t, err, x.bad)
				default:
					require.NoError(t, err)
				}
			}
			for id, want := range tt.want {
				got, ok := r.Lookup(id)
				require.True(t, ok)
				require.Equal(t, want, got)
			}
		})
	}
}

func TestX11_ForeignOwnerIsRefusedAndNamed(t *testing.T) {
	r := newRegistry()
	require.NoError(t, r.Register("a", "plugin:one", factoryOf(newFake(0))))
	require.EqualError(t, r.Register("a", "plugin:two", factoryOf(newFake(0))), `engine id "a" belongs to owner "plugin:one"`)
}

func TestX12_LegacyCannotBeClaimed(t *testing.T) {
	var r ce.Registry
	var conflict *ce.ConflictError
	require.ErrorAs(t, r.Register("legacy", "plugin:x", factoryOf(newFake(0))), &conflict)
	require.Equal(t, "core", conflict.Owner)
	h, err := r.Resolve(t.Context(), ce.Selection{})
	require.NoError(t, err)
	require.Equal(t, ce.Legacy().Info(), h.Info())
}

func TestX13_DiscoveryDoesNotReplaceARuntimeRegistration(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	h := resolve(t, r, f, ce.Selection{})
	require.NoError(t, r.Register("x", "plugin:x", factoryOf(newFake(0)), ce.DiscoveryOnly()))
	require.False(t, h.Stale())
	again, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.Equal(t, "fake", again.Status().Answering)
}

func TestSpec01_15_01_WhatClearsAQuarantine(t *testing.T) {
	r := newRegistry()
	_, err := r.Resolve(t.Context(), ce.Selection{Engine: "a"})
	require.NoError(t, err)
	require.Len(t, r.Quarantines(), 1)

	// A discovery entry heals nothing, a refused one neither, a full one does.
	require.NoError(t, r.Register("a", "o", factoryOf(newFake(0)), ce.DiscoveryOnly()))
	require.Len(t, r.Quarantines(), 1)
	require.Error(t, r.Register("a", "other", factoryOf(newFake(0))))
	require.Len(t, r.Quarantines(), 1)
	require.NoError(t, r.Register("a", "o", factoryOf(newFake(0))))
	require.Empty(t, r.Quarantines())
}

func TestUnregisterOwner(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	h := resolve(t, r, f, ce.Selection{})
	require.NoError(t, r.Register("y", "plugin:y", factoryOf(newFake(0))))
	require.NoError(t, r.Register("legacy", "core", factoryOf(newFake(0))))
	_, err := r.Resolve(t.Context(), ce.Selection{Engine: "gone"})
	require.NoError(t, err)
	require.Equal(t, []string{"legacy", "x", "y"}, r.IDs())

	r.UnregisterOwner("  ")
	r.UnregisterOwner("plugin:z")
	require.Equal(t, []string{"legacy", "x", "y"}, r.IDs())
	r.UnregisterOwner(" plugin:x ")
	require.Equal(t, []string{"legacy", "y"}, r.IDs())
	require.True(t, h.Stale())
	res, err := h.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
	require.NoError(t, err)
	require.Equal(t, 11, res.EstimatedTokens, "a Handle goes on with its engine")
	require.Len(t, r.Quarantines(), 1, "the record of the missing id stays")

	r.UnregisterOwner("core")
	require.Equal(t, []string{"legacy", "y"}, r.IDs(), "legacy cannot be removed")
	d, err := r.Resolve(t.Context(), ce.Selection{})
	require.NoError(t, err)
	require.Equal(t, ce.Legacy().Info(), d.Info(), "the built-in one is back")
}

func TestUnregisterOwnerForgetsItsFailures(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("ingest", errBoom)
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "ingest")
	require.NoError(t, err)
	require.Len(t, r.Quarantines(), 1)
	r.UnregisterOwner("plugin:x")
	require.Empty(t, r.Quarantines())
	require.NotNil(t, h.Status().Quarantine, "its Handles stay downgraded")
}

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

func (panickyInfo) Info() ce.Info { panic("no info") }

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
		r := newRegistry()
		ctx, cancel := context.WithCancelCause(t.Context())
		owner := map[string]string{"x": "plugin:x", "legacy": "core"}[id]
		require.NoError(t, r.Register(id, owner, func(ctx context.Context, _ ce.FactoryContext) (ce.ContextEngine, error) {
			cancel(cause)
			return nil, context.Cause(ctx)
		}))
		_, err := r.Resolve(ctx, ce.Selection{Engine: id})
		require.ErrorIs(t, err, cause)
		require.Empty(t, r.Quarantines())
		_, err = r.Resolve(ctx, ce.Selection{Engine: id})
		require.ErrorIs(t, err, cause, "nothing is called once ctx is done")
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

func TestErrorsAndLogsAreSanitisedRecordsAreRaw(t *testing.T) {
	evil := "bad\x1b[31m news\r\nlevel=INFO msg=forged \u009b1m\x1b]0;title\x07end"
	r := newRegistry()
	require.NoError(t, r.Register("x\x1b[1m", "plugin:x", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return nil, errors.New(evil)
	}))
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x\x1b[1m"})
	require.NoError(t, err)
	require.Equal(t, evil, h.Status().Quarantine.Reason)
	require.Len(t, r.out.lines(), 1)
	require.Contains(t, r.out.lines()[0], "bad news level=INFO msg=forged end")
	_, err = r.Resolve(t.Context(), ce.Selection{Engine: "x\x1b[1m", Policy: ce.Strict})
	require.NotContains(t, err.Error(), "\x1b")
	require.NotContains(t, err.Error(), "\n")

	long := &ce.OpError{Engine: "x", Op: "assemble", Err: errors.New(evil)}
	require.Equal(t, `contextengine: engine "x": assemble: bad news level=INFO msg=forged end`, long.Error())
}

// A lone C1 byte is a control sequence to terminals that are not set to UTF-8.
func TestTextThatIsNotUTF8IsMadeSo(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	f.on = fail("compact", errors.New("bad \x9b31m \xff bytes"))
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "compact")
	require.EqualError(t, err, "contextengine: engine \"x\": compact: bad \ufffd31m \ufffd bytes")
	require.Equal(t, "bad \x9b31m \xff bytes", h.Status().Quarantine.Reason, "as it came")
	require.True(t, utf8.ValidString(r.out.lines()[0]))
}

func TestLongReasonsAreCutBetweenCodePoints(t *testing.T) {
	r := newRegistry()
	require.NoError(t, r.Register("x", "plugin:x", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return nil, errors.New(strings.Repeat("漢", 600))
	}))
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("漢", 500), h.Status().Quarantine.Reason)
}

type panickyError struct{}

func (panickyError) Error() string { panic("no text") }

func TestErrorWhoseTextPanics(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	f.on = fail("assemble", panickyError{})
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "assemble")
	require.NoError(t, err)
	require.Contains(t, h.Status().Quarantine.Reason, "that cannot be examined")
}

func TestBuiltInLegacyIsAFullRegistration(t *testing.T) {
	r := newRegistry()
	require.NoError(t, r.Register("legacy", "core", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		t.Error("a discovery-only engine was constructed")
		return nil, errBoom
	}, ce.DiscoveryOnly()))
	h, err := r.Resolve(t.Context(), ce.Selection{})
	require.NoError(t, err)
	require.Equal(t, ce.Legacy().Info(), h.Info())
	reg, ok := r.Lookup("legacy")
	require.True(t, ok)
	require.Equal(t, ce.Registration{ID: "legacy", Owner: "core"}, reg)
	_, ok = r.Lookup("nobody")
	require.False(t, ok)
	r.UnregisterOwner("core")
	require.False(t, h.Stale() && len(r.IDs()) == 0)
}

func TestAbsentIDsAreBounded(t *testing.T) {
	r := newRegistry()
	r.Logger = nil
	for i := range 1100 {
		id := fmt.Sprintf("ghost-%d", i)
		_, err := r.Resolve(t.Context(), ce.Selection{Engine: id})
		require.NoError(t, err)
		if i%2 == 0 && i < 500 {
			r.ClearQuarantine(id)
		}
	}
	qs := r.Quarantines()
	require.LessOrEqual(t, len(qs), 1000)
	require.Equal(t, "ghost-1", qs[0].EngineID, "what was cleared makes room first")
	require.Equal(t, "ghost-1099", qs[len(qs)-1].EngineID, "in the order of their failures, the last ones stay")
	require.Equal(t, []string{"legacy"}, r.IDs())
}
