package host

import (
	"context"
	"slices"
	"sync"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

// Operations of an [Event] that are no hooks of an engine; those have the names of
// their hooks.
const (
	// OpBeforeCompaction and OpAfterCompaction stand around a compaction: that of an
	// engine which owns compaction, else the built-in one when it runs. The second one
	// comes only when the compaction counts.
	OpBeforeCompaction = "before_compaction"
	OpAfterCompaction  = "after_compaction"
	// OpPrecheck is a decision about a request before it was sent.
	OpPrecheck = "precheck"
	// OpPreflight is a compaction before a turn; its reason is a [PreflightClass].
	OpPreflight = "preflight"
	// OpDropOldest tells that the oldest messages are left out of what is sent.
	OpDropOldest = "drop_oldest"
	// OpState tells that a session's stored state was missing parts and starts anew.
	OpState = "state"
)

// Outcomes of an Event.
const (
	OutcomeOK      = "ok"
	OutcomeFailed  = "failed"
	OutcomeSkipped = "skipped"
	// OutcomeFallback: the engine failed, and legacy answered.
	OutcomeFallback = "fallback"
)

// An Event is something that happened in a turn. It never has text of messages.
type Event struct {
	// Operation is a hook ("assemble") or one of the constants, Engine the id of who
	// answers, Outcome how it went.
	Operation, Engine, Outcome string
	// Reason is a code or, after a failure, the error's text; "": none.
	Reason                    string
	SessionID                 string
	Duration                  time.Duration
	TokensBefore, TokensAfter int // of the context; 0: unknown
}

// An Observer is told what happens, in order within a turn. Observe returns soon:
// the turn waits for it. Calls for different sessions may run concurrently.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// A witness knows whom to tell what happens in a session. It is a value that does
// not change: an engine's late call may still use it.
type witness struct {
	h       *Host
	engine  *engine
	session string
	journal *journal
}

// A journal is what happened in a visit.
type journal struct {
	mu     sync.Mutex
	events []Event
}

func (j *journal) add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *journal) all() []Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

func (v *visit) witness() witness {
	return witness{h: v.h, engine: v.engine, session: v.ref.SessionID, journal: v.journal}
}

func (v *visit) observe(ctx context.Context, e Event, err error) { v.witness().observe(ctx, e, err) }

// observe completes an event, keeps it for the outcome, and tells the observer.
func (w witness) observe(ctx context.Context, e Event, err error) {
	status := w.engine.Status()
	e.Engine, e.SessionID = status.Answering, w.session
	switch {
	case err != nil:
		e.Outcome, e.Reason = OutcomeFailed, err.Error()
	case e.Outcome != "":
	case status.Degraded():
		e.Outcome = OutcomeFallback
		if e.Reason == "" {
			e.Reason = quarantineReason(status)
		}
	default:
		e.Outcome = OutcomeOK
	}
	w.journal.add(e)
	if o := w.h.opts.Observer; o != nil {
		o.Observe(ctx, e)
	}
}

func quarantineReason(s ce.Status) string {
	if s.Quarantine == nil {
		return ""
	}
	return s.Quarantine.Operation + " " + s.Quarantine.Class
}
