package tokens

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// A CalibrationStore keeps one small value across restarts, in whatever a host has.
type CalibrationStore interface {
	// LoadCalibration returns what was saved last. Nothing saved yet is an empty value,
	// or an error that matches fs.ErrNotExist.
	LoadCalibration(ctx context.Context) ([]byte, error)
	// SaveCalibration replaces what was saved. It does not keep value.
	SaveCalibration(ctx context.Context, value []byte) error
}

// Load replaces what c knows by what s holds; a store that holds nothing changes
// nothing. On an error c is as it was.
func (c *Calibration) Load(ctx context.Context, s CalibrationStore) error {
	value, err := s.LoadCalibration(ctx)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(value) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("loading the calibration: %w", err)
	}
	return c.Restore(value)
}

// Save puts what c knows into s. Call it now and then: a lost calibration is learnt
// again within a few calls.
func (c *Calibration) Save(ctx context.Context, s CalibrationStore) error {
	if err := s.SaveCalibration(ctx, c.Snapshot()); err != nil {
		return fmt.Errorf("saving the calibration: %w", err)
	}
	return nil
}

// calibrationRow is the wire shape of one learnt ratio.
type calibrationRow struct {
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Ratio    float64 `json:"ratio"`
}

// Snapshot returns what c knows as JSON, in a fixed order.
func (c *Calibration) Snapshot() []byte {
	c.mu.RLock()
	rows := make([]calibrationRow, 0, len(c.ratios))
	for key, ratio := range c.ratios {
		rows = append(rows, calibrationRow{key.provider, key.model, ratio})
	}
	c.mu.RUnlock()
	slices.SortFunc(rows, func(a, b calibrationRow) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	out, err := json.Marshal(rows)
	if err != nil {
		return []byte("[]") // ratios are finite, so this does not happen
	}
	return out
}

// Restore replaces what c knows by a snapshot. Ratios out of range are clamped and
// those that are none are left out; a broken snapshot is an error and changes nothing.
func (c *Calibration) Restore(snapshot []byte) error {
	var rows []calibrationRow
	if err := json.Unmarshal(snapshot, &rows); err != nil {
		return fmt.Errorf("reading a calibration snapshot: %w", err)
	}
	ratios := make(map[calibrationKey]float64, len(rows))
	for _, r := range rows {
		if r.Ratio > 0 {
			ratios[calibrationKey{r.Provider, r.Model}] = clampRatio(r.Ratio)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ratios = ratios
	return nil
}
