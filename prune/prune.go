// Package prune holds request-time views: what is sent, never what is stored.
package prune

import (
	"time"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// A Pass changes the list that one request sends. It returns ms itself when it
// changes nothing, never changes a message in place, and carries the Key of each
// message that it keeps.
type Pass interface {
	Apply(ms []message.Message, in Input) []message.Message
}

// An Input is what a pass may know about the request.
type Input struct {
	Provider, API, Model string           // "": unknown
	Window               int              // model context window, tokens; 0: unknown
	Estimator            tokens.Estimator // the host's accounting; nil: tokens.ScriptAware
	Now                  time.Time
}
