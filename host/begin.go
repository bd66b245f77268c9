package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/transcript"
)

// Begin opens a turn of a session with the user's input: it waits for the
// session's open turn, resolves the engine where that is due, checks what it
// demands of the host, bootstraps it, appends the input to the log and assembles.
//
//   - A session that the store does not have is created; with a blank SessionID it
//     gets a new id, which Outcome.Session tells.
//   - What fails before the append leaves the log as it was.
//   - After the append Begin ends the turn itself, as failed, and the input stays
//     stored: Begin with the zero Message continues from there.
//   - Under [ce.Fallback] no failure of an engine fails Begin: the transcript
//     answers. Demands that the host cannot meet do, as [*ce.HostRequirementError].
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
	t := &Turn{h: h, ref: ref, op: make(chan struct{}, 1)}
	if opts != nil {
		t.opts = *opts
	}
	begun := false
	defer func() {
		if !begun {
			t.abandon(ctx)
		}
	}()
	if err := t.prepare(bounded); err != nil {
		return nil, fmt.Errorf("beginning a turn of session %q: %w", ref.SessionID, err)
	}
	if err := t.admit(bounded, input); err != nil {
		return nil, fmt.Errorf("beginning a turn of session %q: %w", t.ref.SessionID, err)
	}
	begun = true
	if err := t.assemble(bounded); err != nil {
		_, endErr := t.End(ctx, err)
		return nil, fmt.Errorf("beginning a turn of session %q: %w", t.ref.SessionID, errors.Join(err, endErr))
	}
	if !h.keep(t) {
		_, endErr := t.End(ctx, ce.ErrClosed)
		return nil, errors.Join(ce.ErrClosed, endErr)
	}
	return t, nil
}

