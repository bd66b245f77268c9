// Package tokens counts. There is one accounting in a program: an Estimator.
package tokens

import (
	"encoding/json"
	"github.com/go-contextengine/contextengine/message"
)

// An Estimator gives token counts; Message includes the fixed cost of framing.
type Estimator interface {
	Text(s string) int
	Message(m message.Message) int
	Schema(tool json.RawMessage) int
}

// A Meter is an Estimator that memoises per-message counts by content. Safe for concurrent use.
type Meter struct { /* unexported */
}

type MeterOptions struct{ Entries int }

// A Budget is the one set of numbers behind every decision.
type Budget struct {
	Window    int // model context window; 0: unknown, no automatic trigger
	Reserve   int // kept free for output and growth
	MinPrompt int // never reserve below this
	Output    int // max output tokens; 0: unknown
}

// Calibration holds, per provider and model, reported ÷ estimated prompt tokens.
type Calibration struct { /* unexported */
}
