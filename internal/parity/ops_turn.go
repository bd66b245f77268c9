package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
)

func turnOps() map[string]opFunc {
	return map[string]opFunc{
		"hostBootstrap": opHostBootstrap, "hostAssemble": opHostAssemble,
		"hostFinalize": opHostFinalize, "hostMaintain": opHostMaintain,
	}
}

// A hostStep is one lifecycle step of a host around a resolved engine.
type hostStep struct {
	w       *world
	on      *resolvedEngine // nil: the step names none
	params  object
	session *turn.Session
	stub    bool // maintenance is noted, not run
	queue   *scriptedQueue
}

// The identity that a step has without saying so.
const (
	defaultSessionID   = "s1"
	defaultSessionKey  = "agent:main:main"
	defaultSessionFile = "s1.jsonl"
)

func (w *world) hostStep(s step) (*hostStep, error) {
	h := &hostStep{w: w, params: s.object("params"), stub: s.flag("stubMaintenance"), queue: &scriptedQueue{}}
	if !absent(s.fields["on"]) {
		on, err := w.engine(s.text("on"))
		if err != nil {
			return nil, err
		}
		h.on = on
		if on.close(false) {
			w.differ(differClosed)
		}
	}
	ref := ce.SessionRef{
		SessionID:   h.text("sessionId", defaultSessionID),
		SessionKey:  h.text("sessionKey", defaultSessionKey),
		SessionFile: h.text("sessionFile", defaultSessionFile),
	}
	rt := ce.RuntimeContext{AllowDeferredCompaction: h.text("executionMode", "") == "background"}
	if w.lent != nil {
		rt.Compactor = w.lent
	}
	h.session = turn.Lend(ref, ce.SessionTarget{}, nil, rt)
	h.session.Logger = slog.New(&hostLines{w: w})
	if !rt.AllowDeferredCompaction {
		h.session.Background = h.queue
	}
	return h, nil
}

func (h *hostStep) text(key, missing string) string {
	if v, ok := h.params[key].(string); ok {
		return v
	}
	return missing
}

// flag reports whether a param is set: an error is given as such, not as true.
func (h *hostStep) flag(key string) bool {
	switch v := h.params[key].(type) {
	case nil, undefinedValue:
		return false
	case bool:
		return v
	case string:
		return v != ""
	}
	return true
}

// settings are what the reference's host helpers tell the engine.
func (h *hostStep) settings(budget string) (*ce.RuntimeSettings, error) {
	host := ce.EmbeddedHost()
	host.ID, host.Label = referenceEmbeddedID, referenceEmbeddedLabel
	in := ce.RuntimeSettingsInput{
		HostName: referenceHost, ExecutionHost: host, SelectedID: h.selected(), Source: ce.SourceConfigured,
		RequestedModel: h.text("requestedModelId", ""), ResolvedModel: h.text("modelId", ""),
		Provider: h.text("providerId", ""), FallbackReason: h.text("fallbackReason", ""),
		DegradedReason: h.text("degradedReason", ""),
	}
	if in.SelectedID == ce.LegacyID {
		in.Source = ce.SourceDefault
	}
	var err error
	in.PromptTokenBudget, err = h.w.limit(h.params[budget])
	return ce.NewRuntimeSettings(in), err
}

// selected names the engine that answers. Who that is after a quarantine is no question for the
// handle: it would build its fallback, which the reference does when a call needs it.
func (h *hostStep) selected() string {
	failed := func(q ce.Quarantine) bool { return q.EngineID == h.on.selected }
	if h.on.bare || slices.ContainsFunc(h.w.reg.Quarantines(), failed) {
		return ce.LegacyID
	}
	return h.on.handle.Info().ID
}

// engine is what the step is about; maintenance that is only noted is taken out of it.
func (h *hostStep) engine() ce.ContextEngine {
	if h.stub {
		return unmaintained{h.on.handle}
	}
	return h.on.handle
}

// unmaintained is an engine without maintenance.
type unmaintained struct{ *ce.Handle }

// Hooks are those of the engine, less maintenance.
func (u unmaintained) Hooks() ce.HookSet { return ce.HooksOf(u.Handle) &^ ce.HookMaintain }

// noteMaintenance records that the host maintains now, where maintenance is only noted.
func (h *hostStep) noteMaintenance(reason ce.MaintainReason) {
	if h.stub {
		h.w.record(object{"host": "maintenance", "reason": string(reason)})
	}
}

func opHostBootstrap(ctx context.Context, w *world, s step) (any, error) {
	h, err := w.hostStep(s)
	if err != nil || h.on == nil {
		return nil, err
	}
	boundary := ce.BoundaryResumed
	if !h.flag("hadSessionFile") {
		boundary = ce.BoundaryNew
	}
	settings, err := h.settings("")
	if err != nil {
		return nil, err
	}
	hooks := ce.HooksOf(h.on.handle)
	if !hooks.Has(ce.HookBootstrap) && !hooks.Has(ce.HookMaintain) {
		return nil, nil
	}
	if boundary == ce.BoundaryNew {
		w.differ(differBootstrap)
	}
	if _, err := turn.Bootstrap(ctx, h.engine(), h.session, turn.Beginning{Boundary: boundary, Settings: settings}); err != nil {
		w.warn()
		return nil, nil
	}
	h.noteMaintenance(ce.MaintainBootstrap)
	return nil, nil
}

