package tokens

import (
	"sync"

	"github.com/go-contextengine/contextengine/message"
)

const (
	// calibrationWeight is the weight of the newest observation.
	calibrationWeight = 0.3
	// calibrationMin and calibrationMax bound a ratio: beyond them something else is
	// wrong than the estimate.
	calibrationMin, calibrationMax = 0.5, 3
)

// Calibration holds, per provider and model, reported ÷ estimated prompt tokens, as
// an exponentially weighted mean. The zero value is ready and knows nothing. It is
// safe for concurrent use and must not be copied. Apply it to a budget with
// [Budget.Calibrated], never to stored counts.
type Calibration struct {
	mu     sync.RWMutex
	ratios map[calibrationKey]float64
}

type calibrationKey struct{ provider, model string }

// Observe learns from one successful call: estimated is what the program thought its
// prompt would cost, u what the provider reported for that call. A call without a
// reported prompt or without an estimate teaches nothing.
func (c *Calibration) Observe(provider, model string, estimated int, u message.Usage) {
	reported := PromptTokens(u)
	if estimated <= 0 || reported <= 0 {
		return
	}
	ratio := clampRatio(float64(reported) / float64(estimated))
	key := calibrationKey{provider, model}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.ratios[key]; ok {
		ratio = old + calibrationWeight*(ratio-old)
	}
	if c.ratios == nil {
		c.ratios = make(map[calibrationKey]float64)
	}
	c.ratios[key] = ratio
}

// Factor returns the learnt ratio, within 0.5 and 3; 1 when nothing is known.
func (c *Calibration) Factor(provider, model string) float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if r, ok := c.ratios[calibrationKey{provider, model}]; ok {
		return r
	}
	return 1
}

func clampRatio(r float64) float64 { return min(calibrationMax, max(calibrationMin, r)) }
