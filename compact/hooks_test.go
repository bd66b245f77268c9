package compact_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
)

func TestX4_MemoryFlushOncePerCycle(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	var order []string
	opts := &compact.Options{
		KeepRecent: 800, Summarizer: compact.Scripted(compact.Reply{Err: &compact.AuthError{}}, compact.Reply{Text: "The migration locks tables."}),
		Before:      func(context.Context, compact.Cycle) error { order = append(order, "before"); return nil },
		FlushMemory: func(context.Context, compact.Cycle) error { order = append(order, "flush"); return nil },
		After:       func(context.Context, compact.Cycle, ce.CompactDetails) { order = append(order, "after") },
	}
	c := compactor(t, store, opts)
	for range 2 { // the first fails, the second is still the same cycle
		_, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
	}
	require.Equal(t, []string{"before", "flush", "before", "after"}, order)
	appendAll(t, log, talk(20)...)
	_, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.Equal(t, []string{"before", "flush", "after"}, order[4:], "another cycle")
}

func TestX4_FailingFlushIsGivenUp(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	flushes := 0
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800, Summarizer: compact.Scripted(compact.Reply{Err: &compact.AuthError{}}),
		FlushMemory: func(context.Context, compact.Cycle) error { flushes++; return errors.New("disk full") },
	})
	for range 5 {
		res, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
		require.Equal(t, ce.ReasonProviderUnavailable, res.Reason, "a failed flush stops nothing")
	}
	require.Equal(t, 3, flushes)
}

func TestVeto(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	before := dump(t, log)
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800, Summarizer: brief(),
		Before: func(_ context.Context, c compact.Cycle) error {
			return fmt.Errorf("%w: a deployment is running", compact.ErrVetoed)
		},
		FlushMemory: func(context.Context, compact.Cycle) error { t.Error("flushed in vain"); return nil },
	})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.Equal(t, ce.ReasonVetoed, res.Reason)
	require.Contains(t, res.Detail, "a deployment is running")
	require.Equal(t, before, dump(t, log))
}
