// Package report has the shapes in which a host tells people how a session stands and
// where its context window went. What a /status command shows is a [Status]:
//
//	s := h.Status(ref) // of a host.Host
//	fmt.Printf("%d of %d tokens, answered by %s\n", s.Used, s.Window, s.Engine.Answering)
//
// A [Run] is for hosts that show what a request is made of; they fill it in themselves.
package report

import (
	ce "github.com/go-contextengine/contextengine"
)

// A Run is the captured shape of one request: names, sizes and hashes, never text.
type Run struct {
	Source Source // run or estimate
	Engine ce.Status
	Groups []Group
}

// A Group is a named share of a request; its parts add up to its Chars.
type Group struct {
	Name  string
	Chars int
	Parts []Group
}

// Source says whether a Run was captured or guessed.
type Source string

// Sources.
const (
	SourceRun      Source = "run"      // captured from a request that was sent
	SourceEstimate Source = "estimate" // built without one
)

// Valid reports whether s is known.
func (s Source) Valid() bool { return s == SourceRun || s == SourceEstimate }

// A Status is how a session stands: engine, window, and what was done about it.
type Status struct {
	Engine                ce.Status
	Window, Used, Reserve int // tokens; 0: unknown
	Compactions           int // that counted, in the life of the host
	Settings              map[string]string
	// LastPrecheck is the last pre-prompt decision in one line, LastNoProgress why
	// the last compaction freed nothing. "": none.
	LastPrecheck, LastNoProgress string
}
