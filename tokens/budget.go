package tokens

import "math"

// Defaults of the reserve, in tokens (OpenClaw 2026.7.1 defaults).
const (
	// DefaultReserve is reserved when nothing is configured, before the floor is applied.
	DefaultReserve = 16_384
	// DefaultReserveFloor is the least reserve of a window that is large enough for it.
	DefaultReserveFloor = 20_000
	// DefaultMinPrompt is the most that is kept for the prompt against the reserve.
	DefaultMinPrompt = 8_000
)

// A Budget is the one set of numbers behind every decision. All are tokens. The zero
// Budget knows nothing: nothing overflows it. Make one with [NewBudget] to get the
// default reserve. A Budget is a value; it may be copied and compared.
type Budget struct {
	Window    int // model context window; 0 or less: unknown, no automatic trigger
	Reserve   int // kept free for output and growth
	MinPrompt int // never reserve below this; 0: half of Window, at most DefaultMinPrompt
	Output    int // max output tokens; 0: unknown
}

// BudgetOptions say how much of a window is kept free. Nil is all defaults.
type BudgetOptions struct {
	// Reserve is what is kept free, in tokens. Optional. If nil, DefaultReserve; less than
	// zero means zero. A Floor above it wins.
	Reserve *int
	// Floor raises a smaller Reserve. Optional. If nil, DefaultReserveFloor; zero or
	// less means no floor.
	Floor *int
	// Output is the most the model may answer, in tokens. Optional. If zero, unknown.
	Output int
}

// NewBudget returns the budget of a model window. A window of zero or less is
// unknown: the reserve is then kept as configured, without a cap. Otherwise neither
// the floor nor the reserve takes what a minimal prompt needs.
func NewBudget(window int, opts *BudgetOptions) Budget {
	var o BudgetOptions
	if opts != nil {
		o = *opts
	}
	b := Budget{Window: max(0, window), Output: max(0, o.Output)}
	b.Reserve = max(0, orDefault(o.Reserve, DefaultReserve), orDefault(o.Floor, DefaultReserveFloor))
	if b.Known() {
		b.MinPrompt = b.minPrompt()
		b.Reserve = b.EffectiveReserve()
	}
	return b
}

func orDefault(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// Known reports whether the window is known. Without it no automatic trigger fires.
func (b Budget) Known() bool { return b.Window > 0 }

// Prompt is what may be sent: Window less the effective reserve, at least 1. For an
// unknown window it is 1; ask Overflow, which does not mistake that for a full one.
func (b Budget) Prompt() int {
	if !b.Known() {
		return 1
	}
	return max(1, b.Window-b.EffectiveReserve())
}

// EffectiveReserve is Reserve as far as it leaves MinPrompt tokens for the prompt. For
// an unknown window it is Reserve as configured.
func (b Budget) EffectiveReserve() int {
	if !b.Known() {
		return max(0, b.Reserve)
	}
	return max(0, min(b.Reserve, b.Window-b.minPrompt()))
}

// Overflow is by how much an estimate passes Prompt: 0 when it fits, and always 0
// when the window is unknown.
func (b Budget) Overflow(estimated int) int {
	if !b.Known() || estimated <= b.Prompt() {
		return 0
	}
	return estimated - b.Prompt()
}

// Calibrated returns b in the unit of an estimator that is off by factor, as
// [Calibration.Factor] gives it: where the provider counts 1.2 for each estimated
// token, a window of 120,000 holds 100,000 estimated ones. Estimates are then
// compared as they are; no stored count changes. A factor of zero or less is 1. An
// unknown window stays unknown. What is too large for an int is the largest int.
func (b Budget) Calibrated(factor float64) Budget {
	if !(factor > 0) || factor == 1 {
		return b
	}
	return Budget{
		Window:    scaleDown(b.Window, factor),
		Reserve:   scaleDown(b.EffectiveReserve(), factor),
		MinPrompt: scaleDown(b.minPrompt(), factor),
		Output:    scaleDown(b.Output, factor),
	}
}

// scaleDown divides without turning something known into the unknown 0.
func scaleDown(n int, factor float64) int {
	if n <= 0 {
		return n
	}
	q := float64(n) / factor
	if q >= math.MaxInt {
		return math.MaxInt
	}
	return max(1, int(q))
}

func (b Budget) minPrompt() int {
	if b.MinPrompt > 0 {
		return b.MinPrompt
	}
	return min(DefaultMinPrompt, max(1, b.Window/2))
}
