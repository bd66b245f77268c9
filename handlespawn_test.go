package contextengine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func TestX6_RollbackRunsOnceAndIsNotGuarded(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	n := 0
	f.undo = func(context.Context) error {
		n++
		if n == 1 {
			return errBoom
		}
		panic("twice")
	}
	h := resolve(t, r, f, ce.Selection{})
	prep, err := h.PrepareSubagentSpawn(t.Context(), ce.SubagentSpawnParams{})
	require.NoError(t, err)
	r.ClearQuarantine("x")
	require.ErrorIs(t, prep.Rollback(t.Context()), errBoom)
	require.NoError(t, prep.Rollback(t.Context()))
	require.Equal(t, 1, n)
	require.Empty(t, r.Quarantines())

	f.undo = func(context.Context) error { panic("undo") }
	prep, err = h.PrepareSubagentSpawn(t.Context(), ce.SubagentSpawnParams{})
	require.NoError(t, err)
	var pe *ce.PanicError
	require.ErrorAs(t, prep.Rollback(t.Context()), &pe)
	require.Empty(t, r.Quarantines())

	f.undo = nil
	prep, err = h.PrepareSubagentSpawn(t.Context(), ce.SubagentSpawnParams{})
	require.NoError(t, err)
	require.Nil(t, prep.Rollback)
}

func TestLateSubagentPreparationIsRolledBack(t *testing.T) {
	for _, after := range []time.Duration{time.Second + unwindGraceInTests/2, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r, f := newRegistry(), newFake(allHooks)
			undone := 0
			f.undo = func(context.Context) error { undone++; return nil }
			f.on = func(_ context.Context, op string, _ any) error {
				if op == "prepareSubagentSpawn" {
					time.Sleep(after)
				}
				return nil
			}
			h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Second)})
			_, err := callHook(t.Context(), h, "prepareSubagentSpawn")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Equal(t, 1, undone)
			require.NoError(t, h.Close())
		})
	}
}
