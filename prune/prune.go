package prune

import (
	"slices"
	"time"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// A Pass changes the list that one request sends.
//
//   - It returns ms itself when it changes nothing, and never changes a message in place.
//   - It carries the Key of each message that it keeps. A message that a pass makes has none.
//   - Applied to its own result it changes nothing.
//   - Given a list in which every call has its result, it returns such a list.
//   - The result may share memory with ms and with earlier results: treat it as read-only.
//     Appending to it is safe: it has no room behind its last message.
type Pass interface {
	Apply(ms []message.Message, in Input) []message.Message
}

// An Input is what a pass may know about the request. The zero Input is legal: passes then
// do what needs no knowledge.
type Input struct {
	// Provider, API and Model say who will answer. "": unknown.
	Provider, API, Model string
	// Window is the model's context window in the Estimator's unit, tokens. 0: unknown.
	Window int
	// Estimator is the host's accounting. nil: tokens.ScriptAware.
	Estimator tokens.Estimator
	// Now is the time of the request. Zero: unknown, nothing counts as expired.
	Now time.Time
}

func (in Input) estimator() tokens.Estimator {
	if in.Estimator == nil {
		return tokens.ScriptAware()
	}
	return in.Estimator
}

// A Stateful pass belongs to one session: what it shrank once, it shrinks in the same way
// in every later request. A host keeps its Snapshot with the session.
type Stateful interface {
	Pass
	// Observe tells the pass that the request of its last Apply succeeded, with the usage
	// that the provider reported and the time of the answer. Failed requests are not told.
	Observe(u message.Usage, at time.Time)
	// Snapshot returns the state as bytes for Restore, nil when there is none. Equal
	// states give equal bytes.
	Snapshot() []byte
	// Restore replaces the state. Empty bytes clear it. After an error the state is as
	// it was.
	Restore(b []byte) error
}

// Apply runs passes in order. It returns ms itself when none of them changes anything.
func Apply(ms []message.Message, in Input, passes ...Pass) []message.Message {
	for _, p := range passes {
		ms = p.Apply(ms, in)
	}
	return slices.Clip(ms)
}

// A passFunc is a pass without memory.
type passFunc func(ms []message.Message, in Input) []message.Message

// Apply implements Pass.
func (f passFunc) Apply(ms []message.Message, in Input) []message.Message {
	return slices.Clip(f(ms, in))
}