func checkInput(input message.Message, opts *TurnOptions) error {
	var errs []error
	if !isZero(input) && input.Role == "" {
		errs = append(errs, errors.New("the input has no role"))
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
	for i, tool := range opts.Tools {
		if tool == nil {
			errs = append(errs, fmt.Errorf("tool %d is nil", i))
		}
	}
	return errors.Join(errs...)
}

func isZero(m message.Message) bool {
	return message.Equal(m, message.Message{})
}

// prepare does what can fail without leaving a trace.
func (t *Turn) prepare(ctx context.Context) error {
	h := t.h
	var err error
	if t.claim, err = h.open.claim(ctx, t.ref); err != nil {
		return err
	}
	if t.engine, err = h.lease(ctx); err != nil {
		return err
	}
	if err := ce.CheckHost(t.engine.Info(), ce.OpAgentRun, h.opts.Support); err != nil {
		return err
	}
	if t.model, err = h.opts.Models(ctx, t.opts.Model); err != nil {
		return fmt.Errorf("describing model %q: %w", t.opts.Model, err)
	}
	boundary, err := t.openLog(ctx)
	if err != nil {
		return err
	}
	t.lend()
	if err := t.bootstrap(ctx, boundary); err != nil {
		return err
	}
	if err := t.offerTools(ctx); err != nil {
		return err
	}
	t.system, err = h.opts.System(ctx, prompt.Run{
		Ref: t.ref, Mode: t.opts.Mode, Tools: t.tools, Model: t.model.ID,
	})
	if err != nil {
		return fmt.Errorf("building the system prompt: %w", err)
	}
	return nil
}

// openLog opens the session or makes it, and says why it begins here.
func (t *Turn) openLog(ctx context.Context) (ce.Boundary, error) {
	store := t.h.store
	var err error
	if t.ref.SessionID != "" {
		t.log, err = store.Open(ctx, t.ref.SessionID)
		if err == nil {
			t.session = t.h.open.get(t.ref.SessionID)
			return t.boundary(ctx)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	boundary := t.opts.Boundary
	if boundary == "" {
		boundary = ce.BoundaryNew
	}
	t.log, err = store.Create(ctx, transcript.Header{
		ID: t.ref.SessionID, Boundary: string(boundary), ParentSession: t.opts.Previous.SessionID,
	})
	if err != nil {
		return "", err
	}
	t.created = true
	if t.ref.SessionID == "" {
		t.ref.SessionID = t.log.Header().ID
		if err := t.claim.add(ctx, "id "+t.ref.SessionID); err != nil {
			return "", err
		}
	}
	t.session = t.h.open.get(t.ref.SessionID)
	return boundary, nil
}

// boundary says why a stored session begins for the engine: what the host says,
// else what its header says as long as nothing happened since, else resumed.
func (t *Turn) boundary(ctx context.Context) (ce.Boundary, error) {
	if t.opts.Boundary != "" {
		return t.opts.Boundary, nil
	}
	head := t.log.Header()
	switch b := ce.Boundary(head.Boundary); b {
	case ce.BoundaryReset, ce.BoundaryRotated, ce.BoundaryForked:
		for e, err := range t.log.Branch(ctx) {
			if err != nil {
				return "", err
			}
			if e.Timestamp.After(head.Timestamp) {
				return ce.BoundaryResumed, nil
			}
		}
		return b, nil
	}
	return ce.BoundaryResumed, nil
}

// lend prepares what the engine is lent in this turn.
func (t *Turn) lend() {
	head := t.log.Header()
	rt := ce.RuntimeContext{Cwd: head.Cwd, Compactor: t.h.opts.Compactor, Estimator: t.h.meter}
	if t.model.Budget.Known() {
		rt.TokenBudget = t.model.Budget.Prompt()
	}
	target := ce.SessionTarget{SessionID: t.ref.SessionID, SessionKey: t.ref.SessionKey}
	t.steps = turn.Lend(t.ref, target, t.log, rt)
	t.steps.Logger = t.h.opts.Logger
}

// bootstrap lets the engine take up the session, once.
func (t *Turn) bootstrap(ctx context.Context, boundary ce.Boundary) error {
	if t.session.bootstrapped == t.engine {
		return nil
	}
	previous := t.opts.Previous
	if previous == (ce.SessionRef{}) {
		previous.SessionID = t.log.Header().ParentSession
	}
	_, err := turn.Bootstrap(ctx, t.engine.Handle, t.steps, turn.Beginning{
		Boundary: boundary, Previous: previous, Settings: t.settings(0),
	})
	switch {
	case err == nil:
		t.session.bootstrapped = t.engine
	case !t.engine.settles(ctx, err):
		return err
	default:
		t.warn(ctx, "bootstrap failed", err)
	}
	return nil
}

// offerTools collects the tools of the run: the host's, then the engine's own as
// far as their names are free.
func (t *Turn) offerTools(ctx context.Context) error {
	host := t.h.opts.Tools
	if t.opts.Tools != nil {
		host = t.opts.Tools
	}
	own, err := ce.Tools(ctx, t.engine.Handle, ce.ToolsParams{
		SessionRef: t.ref, Settings: t.settings(0), Runtime: t.steps.Runtime(),
	})
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

// admit stores the input, or takes up what a failed turn left.
func (t *Turn) admit(ctx context.Context, input message.Message) error {
	view, err := t.log.View(ctx)
	if err != nil {
		return err
	}
	t.generation = view.Generation
	left := t.session.left
	t.session.left = rows{}
	if !isZero(input) {
		t.base = view.Messages
		if err := t.persist(ctx, input); err != nil {
			t.session.left = left
			return err
		}
		t.input = &t.own.messages[0]
		return nil
	}
	if len(view.Messages) == 0 {
		return errors.New("no input, and no stored history to continue from")
	}
	t.own = left
	t.base = t.own.without(view.Messages)
	t.running = true
	return nil
}

// abandon gives back what a turn took that never began.
func (t *Turn) abandon(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if t.log != nil {
		if err := t.log.Close(); err != nil {
			t.warn(ctx, "closing the session's log failed", err)
		}
	}
	if t.created {
		err := t.h.store.Delete(ctx, t.ref.SessionID)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.warn(ctx, "removing the session that never began failed", err)
		}
		t.h.open.forget(t.ref.SessionID)
	}
	if t.engine != nil {
		t.h.release(ctx, t.engine)
	}
	if t.claim != nil {
		t.claim.release()
	}
}

func (t *Turn) warn(ctx context.Context, what string, err error) {
	t.h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, what,
		slog.String("session", t.ref.SessionID), slog.Any("error", err))
}
