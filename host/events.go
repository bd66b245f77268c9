package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/lane"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// Operations of an [Event] that are hooks of the engine. The end of a turn is one
// event, whichever of its hooks the engine has.
const (
	OpBootstrap    = turn.CallBootstrap // its reason is the boundary
	OpMaintain     = turn.CallMaintain  // its reason is that of the maintenance
	OpTools        = "tools"
	OpAssemble     = "assemble"
	OpAfterTurn    = "afterTurn"     // in a tool loop
	OpCommitTurn   = turn.CallCommit // the end of the turn
	OpCompact      = "compact"
	OpSessionEnded = "onSessionEnded"
	OpClose        = "close" // of an engine that nobody needs any more
)

// Operations that are no hooks.
const (
	// OpModel is a request of the turn to the model, OpComplete one of an engine or of a
	// compaction; the latter's reason is the hook that it was made in.
	OpModel    = "model"
	OpComplete = "complete"
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
	// OpBackground is the progress of maintenance in the background: its outcome is
	// scheduled, running where it takes long, and then how it ended.
	OpBackground = "background"
	// OpState tells that a session's stored state was missing parts and starts anew.
	OpState = "state"
)

// Outcomes of an Event.
const (
	OutcomeOK      = "ok"
	OutcomeFailed  = "failed"
	OutcomeSkipped = "skipped"
	// OutcomeFallback: the engine failed, now or before, and legacy answered. Requests to
	// the model have it never.
	OutcomeFallback = "fallback"
	// OutcomeScheduled and OutcomeRunning are about work in the background.
	OutcomeScheduled = "scheduled"
	OutcomeRunning   = "running"
)

// An Event is something that happened in a turn, or in the background. But for Err it
// never has text that may be of a message.
type Event struct {
	// Operation is a hook or one of the other constants, Engine the id of who answers,
	// Outcome how it went.
	Operation, Engine, Outcome string
	// Reason is a code; "": none. After a failure it is error, panic, contract, deadline,
	// cancelled, host or unavailable; of a compaction, a [ce.CompactionReason]; of a fallback
	// that has no other reason it names the hook that failed and how: "assemble error".
	Reason    string
	SessionID string
	// Err is what failed; nil: nothing did, a compaction did not make the context smaller,
	// or legacy answered: then Outcome.Engine and [Host.Status] have the failure. Its text
	// may quote messages.
	Err                       error
	Duration                  time.Duration
	TokensBefore, TokensAfter int // of the context; 0: unknown
	// InputTokens and OutputTokens are what the provider counted for a request, the
	// former with what came from its cache; 0: unknown.
	InputTokens, OutputTokens int
}

// costing returns e with what a request cost.
func (e Event) costing(u *message.Usage) Event {
	if u != nil {
		e.InputTokens, e.OutputTokens = tokens.PromptTokens(*u), u.Output
	}
	return e
}

// An Observer is told what happens, in order within a turn. Observe returns soon:
// the turn waits for it, and so a call of the same Turn, or of a method of the Host that
// waits for the session, never comes back before its context ends. Calls for different
// sessions may run concurrently, and for one session those about the background. A panic
// is logged and changes nothing.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Observers returns an Observer that tells each of os, in order. nil ones are left out.
func Observers(os ...Observer) Observer {
	return observers(slices.DeleteFunc(slices.Clone(os), func(o Observer) bool { return o == nil }))
}

type observers []Observer

// Observe implements [Observer].
func (os observers) Observe(ctx context.Context, e Event) {
	for _, o := range os {
		o.Observe(ctx, e)
	}
}

// A notifier knows whom to tell what happens in a session. It is a value that does
// not change: an engine's late call may still use it.
type notifier struct {
	h       *Host
	engine  *engine
	session string
	journal *journal
	known   *session
}

// A journal is what happened in a visit.
type journal struct {
	mu     sync.Mutex
	events []Event
	spent  Spending
}

func (j *journal) spend(u *message.Usage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spent.add(u)
}

func (j *journal) cost() Spending {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.spent
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

func (v *visit) notifier() notifier {
	return notifier{h: v.h, engine: v.engine, session: v.ref.SessionID, journal: v.journal, known: v.session}
}

func (v *visit) observe(ctx context.Context, e Event, err error) { v.notifier().observe(ctx, e, err) }

// observe completes an event, keeps it for the outcome, and tells the observer.
func (w notifier) observe(ctx context.Context, e Event, err error) {
	status := w.engine.Status()
	e.Engine, e.SessionID = status.Answering, w.session
	switch {
	case err != nil:
		e.Outcome, e.Reason, e.Err = OutcomeFailed, classOf(err), err
	case e.Outcome != "":
	case status.Degraded() && e.Operation != OpModel && e.Operation != OpComplete: // nobody stands in for a model
		e.Outcome = OutcomeFallback
		if e.Reason == "" {
			e.Reason = quarantineReason(status)
		}
	default:
		e.Outcome = OutcomeOK
	}
	if !inBackground(ctx) {
		w.journal.add(e)
	}
	w.h.tell(ctx, e)
}

func quarantineReason(s ce.Status) string {
	if s.Quarantine == nil {
		return ""
	}
	return s.Quarantine.Operation + " " + s.Quarantine.Class
}

// tell calls the observer. Its panics are logged: watching changes nothing.
func (h *Host) tell(ctx context.Context, e Event) {
	if h.opts.Observer == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			h.opts.Logger.LogAttrs(ctx, slog.LevelError, "the observer panicked",
				slog.String("op", e.Operation), slog.String("session", e.SessionID), slog.Any("panic", v))
		}
	}()
	h.opts.Observer.Observe(ctx, e)
}

// classOf is the reason of a failure.
func classOf(err error) string {
	var (
		panicked    *ce.PanicError
		contract    *ce.ContractError
		deadline    *ce.DeadlineError
		lent        *ce.HostError
		unavailable *ce.EngineUnavailableError
	)
	switch {
	case errors.As(err, &unavailable):
		return "unavailable"
	case errors.As(err, &panicked):
		return ce.ClassPanic
	case errors.As(err, &contract):
		return ce.ClassContract
	case errors.As(err, &deadline), errors.Is(err, turn.ErrEndOfTurn), errors.Is(err, context.DeadlineExceeded):
		return ce.ClassDeadline
	case errors.As(err, &lent):
		return "host"
	case errors.Is(err, context.Canceled), errors.Is(err, ce.ErrClosed), errors.Is(err, lane.ErrClosed):
		return "cancelled"
	}
	return ce.ClassError
}
