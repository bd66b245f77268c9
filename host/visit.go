package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/transcript"
)

// A visit is a Host's hold on a session, its log and its engine: what a turn and
// a manual compaction have in common. One goroutine uses it at a time.
type visit struct {
	h         *Host
	ref       ce.SessionRef
	claim     *claim
	engine    *engine
	requested string // name of the model
	model     ModelInfo
	log       *sharedLog
	session   *session
	steps     *turn.Session
	created   bool // the session was made for this visit
	unsaved   bool // the state store failed: it is not asked again before the end
	journal   *journal
	builtins  *atomic.Int32 // how often the built-in compaction ran
}

func (h *Host) visit(ref ce.SessionRef) *visit {
	return &visit{h: h, ref: ref, journal: &journal{}, builtins: &atomic.Int32{}}
}

// A purpose says why a session is visited.
type purpose struct {
	op     ce.Operation
	create bool   // a session that does not exist is made
	model  string // name
	// lastModel takes the model of the session's last turn instead.
	lastModel bool
	boundary  ce.Boundary
	previous  ce.SessionRef
}

// open waits for the session, leases the engine, checks what it demands, and
// takes up the session. What fails leaves no trace, once close was called.
func (v *visit) open(ctx context.Context, p purpose) error {
	h := v.h
	var err error
	if v.claim, err = h.open.claim(ctx, v.ref); err != nil {
		return err
	}
	if err := h.awaitBackground(ctx, v.ref); err != nil {
		return err
	}
	if v.engine, err = h.lease(ctx); err != nil {
		return err
	}
	if err := ce.CheckHost(v.engine.Info(), p.op, h.opts.Support); err != nil {
		return err
	}
	if err := v.describeModel(ctx, p); err != nil {
		return err
	}
	if err := v.guardWindow(ctx); err != nil {
		return err
	}
	boundary, err := v.openLog(ctx, p)
	if err != nil {
		return err
	}
	h.calibrator.load(ctx)
	v.recall(ctx)
	v.lend()
	return v.bootstrap(ctx, boundary, p.previous)
}

// describeModel finds out about the model.
func (v *visit) describeModel(ctx context.Context, p purpose) (err error) {
	v.requested = p.model
	if p.lastModel {
		v.requested = v.h.standing(v.ref).Model
	}
	v.model, err = v.h.opts.Models(ctx, v.requested)
	if err != nil {
		return fmt.Errorf("describing model %q: %w", v.requested, err)
	}
	if v.requested == "" {
		described := v.model
		v.h.defaultModel.Store(&described)
	}
	return nil
}

// openLog opens the session or makes it, and says why it begins here.
func (v *visit) openLog(ctx context.Context, p purpose) (ce.Boundary, error) {
	if v.ref.SessionID != "" {
		log, err := v.openStored(ctx)
		if err == nil {
			v.log = share(log)
			v.session = v.h.open.get(v.ref.SessionID)
			return v.boundary(ctx, p)
		}
		if !p.create || !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	} else if !p.create {
		return "", errors.New("the session has no id")
	}
	boundary := p.boundary
	if boundary == "" {
		boundary = ce.BoundaryNew
	}
	if v.ref.SessionID != "" { // one of that id may have been deleted in the store
		v.forget(ctx)
	}
	log, err := v.h.store.Create(ctx, transcript.Header{
		ID: v.ref.SessionID, Boundary: string(boundary), ParentSession: p.previous.SessionID,
	})
	if err != nil {
		return "", err
	}
	v.log, v.created = share(log), true
	if v.ref.SessionID == "" {
		v.ref.SessionID = log.Header().ID
		if err := v.claim.add(ctx, idName(v.ref.SessionID)); err != nil {
			return "", err
		}
	}
	v.session = v.h.open.get(v.ref.SessionID)
	return boundary, nil
}

// forget drops what is known of a session that the store does not have.
func (v *visit) forget(ctx context.Context) {
	v.h.open.forget(v.ref.SessionID)
	v.logLeaving(ctx, v.h.logs.drop(v.ref.SessionID))
	if err := v.h.opts.State.Delete(ctx, v.ref); err != nil {
		v.warn(ctx, "deleting a former session's state failed", err)
	}
}

// openStored opens the session. One that others removed while its log was kept open does not
// exist.
func (v *visit) openStored(ctx context.Context) (transcript.Log, error) {
	log, err := v.h.store.Open(ctx, v.ref.SessionID)
	if err != nil {
		return nil, err
	}
	if _, err = log.View(ctx); err != nil {
		v.logLeaving(ctx, errors.Join(log.Close(), v.h.logs.drop(v.ref.SessionID)))
		return nil, err
	}
	return log, nil
}

// boundary says why a stored session begins for the engine: what the host says, else what
// its header says as long as nothing happened since; one that has nothing is new, any other
// is resumed.
func (v *visit) boundary(ctx context.Context, p purpose) (ce.Boundary, error) {
	if p.boundary != "" || v.session.bootstrapped == v.engine {
		return p.boundary, nil // in the latter case nobody asks
	}
	head := v.log.Header()
	b := ce.Boundary(head.Boundary)
	inherits := b == ce.BoundaryReset || b == ce.BoundaryRotated || b == ce.BoundaryForked
	for e, err := range v.log.Branch(ctx) {
		if err != nil {
			return "", err
		}
		if !inherits || e.Timestamp.After(head.Timestamp) {
			return ce.BoundaryResumed, nil
		}
	}
	if inherits {
		return b, nil
	}
	return ce.BoundaryNew, nil
}

