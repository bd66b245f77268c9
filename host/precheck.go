package host

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

// Limits of a window: below the first a turn is refused, below the second it is
// logged. Of a model whose window is capped, the cap must leave a share of the whole
// (OpenClaw 2026.7.1 defaults).
const (
	leastWindow, leastShare = 4_000, 10 // tokens, percent
	smallWindow, smallShare = 8_000, 20
)

// A WindowError says that a model's context window is too small to work with.
type WindowError struct {
	Model         string
	Window, Least int // tokens
}

// Error names model, window and limit.
func (e *WindowError) Error() string {
	if e.Model == "" {
		return fmt.Sprintf("the window of the model has %d tokens; at least %d are needed", e.Window, e.Least)
	}
	return fmt.Sprintf("the window of model %q has %d tokens; at least %d are needed", e.Model, e.Window, e.Least)
}

// A Precheck is a decision about a request before it is sent, with the numbers
// behind it: tokens, unless named otherwise.
type Precheck struct {
	// Route is fits, truncate_tool_results_only, compact_only or
	// compact_then_truncate; Source says whose number decided.
	Route, Source string
	// Estimated is the number that decided: the largest of HostEstimate,
	// EngineEstimate (0: unknown) and, where the engine said that it may overflow,
	// the estimate of the list before assembly.
	Estimated, HostEstimate, EngineEstimate int
	// Window less EffectiveReserve is PromptBudget; Reserve is what was asked for.
	Window, PromptBudget, Reserve, EffectiveReserve int
	// Remaining of the prompt budget, or Overflow beyond it.
	Remaining, Overflow int
	ReducibleChars      int // UTF-16 units of tool results that can go
	MessageCount        int
	UnwindowedCount     int // messages before assembly; 0: they did not count
}

// String is one line for people.
func (p Precheck) String() string {
	s := fmt.Sprintf("%s: %d of %d tokens", p.Route, p.Estimated, p.PromptBudget)
	if p.Overflow > 0 {
		s += fmt.Sprintf(", %d too many", p.Overflow)
	}
	return s
}

// guardWindow refuses windows that no turn fits into.
func (v *visit) guardWindow(ctx context.Context) error {
	b := v.model.Budget
	full := max(b.Window, v.model.FullWindow)
	least, small := max(leastWindow, full*leastShare/100), max(smallWindow, full*smallShare/100)
	switch {
	case !b.Known() || b.Window >= small:
	case b.Window < least:
		return &WindowError{Model: v.model.ID, Window: b.Window, Least: least}
	default:
		v.h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the model's window is small",
			slog.String("model", v.model.ID), slog.Int("window", b.Window), slog.Int("small", small))
	}
	return nil
}

// prechecks reports whether the request is to be judged. An engine that owns
// compaction is trusted when it assembled, unless it says that its list may
// overflow, or the host wants to see for itself what the engine does not know or
// knows to be too much.
func (t *Turn) prechecks() bool {
	switch {
	case !t.model.Budget.Known():
		return false
	case !t.engine.Info().OwnsCompaction || t.assembly.failed:
		return true
	case t.assembly.PromptAuthority == ce.AuthorityPreassembly:
		return true
	}
	est := t.assembly.EstimatedTokens
	return t.h.opts.CheckOwners && (est <= 0 || est > t.assembly.budget)
}

// precheck judges the request and does what the outcome asks for. It never ends
// the turn: what cannot be made smaller is sent, and the provider decides.
func (t *Turn) precheck(ctx context.Context) error {
	if !t.prechecks() {
		return nil
	}
	check := t.judge(ctx)
	if check.Route == turn.RouteFits {
		return nil
	}
	if check.Route == turn.RouteTruncate {
		t.shortened, t.request = true, nil
		if check = t.judge(ctx); check.Route == turn.RouteFits {
			return nil
		}
	}
	if _, err := t.compactInTurn(ctx, compactRequest{
		trigger: ce.TriggerBudget, goal: ce.GoalBudget, force: true, active: t.own.waits(), current: check.Estimated, degraded: ce.CodeContextOverflow,
	}); err != nil {
		return err
	}
	if t.judge(ctx).Route == turn.RouteFits {
		return nil
	}
	t.shortened, t.request = true, nil
	t.judge(ctx)
	return nil
}

// judge compares the request with the budget, and records the decision.
func (t *Turn) judge(ctx context.Context) turn.Check {
	r := t.current()
	load := turn.Load{
		Estimated: r.Estimated,
		Reducible: func(unwindowed bool) int {
			ms := t.passed()
			if unwindowed {
				ms = t.unwindowed()
			}
			return prune.Reducible(ms, t.pruneInput())
		},
	}
	if est := t.assembly.EstimatedTokens; est > 0 {
		load.Engine = est + t.aroundTokens() + t.h.meter.Messages(t.own.messages[t.assembly.covered:])
	}
	var unwindowed []message.Message
	if t.assembly.PromptAuthority == ce.AuthorityPreassembly {
		unwindowed = t.unwindowed()
		load.Unwindowed = t.aroundTokens() + t.h.meter.Messages(unwindowed)
	}
	check := turn.Precheck(t.budget(), load)
	check.MessageCount, check.UnwindowedCount = len(r.Messages), len(unwindowed)
	t.note(ctx, check)
	return check
}

// unwindowed is everything that could be sent: the view and the turn.
func (t *Turn) unwindowed() []message.Message {
	if t.sees(t.base, t.own.messages) {
		return t.view
	}
	return slices.Concat(t.base, t.own.messages)
}

// note keeps a decision where Status and the observer find it.
func (t *Turn) note(ctx context.Context, c turn.Check) {
	p := Precheck{
		Route: string(c.Route), Source: c.Source, Estimated: c.Estimated, HostEstimate: c.HostEstimate,
		EngineEstimate: c.EngineEstimate, Window: c.Window, PromptBudget: c.PromptBudget, Reserve: c.Reserve,
		EffectiveReserve: c.EffectReserve, Remaining: c.Remaining, Overflow: c.Overflow,
		ReducibleChars: c.ReducibleChars, MessageCount: c.MessageCount, UnwindowedCount: c.UnwindowedCount,
	}
	t.session.update(func(r *record) { r.LastPrecheck, r.Precheck = p.String(), &p })
	t.observe(ctx, Event{Operation: OpPrecheck, Outcome: OutcomeOK, Reason: p.Route, TokensBefore: p.Estimated}, nil)
}

// LastPrecheck returns the last decision about a session's request before it was
// sent; false: there was none.
func (h *Host) LastPrecheck(ref ce.SessionRef) (Precheck, bool) {
	if p := h.standing(ref).Precheck; p != nil {
		return *p, true
	}
	return Precheck{}, false
}