func opHostAssemble(ctx context.Context, w *world, s step) (any, error) {
	h, err := w.hostStep(s)
	if err != nil || h.on == nil {
		return nil, err
	}
	r := read(h.params)
	p := ce.AssembleParams{
		TokenBudget: r.number("tokenBudget"), Model: r.text("modelId"), Prompt: r.textPointer("prompt"),
		AvailableTools: r.texts("availableTools"), CitationsMode: ce.CitationsMode(r.text("citationsMode")),
	}
	if p.Messages, err = w.texts.messages(h.params["messages"]); err != nil {
		return nil, err
	}
	if p.Settings, err = h.settings("tokenBudget"); err != nil {
		return nil, err
	}
	if err := r.misfit("assemble params"); err != nil {
		return nil, err
	}
	c := newCall("", nil, h.on)
	res, err := turn.Assemble(withCall(ctx, c), h.on.handle, h.session, p)
	if err != nil {
		return nil, err
	}
	return renderAssemble(w, res, c.source()), nil
}

func opHostFinalize(ctx context.Context, w *world, s step) (any, error) {
	h, err := w.hostStep(s)
	if err != nil {
		return nil, err
	}
	if h.on == nil { // nothing to deliver to, so all is well
		return object{"postTurnFinalizationSucceeded": true}, nil
	}
	r := read(h.params)
	end := turn.Ending{
		PrePromptMessageCount: r.number("prePromptMessageCount"), TokenBudget: r.number("tokenBudget"),
		IsHeartbeat: h.flag("isHeartbeat"), AutoCompactionSummary: r.text("autoCompactionSummary"),
		Failed:        h.flag("promptError") || h.flag("aborted") || h.flag("yieldAborted"),
		DeliverFailed: true, // as the recorded version does; hosts have it as an option
	}
	if end.Messages, err = w.texts.messages(h.params["messagesSnapshot"]); err != nil {
		return nil, err
	}
	if end.Settings, err = h.settings("tokenBudget"); err != nil {
		return nil, err
	}
	if err := r.misfit("finalize params"); err != nil {
		return nil, err
	}
	failure := turn.Finish(ctx, h.engine(), h.session, end)
	if failure == nil && !end.Failed {
		h.noteMaintenance(ce.MaintainTurn)
	}
	if h.queue.taken > 0 {
		w.differ(differLane)
		h.queue.settle(s.number("settleMs"))
	}
	return object{"postTurnFinalizationSucceeded": failure == nil}, nil
}

func opHostMaintain(ctx context.Context, w *world, s step) (any, error) {
	h, err := w.hostStep(s)
	if err != nil || h.on == nil || !ce.HooksOf(h.on.handle).Has(ce.HookMaintain) {
		return nil, err
	}
	settings, err := h.settings("")
	if err != nil {
		return nil, err
	}
	c := newCall("", nil, h.on)
	reason := ce.MaintainReason(h.text("reason", ""))
	res, err := turn.Maintain(withCall(ctx, c), h.on.handle, h.session, reason, settings)
	if err != nil {
		w.note("warn", err.Error())
		return nil, nil
	}
	if h.queue.taken > 0 {
		w.differ(differLane)
		h.queue.settle(s.number("settleMs"))
		return nil, nil
	}
	return renderMaintain(w, res, c.source()), nil
}

// A scriptedQueue runs deferred maintenance when a step settles.
type scriptedQueue struct {
	taken int
	work  []func(context.Context) error
}

// Schedule takes the work.
func (q *scriptedQueue) Schedule(_ ce.SessionRef, work func(context.Context) error) bool {
	q.taken++
	q.work = append(q.work, work)
	return true
}

// settle runs what was taken, within the time that the step waits for it.
func (q *scriptedQueue) settle(ms int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(max(ms, 1000))*time.Millisecond)
	defer cancel()
	for _, work := range q.work {
		_ = work(ctx) // what fails has been logged
	}
	q.work = nil
}

// hostLines are the log lines of the host: its warnings are counted apart from the log.
type hostLines struct{ w *world }

// Enabled leaves debugging out.
func (l *hostLines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle counts the line.
func (l *hostLines) Handle(_ context.Context, r slog.Record) error {
	switch {
	case r.Level >= slog.LevelWarn && strings.HasPrefix(r.Message, "maintenance"):
		l.w.note("warn", renderLine(r)) // maintenance logs by itself
		return nil
	case r.Level >= slog.LevelWarn:
		l.w.warn()
		return nil
	}
	l.w.note("log", renderLine(r))
	return nil
}

// WithAttrs ignores attributes.
func (l *hostLines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup ignores groups.
func (l *hostLines) WithGroup(string) slog.Handler { return l }
