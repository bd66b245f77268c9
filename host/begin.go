package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
)

// Begin opens a turn of a session with the user's input: it waits for the
// session's open turn, resolves the engine where that is due, checks what it
// demands of the host, bootstraps it, appends the input to the log and assembles.
//
//   - A session that the store does not have is created; with a blank SessionID it
//     gets a new id, which Outcome.Session tells.
//   - A user's input with nothing but blank text is refused: no provider takes it.
//   - What fails before the append leaves the log as it was.
//   - After the append Begin ends the turn itself, as failed, and the input stays
//     stored: Begin with the zero Message continues from there.
//   - Under [ce.Fallback] no failure of an engine fails Begin: the transcript
//     answers. Demands that the host cannot meet do, as [*ce.HostRequirementError].
//
// What fails after the append is a [*BeginError], which has what was stored.
//
// Every Turn is ended: defer t.End(ctx, err).
func (h *Host) Begin(ctx context.Context, ref ce.SessionRef, input message.Message, opts *TurnOptions) (*Turn, error) {
	if err := checkInput(input, opts); err != nil {
		return nil, fmt.Errorf("beginning a turn: %w", err)
	}
	bounded, leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	t := &Turn{visit: h.visit(ref), op: make(chan struct{}, 1)}
	if opts != nil {
		t.opts = *opts
	}
	began := stageNone
	defer func() { t.abandon(ctx, began) }() // for panics of what the host brought, too
	if err := t.prepare(bounded, input); err != nil {
		return nil, fmt.Errorf("beginning a turn of %s: %w", naming(ref), err)
	}
	if err := t.admit(bounded, input); err != nil {
		return nil, fmt.Errorf("beginning a turn of session %q: %w", t.ref.SessionID, err)
	}
	began = stageStored
	if err := t.compose(bounded); err != nil {
		return nil, t.failed(ctx, err)
	}
	if !h.keep(t) {
		return nil, t.failed(ctx, errHostClosed)
	}
	began = stageDone
	return t, nil
}

// How far Begin came.
const (
	stageNone   = iota // nothing is stored
	stageStored        // the turn must be ended
	stageDone          // the caller ends it
)

// abandon leaves the session when Begin did not return a turn.
func (t *Turn) abandon(ctx context.Context, began int) {
	switch began {
	case stageNone:
		if err := t.close(context.WithoutCancel(ctx), false); err != nil {
			t.warn(ctx, "leaving the session failed", err)
		}
	case stageStored:
		_, _ = t.End(ctx, errPanicked) // where it has not ended yet
	}
}

// failed ends a turn that Begin cannot return.
func (t *Turn) failed(ctx context.Context, cause error) error {
	out, err := t.End(ctx, cause)
	return &BeginError{Outcome: out, Err: errors.Join(cause, err)}
}

// A BeginError is a failure of Begin after the input was stored. Begin with the zero
// Message continues from there.
type BeginError struct {
	Outcome Outcome // of the turn that ended with it; its Session is the one to go on with
	Err     error
}

// Error names the session.
func (e *BeginError) Error() string {
	return fmt.Sprintf("beginning a turn of session %q: %v", e.Outcome.Session.SessionID, e.Err)
}

// Unwrap returns the cause.
func (e *BeginError) Unwrap() error { return e.Err }

func checkInput(input message.Message, opts *TurnOptions) error {
	var errs []error
	if !isZero(input) && input.Role == "" {
		errs = append(errs, errors.New("the input has no role"))
	}
	if input.Role == message.RoleUser && isEmpty(input) {
		errs = append(errs, errors.New("the input says nothing"))
	}
	if opts == nil {
		return errors.Join(errs...)
	}
	if !opts.Mode.Valid() {
		errs = append(errs, fmt.Errorf("unknown prompt mode %q", string(opts.Mode)))
	}
	if !opts.Boundary.Valid() {
		errs = append(errs, fmt.Errorf("unknown boundary %q", string(opts.Boundary)))
	}
	errs = append(errs, checkTools(opts.Tools))
	return errors.Join(errs...)
}

// naming names a session in errors, also one that has no id yet.
func naming(ref ce.SessionRef) string {
	if ref.SessionID == "" {
		return "a new session"
	}
	return fmt.Sprintf("session %q", ref.SessionID)
}

func isZero(m message.Message) bool {
	return message.Equal(m, message.Message{})
}

// prepare does what can fail without leaving a trace.
func (t *Turn) prepare(ctx context.Context, input message.Message) error {
	err := t.open(ctx, purpose{
		op: ce.OpAgentRun, create: true, model: t.opts.Model, boundary: t.opts.Boundary, previous: t.opts.Previous,
	})
	if err != nil {
		return err
	}
	b := t.model.Budget
	t.session.update(func(r *record) {
		r.Model, r.Window, r.Reserve = t.opts.Model, b.Window, b.EffectiveReserve()
		if t.opts.Settings != nil {
			r.Settings = maps.Clone(t.opts.Settings)
		}
	})
	t.passes(ctx)
	if err := t.offerTools(ctx); err != nil {
		return err
	}
	t.system, err = t.h.opts.System(ctx, prompt.Run{
		Ref: t.ref, Mode: t.opts.Mode, Tools: t.tools, Model: t.model.ID,
	})
	if err != nil {
		return fmt.Errorf("building the system prompt: %w", err)
	}
	return t.preflight(ctx, input)
}

// offerTools collects the tools of the run: the host's, then the engine's own as
// far as their names are free.
func (t *Turn) offerTools(ctx context.Context) error {
	host := t.h.opts.Tools
	if t.opts.Tools != nil {
		host = t.opts.Tools
	}
	start := time.Now()
	own, err := ce.Tools(ctx, t.engine.Handle, ce.ToolsParams{
		SessionRef: t.ref, Settings: t.settings(0, ""), Runtime: t.steps.RuntimeFor(turn.PurposeTools),
	})
	if err != nil || ce.HooksOf(t.engine.Handle).Has(ce.HookTools) {
		t.observe(ctx, Event{Operation: OpTools, Duration: time.Since(start)}, err)
	}
	if err != nil {
		if !t.engine.settles(ctx, err) {
			return err
		}
		t.warn(ctx, "the engine offers no tools", err)
	}
	taken := make(map[string]bool, len(host)+len(own))
	if host != nil {
		t.tools = make([]ce.Tool, 0, len(host)+len(own))
	}
	for i, tool := range slices.Concat(host, own) {
		name := tool.Name()
		if taken[name] {
			t.h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a tool's name is taken",
				slog.String("tool", name), slog.Bool("engine", i >= len(host)))
			continue
		}
		taken[name] = true
		t.tools = append(t.tools, tool)
		if i >= len(host) {
			t.engineTools++
		}
	}
	return nil
}

// compose makes the first request, and makes it fit where it can.
func (t *Turn) compose(ctx context.Context) error {
	if err := t.assemble(ctx); err != nil {
		return err
	}
	return t.precheck(ctx)
}

// admit stores the input, or takes up what a failed turn left.
func (t *Turn) admit(ctx context.Context, input message.Message) error {
	view, err := t.log.View(ctx)
	if err != nil {
		return err
	}
	t.generation, t.of = view.Generation, t.ref.SessionID
	if isZero(input) {
		return t.resume(ctx, view.Messages)
	}
	t.base = view.Messages
	if err := t.persist(ctx, input); err != nil {
		return err
	}
	if len(t.own.messages) == 0 {
		return errors.New("the input has nothing that a model could see")
	}
	t.input = &t.own.messages[0]
	return nil
}
