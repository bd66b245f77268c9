package host

import (
	"context"
	"errors"
	"fmt"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// ErrTurnEnded is what a Turn answers after its end. Where the Host's Close ended it, the
// error matches [ce.ErrClosed] too.
var ErrTurnEnded = errors.New("the turn has ended")

// A Turn is an input on its way to an answer. It belongs to one goroutine; only
// End may be called from another one as well. Begin makes it; end it always:
//
//	defer t.End(ctx, err)
type Turn struct {
	*visit
	op     chan struct{} // a token: one operation at a time
	opts   TurnOptions
	system prompt.Prompt
	tools  []ce.Tool // nil: the host does not say; the engine's own come last

	engineTools int // how many of tools are the engine's

	base       []message.Message // the view that the turn started from
	generation transcript.Generation
	of         string // the session that base and generation are of
	own        rows
	input      *message.Message // as stored; nil: the turn continues a stored tail
	delivered  int              // of own, by the tool-loop hook
	// deliveredTo is the engine that got those.
	deliveredTo string
	running     bool   // the model was asked
	summary     string // of a compaction in the turn
	tries       tries

	idle  compactOutcome // the last compaction of the engine that did not count
	guard loopGuard

	assembly assembly
	view     []message.Message // of the log after the last append; nil: unknown
	list     []message.Message // what joined made

	stale     bool     // the assembly is from before a compaction
	shortened bool     // tool results are cut as far as needed
	request   *Request // built from the assembly and own; nil: out of date
	sent      *Request // the last one that was built
	counted   int      // messages of own in it
	handed    *Request // the one that the host has and that was not answered yet
	limit     int      // tokens of the list, the oldest messages beyond it are left out; 0: none
	again     bool     // the request is a repetition: something must ask the model to go on
	fixed     int      // tokens of system prompt and tools; 0: not counted

	ended   bool
	outcome Outcome
	endErr  error
}

// Append stores what the turn adds: the model's reply, tool results, what the user
// said in between. Messages are all stored or none.
//
// With an engine that owns compaction, and when the next thing is to ask the
// model, the engine is given what is new and assembles anew. A failure of the
// engine is no error here, except under [ce.Strict].
//
// An error that is a [*StoredError] came after the messages were stored: end the turn with
// it, and do not append them again. With any other error nothing was stored. A turn that
// makes the same calls over and over after a compaction gets a [*LoopError] in one.
func (t *Turn) Append(ctx context.Context, ms ...message.Message) error {
	ctx, leave, err := t.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if len(ms) == 0 {
		return nil
	}
	t.running = true
	before := len(t.own.messages)
	if err := t.persist(ctx, ms...); err != nil {
		return err
	}
	if err := t.appended(ctx, ms, before); err != nil {
		return &StoredError{err}
	}
	return nil
}

// A StoredError is why a turn cannot go on although its messages were stored.
type StoredError struct{ Err error }

// Error is the text of the cause.
func (e *StoredError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StoredError) Unwrap() error { return e.Err }

// appended does what is due after messages were stored; before says how many the turn had
// until then.
func (t *Turn) appended(ctx context.Context, ms []message.Message, before int) error {
	t.again = false
	t.observeReplies(ms)
	if err := t.guard.watch(t.own.messages, len(t.own.messages)-before); err != nil {
		return err
	}
	if err := t.autoCompact(ctx); err != nil {
		return err
	}
	return t.toolLoop(ctx)
}

// Session is the session that the turn is in now: another one than Begin was called with
// after a rotation, and for a session that got its id there. It waits for what the turn is
// doing.
func (t *Turn) Session() ce.SessionRef {
	t.op <- struct{}{}
	defer func() { <-t.op }()
	return t.ref
}

// observeReplies learns from what the provider reported.
func (t *Turn) observeReplies(ms []message.Message) {
	for _, m := range ms {
		if m.Role != message.RoleAssistant || m.Failed() {
			continue
		}
		t.tries.overflow = 0
		if m.Usage != nil && t.handed != nil {
			t.h.calibrator.observe(t.model, t.handed.Estimated, *m.Usage)
		}
		t.handed = nil
		if m.Usage == nil || tokens.ContextTokens(*m.Usage) <= 0 {
			continue
		}
		t.session.update(func(r *record) { r.reported(*m.Usage, t.h.opts.Now()) })
		for _, pass := range t.session.passes {
			if stateful, ok := pass.(prune.Stateful); ok {
				stateful.Observe(*m.Usage, t.h.opts.Now())
			}
		}
	}
	t.refresh()
}

// persist appends to the log and to the turn.
func (t *Turn) persist(ctx context.Context, ms ...message.Message) error {
	entries := make([]transcript.Entry, len(ms))
	for i, m := range ms {
		if m.Timestamp.IsZero() { // without a time, nobody can tell what a compaction is older than
			m.Timestamp = t.h.opts.Now()
		}
		if limit := t.h.opts.StoredResult; limit > 0 && m.Role == message.RoleToolResult {
			m = prune.CapResult(m, limit)
		}
		entries[i] = transcript.MessageEntry(m)
	}
	stored, err := t.log.Append(ctx, entries...)
	if err != nil {
		return fmt.Errorf("appending to session %q: %w", t.ref.SessionID, err)
	}
	t.own.add(stored)
	t.look(ctx)
	t.request = nil
	return nil
}

// endedError is why a turn that has ended does nothing more.
func (t *Turn) endedError() error {
	if t.h.life.Err() != nil {
		return fmt.Errorf("%w: %w", ErrTurnEnded, context.Cause(t.h.life))
	}
	return ErrTurnEnded
}

// enter starts an operation: its context also ends with the Host.
func (t *Turn) enter(ctx context.Context) (context.Context, func(), error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if err := t.take(ctx); err != nil {
		return nil, nil, err
	}
	if t.ended {
		<-t.op
		return nil, nil, t.endedError()
	}
	ctx, stop := t.h.bound(ctx)
	return ctx, func() {
		stop()
		<-t.op
	}, nil
}

// take waits for the operation that runs. An idle turn is taken whether ctx ended or not.
func (t *Turn) take(ctx context.Context) error {
	select {
	case t.op <- struct{}{}:
		return nil
	default:
	}
	select {
	case t.op <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
