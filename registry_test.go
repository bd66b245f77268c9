package contextengine_test

import (
	"context"
	"fmt"
	"testing"

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

func (panickyInfo) Info() ce.Info { panic("no info") }

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
