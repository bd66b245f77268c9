package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// stateCalibration is the name of the stored calibration; it belongs to no session.
const stateCalibration = "calibration"

// A calibrator learns by how much the estimate differs from what providers count.
// What it learnt is kept in the state store.
type calibrator struct {
	off    bool
	state  StateStore
	logger *slog.Logger
	learnt tokens.Calibration

	storing chan struct{} // a token: one access to the store at a time, and to the rest
	loaded  bool
	saved   []byte
}

func newCalibrator(o *Options) *calibrator {
	return &calibrator{off: o.Uncalibrated, state: o.State, logger: o.Logger, storing: make(chan struct{}, 1)}
}

// load reads what an earlier run of the program learnt, once.
func (c *calibrator) load(ctx context.Context) {
	if c.off || !c.enter(ctx) {
		return
	}
	defer func() { <-c.storing }()
	if c.loaded {
		return
	}
	c.loaded = true
	raw, err := c.state.Load(ctx, ce.SessionRef{}, stateCalibration)
	if err == nil {
		err = c.learnt.Restore(raw)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.logger.LogAttrs(ctx, slog.LevelWarn, "the stored calibration starts anew", slog.Any("error", err))
	}
	c.saved = c.learnt.Snapshot()
}

// save stores what was learnt since the last time.
func (c *calibrator) save(ctx context.Context) {
	if c.off || !c.enter(ctx) {
		return
	}
	defer func() { <-c.storing }()
	now := c.learnt.Snapshot()
	if bytes.Equal(now, c.saved) {
		return
	}
	if err := c.state.Save(ctx, ce.SessionRef{}, stateCalibration, now); err != nil {
		c.logger.LogAttrs(ctx, slog.LevelWarn, "saving the calibration failed", slog.Any("error", err))
		return
	}
	c.saved = now
}

func (c *calibrator) enter(ctx context.Context) bool {
	select {
	case c.storing <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// leastObserved is the smallest request that teaches anything, in tokens: of a smaller
// one the provider's framing is too large a part.
const leastObserved = 1_000

// observe learns from a request and what the provider counted for it.
func (c *calibrator) observe(m ModelInfo, estimated int, u message.Usage) {
	if !c.off && estimated >= leastObserved {
		c.learnt.Observe(m.Provider, m.ID, estimated, u)
	}
}

func (c *calibrator) factor(m ModelInfo) float64 {
	if c.off {
		return 1
	}
	return c.learnt.Factor(m.Provider, m.ID)
}

// budget is the model's in the unit of the host's estimates. Every decision and
// every number that an engine gets is in it.
func (v *visit) budget() tokens.Budget {
	return v.model.Budget.Calibrated(v.h.calibrator.factor(v.model))
}

// estimated turns a count of the provider into the unit of the host's estimates.
func (v *visit) estimated(counted int) int {
	f := v.h.calibrator.factor(v.model)
	if f == 1 {
		return counted
	}
	return int(math.Ceil(float64(counted) / f))
}
