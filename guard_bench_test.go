package contextengine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

// plainEngine has AfterTurn and Close beside the four required methods.
type plainEngine struct {
	err error
}

func (e *plainEngine) Info() ce.Info { return ce.Info{ID: "plain", Name: "Plain"} }

func (e *plainEngine) Ingest(context.Context, ce.IngestParams) (ce.IngestResult, error) {
	return ce.IngestResult{Ingested: true}, e.err
}

func (e *plainEngine) Assemble(_ context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	return ce.AssembleResult{Messages: p.Messages}, e.err
}

func (e *plainEngine) Compact(context.Context, ce.CompactParams) (ce.CompactResult, error) {
	return ce.CompactResult{OK: true}, e.err
}

func (e *plainEngine) AfterTurn(context.Context, ce.AfterTurnParams) error { return e.err }

func (e *plainEngine) Close() error { return nil }

func plainFactory(e ce.ContextEngine) ce.Factory {
	return func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return e, nil }
}

func plainHandle(tb testing.TB, err error) *ce.Handle {
	tb.Helper()
	var reg ce.Registry
	require.NoError(tb, reg.Register("plain", "plugin:plain", plainFactory(&plainEngine{err: err})))
	h, rerr := reg.Resolve(tb.Context(), ce.Selection{Engine: "plain"})
	require.NoError(tb, rerr)
	return h
}

func assembleParams(n int) ce.AssembleParams {
	ms := make([]message.Message, n)
	return ce.AssembleParams{SessionRef: ce.SessionRef{SessionID: "s", SessionKey: "k"}, Messages: ms, TokenBudget: 1000, Settings: &ce.RuntimeSettings{}, Runtime: &ce.RuntimeContext{}}
}

func TestGuardAllocatesNothing(t *testing.T) {
	ctx, p := t.Context(), assembleParams(100)
	turn := ce.AfterTurnParams{SessionRef: p.SessionRef, Messages: p.Messages}
	healthy, broken := plainHandle(t, nil), plainHandle(t, errors.New("boom"))
	_, err := broken.Assemble(ctx, p)
	require.NoError(t, err)
	require.NotNil(t, broken.Status().Quarantine)

	for _, tt := range []struct {
		name string
		h    *ce.Handle
	}{{"healthy", healthy}, {"quarantined", broken}} {
		t.Run(tt.name, func(t *testing.T) {
			require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = tt.h.Assemble(ctx, p) }))
			require.Zero(t, testing.AllocsPerRun(100, func() { _ = tt.h.AfterTurn(ctx, turn) }))
		})
	}
}

func BenchmarkAssemble(b *testing.B) {
	ctx := b.Context()
	direct := &plainEngine{}
	healthy, broken := plainHandle(b, nil), plainHandle(b, errors.New("boom"))
	p := assembleParams(100)
	_, err := broken.Assemble(ctx, p)
	require.NoError(b, err)
	run := func(name string, e ce.ContextEngine) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = e.Assemble(ctx, p)
			}
		})
		b.Run(name+"-parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, _ = e.Assemble(ctx, p)
				}
			})
		})
	}
	run("direct", direct)
	run("guarded", healthy)
	run("quarantined", broken)
}

func BenchmarkAfterTurn(b *testing.B) {
	ctx := b.Context()
	p := ce.AfterTurnParams{Messages: make([]message.Message, 100)}
	for name, e := range map[string]ce.AfterTurner{"direct": &plainEngine{}, "guarded": plainHandle(b, nil)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = e.AfterTurn(ctx, p)
			}
		})
	}
}

func BenchmarkResolve(b *testing.B) {
	var reg ce.Registry
	require.NoError(b, reg.Register("plain", "plugin:plain", plainFactory(&plainEngine{})))
	b.ReportAllocs()
	for b.Loop() {
		h, err := reg.Resolve(b.Context(), ce.Selection{Engine: "plain"})
		if err != nil {
			b.Fatal(err)
		}
		_ = h.Close()
	}
}

func BenchmarkCheckHost(b *testing.B) {
	info := ce.Info{ID: "x", HostRequirements: map[ce.Operation]ce.HostRequirements{ce.OpAgentRun: {Required: ce.EmbeddedHost().Capabilities}}}
	host := ce.EmbeddedHost()
	b.ReportAllocs()
	for b.Loop() {
		if err := ce.CheckHost(info, ce.OpAgentRun, host); err != nil {
			b.Fatal(err)
		}
	}
}