// lend prepares what the engine is lent.
func (v *visit) lend() {
	rt := ce.RuntimeContext{Cwd: v.log.Header().Cwd, Estimator: v.h.meter}
	v.tell(&rt)
	rt.Compactor = builtin{v.h.opts.Compactor, v.builtins, v.notifier()}
	if v.h.opts.Model != nil {
		rt.Completer = v.completer("")
	}
	v.steps = turn.Lend(v.ref, v.target(), v.log, rt)
	if v.h.opts.Model != nil {
		v.steps.Completer = v.completer
	}
	w := v.notifier()
	v.steps.Observe = func(ctx context.Context, c turn.Call) {
		w.observe(ctx, Event{Operation: c.Hook, Reason: c.Reason, Duration: c.Took}, c.Err)
	}
	v.steps.Logger = v.h.opts.Logger
	v.steps.Background = background{v}
}

// completer is the model as the engine is lent it in one hook.
func (v *visit) completer(purpose string) ce.Completer {
	w := v.notifier()
	return completer{h: v.h, model: v.model.ID, engine: v.engine.Info().ID, purpose: purpose, payer: &w}
}

// refresh tells the engine the present numbers in the calls to come.
func (v *visit) refresh() { v.steps.SetRuntime(v.tell) }

// tell fills in the present numbers.
func (v *visit) tell(rt *ce.RuntimeContext) {
	r := v.session.snapshot()
	rt.CurrentTokens, rt.TokenBudget, rt.PromptCache = v.estimated(r.Used), v.promptBudget(), r.promptCache()
}

func (v *visit) target() ce.SessionTarget {
	return ce.SessionTarget{SessionID: v.ref.SessionID, SessionKey: v.ref.SessionKey}
}

// promptBudget is what a request may cost; 0: unknown.
func (v *visit) promptBudget() int {
	if !v.model.Budget.Known() {
		return 0
	}
	return v.budget().Prompt()
}

// bootstrap lets the engine take up the session, once.
func (v *visit) bootstrap(ctx context.Context, boundary ce.Boundary, previous ce.SessionRef) error {
	if v.session.bootstrapped == v.engine {
		return nil
	}
	if previous == (ce.SessionRef{}) && boundary != ce.BoundaryResumed {
		previous.SessionID = v.log.Header().ParentSession
	}
	_, err := turn.Bootstrap(ctx, v.engine.Handle, v.steps, turn.Beginning{
		Boundary: boundary, Previous: previous, Settings: v.settings(0, ""),
	})
	switch {
	case err == nil:
		v.session.bootstrapped = v.engine
	case !v.engine.settles(ctx, err):
		return err
	default:
		v.warn(ctx, "bootstrap failed", err)
	}
	return nil
}

// settings tells the engine under what circumstances it runs. A budget of 0 is
// not told.
func (v *visit) settings(budget int, degraded ce.ReasonCode) *ce.RuntimeSettings {
	status := v.engine.Status()
	in := ce.RuntimeSettingsInput{
		SelectedID: status.Answering, Source: ce.SourceConfigured, ExecutionHost: v.h.opts.Support,
		RequestedModel: v.requested, ResolvedModel: v.model.ID, Provider: v.model.Provider, Family: v.model.Family,
		DegradedReason: string(degraded),
	}
	if status.Answering == ce.LegacyID {
		in.Source = ce.SourceDefault
	}
	if budget > 0 {
		in.PromptTokenBudget = &budget
	}
	if out := v.model.Budget.Output; out > 0 {
		in.MaxOutputTokens = &out
	}
	return ce.NewRuntimeSettings(in)
}

// leaveWithin bounds what the host's stores do at the end of a visit, which does not end
// with its caller's context.
const leaveWithin = 5 * time.Second

// close gives back what the visit holds, whatever happens. A session that was made for it
// and got nothing is gone again. Of all that fails, only the latter leaves something behind;
// the rest is logged.
func (v *visit) close(ctx context.Context, keep bool) error {
	if v.claim != nil {
		defer v.claim.release()
	}
	if v.engine != nil {
		defer v.h.release(ctx, v.engine)
	}
	if v.log == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	if keep {
		gone, err := v.h.logs.keep(ctx, v.h.store, v.ref.SessionID)
		v.logLeaving(ctx, err)
		if gone != "" {
			v.h.open.unload(gone)
		}
	}
	v.logLeaving(ctx, v.log.Close())
	if keep || !v.created {
		return nil
	}
	v.h.open.forget(v.ref.SessionID)
	if err := v.h.store.Delete(ctx, v.ref.SessionID); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the session that never began: %w", err)
	}
	return nil
}

func (v *visit) logLeaving(ctx context.Context, err error) {
	if err != nil {
		v.warn(ctx, "closing the session's log failed", err)
	}
}

func (v *visit) warn(ctx context.Context, what string, err error) {
	v.h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, what,
		slog.String("session", v.ref.SessionID), slog.Any("error", err))
}
