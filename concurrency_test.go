package contextengine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func TestEngineMayCloseItsOwnHandle(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	var h *ce.Handle
	f.on = func(_ context.Context, op string, _ any) error {
		if op == "close" {
			return h.Close()
		}
		return nil
	}
	h = resolve(t, r, f, ce.Selection{})
	require.NoError(t, h.Close())
}

func TestReentrancy(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	var h *ce.Handle
	f.on = func(ctx context.Context, op string, _ any) error {
		if op != "assemble" {
			return nil
		}
		_, err := h.Ingest(ctx, ce.IngestParams{})
		other, rerr := r.Resolve(ctx, ce.Selection{Engine: "x"})
		return errors.Join(err, rerr, other.Close(), r.Register("x", "plugin:x", factoryOf(f)))
	}
	h = resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "assemble")
	require.NoError(t, err)
	require.Empty(t, r.Quarantines())
	require.True(t, h.Stale())
}

func TestRegistryUnderRacingChanges(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	r.Health = &safeHealth{}
	f.on = fail("ingest", errBoom)
	require.NoError(t, r.Register("x", "plugin:x", factoryOf(f)))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				switch i {
				case 0:
					_ = r.Register("x", "plugin:x", factoryOf(f))
				case 1:
					r.UnregisterOwner("plugin:x")
				case 2:
					r.ClearQuarantine("x")
				default:
					h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
					require.NoError(t, err)
					_, err = callHook(t.Context(), h, "ingest")
					require.NoError(t, err)
					_ = h.Status()
					_ = r.Quarantines()
					require.NoError(t, h.Close())
				}
			}
		})
	}
	wg.Wait()
}

func TestStrictNeverFallsBackWhileItIsCleared(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	h := resolve(t, r, f, ce.Selection{Policy: ce.Strict})
	f.on = func(_ context.Context, op string, _ any) error {
		if op == "ingest" {
			return errBoom
		}
		return nil
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = h.Ingest(context.Background(), ce.IngestParams{})
				r.ClearQuarantine("x")
			}
		}
	})
	for range 20_000 {
		res, err := h.Assemble(t.Context(), ce.AssembleParams{Messages: history[:]})
		if err == nil && res.EstimatedTokens != 11 {
			t.Error("legacy answered")
			break
		}
	}
	close(stop)
	wg.Wait()
}
