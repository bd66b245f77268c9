// Package tokens counts. There is one accounting in a program: an Estimator.
//
//	count := tokens.NewMeter(tokens.ScriptAware(), nil)
//	budget := tokens.NewBudget(128_000, nil) // of the model's window
//	tooMuch := budget.Overflow(count.Messages(history))
//
// # Which estimator
//
// [ScriptAware] is the default: fast, without a vocabulary, rather high than low
// for every script. Package tokens/bpe counts exactly for the models whose
// vocabulary is public. [Compat] and [CompatPressure] reproduce the two estimates
// of OpenClaw 2026.7.1; they serve parity, not decisions.
//
// # Where counts are kept
//
// A [Meter] wraps an Estimator and remembers what a message cost, by content. A
// host wraps its Estimator once and hands the Meter to everything that counts.
//
// # What counts are for
//
// A [Budget] turns a model's window into what may be sent. [Anchored] prefers what
// the provider reported for the last call over an estimate. A [Calibration] learns
// how far a provider's numbers are from the estimate.
package tokens

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/message"
)

// An Estimator gives token counts; Message includes the fixed cost of framing.
//
//   - Counts are never negative, and 0 only for what is not sent at all.
//   - The same content always gives the same count; [message.Message.Key], the
//     timestamp and the reported usage are no content.
//   - An Estimator keeps nothing of what it is given and changes nothing in it.
//   - It is safe for concurrent use.
type Estimator interface {
	// Text returns the cost of bare text, without framing; 0 for "".
	Text(s string) int
	// Message returns the cost of one message with its framing.
	Message(m message.Message) int
	// Schema returns the cost of one tool definition given as JSON.
	Schema(tool json.RawMessage) int
}

// A listEstimator counts a list at once, because that is cheaper.
type listEstimator interface {
	Messages(ms []message.Message) int
}

// Messages returns the cost of a list: the sum of Message. It uses the estimator's own
// Messages method where there is one, as [Meter] has.
func Messages(e Estimator, ms []message.Message) int {
	if l, ok := e.(listEstimator); ok {
		return l.Messages(ms)
	}
	n := 0
	for i := range ms {
		n = sum(n, e.Message(ms[i]))
	}
	return n
}
