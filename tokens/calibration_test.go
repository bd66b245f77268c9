package tokens_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

func ExampleCalibration() {
	var c tokens.Calibration
	c.Observe("anthropic", "claude-sonnet-4-5", 40_000, message.Usage{Input: 2_000, CacheRead: 48_000})
	factor := c.Factor("anthropic", "claude-sonnet-4-5")
	budget := tokens.NewBudget(200_000, nil)
	fmt.Println(factor, budget.Prompt(), budget.Calibrated(factor).Prompt())
	// Output: 1.25 180000 144000
}

func TestCalibrationLearns(t *testing.T) {
	t.Parallel()
	var c tokens.Calibration
	require.InDelta(t, 1, c.Factor("p", "m"), 0)
	c.Observe("p", "m", 100, message.Usage{Input: 150})
	require.InDelta(t, 1.5, c.Factor("p", "m"), 1e-9, "the first observation counts whole")
	c.Observe("p", "m", 100, message.Usage{Input: 100})
	require.InDelta(t, 1.35, c.Factor("p", "m"), 1e-9)
	for range 40 {
		c.Observe("p", "m", 100, message.Usage{Input: 60, CacheRead: 30, CacheWrite: 30, Output: 5_000})
	}
	require.InDelta(t, 1.2, c.Factor("p", "m"), 1e-3, "the prompt counts, the answer does not")
	require.InDelta(t, 1, c.Factor("p", "other"), 0)
	require.InDelta(t, 1, c.Factor("other", "m"), 0)
}

func TestCalibrationIsClamped(t *testing.T) {
	t.Parallel()
	var c tokens.Calibration
	c.Observe("p", "high", 1, message.Usage{Input: 1_000_000})
	c.Observe("p", "low", 1_000_000, message.Usage{Input: 1})
	require.InDelta(t, 3, c.Factor("p", "high"), 0)
	require.InDelta(t, 0.5, c.Factor("p", "low"), 0)
	c.Observe("p", "none", 100, message.Usage{})
	c.Observe("p", "none", 0, message.Usage{Input: 100})
	c.Observe("p", "none", -5, message.Usage{Input: 100})
	c.Observe("p", "none", 5, message.Usage{Output: 100})
	require.InDelta(t, 1, c.Factor("p", "none"), 0)
}

type memoryStore struct {
	value []byte
	err   error
}

func (s *memoryStore) LoadCalibration(context.Context) ([]byte, error) { return s.value, s.err }

func (s *memoryStore) SaveCalibration(_ context.Context, value []byte) error {
	s.value = value
	return s.err
}

func TestCalibrationSurvivesARestart(t *testing.T) {
	t.Parallel()
	var store memoryStore
	var c tokens.Calibration
	require.NoError(t, c.Load(t.Context(), &store), "nothing saved yet")
	c.Observe("b", "m", 100, message.Usage{Input: 130})
	c.Observe("a", "m", 100, message.Usage{Input: 90})
	require.NoError(t, c.Save(t.Context(), &store))
	require.JSONEq(t, `[{"provider":"a","model":"m","ratio":0.9},{"provider":"b","model":"m","ratio":1.3}]`, string(store.value))

	var next tokens.Calibration
	require.NoError(t, next.Load(t.Context(), &store))
	require.InDelta(t, 1.3, next.Factor("b", "m"), 0)
	require.Equal(t, c.Snapshot(), next.Snapshot())
}

func TestCalibrationStoreErrors(t *testing.T) {
	t.Parallel()
	var c tokens.Calibration
	c.Observe("p", "m", 100, message.Usage{Input: 130})
	require.NoError(t, c.Load(t.Context(), &memoryStore{err: fmt.Errorf("open: %w", fs.ErrNotExist)}))
	broken := errors.New("disk on fire")
	require.ErrorIs(t, c.Load(t.Context(), &memoryStore{err: broken}), broken)
	require.ErrorIs(t, c.Save(t.Context(), &memoryStore{err: broken}), broken)
	require.Error(t, c.Restore([]byte(`{"not":"a list"}`)))
	require.InDelta(t, 1.3, c.Factor("p", "m"), 0, "a broken snapshot changes nothing")
	require.NoError(t, c.Restore([]byte(`[{"provider":"p","model":"m","ratio":99},{"provider":"p","model":"n","ratio":-1}]`)))
	require.InDelta(t, 3, c.Factor("p", "m"), 0)
	require.InDelta(t, 1, c.Factor("p", "n"), 0)
}

func TestCalibrationConcurrently(t *testing.T) {
	t.Parallel()
	var c tokens.Calibration
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 100 {
				c.Observe("p", fmt.Sprint(i%2), 100, message.Usage{Input: 110})
				c.Factor("p", "0")
				c.Snapshot()
			}
		})
	}
	wg.Wait()
	require.InDelta(t, 1.1, c.Factor("p", "1"), 1e-9)
}
