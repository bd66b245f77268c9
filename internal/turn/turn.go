// Package turn has the lifecycle steps of a turn as functions over one engine:
// Bootstrap, Assemble, Finish and Maintain. Package host drives them; whoever
// compares with recorded behaviour calls the same functions. The steps know the
// order of hooks and what engines may see. Locks, budgets and stored state are
// the driver's.
package turn

import (
	"context"
	"log/slog"
	"slices"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A Session is one session as the steps of one turn see it: who it is and what
// is lent. Make it with [Lend]. Not safe for concurrent use.
type Session struct {
	Ref    ce.SessionRef
	Target ce.SessionTarget
	// Background runs maintenance that an engine wants to have deferred. nil:
	// everything runs in the foreground.
	Background Scheduler
	Logger     *slog.Logger // nil: discard
	// Completer makes what is lent for model calls in one hook, which purpose names.
	// nil: what Lend got, in every hook.
	Completer func(purpose string) ce.Completer
	// Observe is told of the bootstrap, the end of the turn and maintenance, in order,
	// where and when they run. nil: nobody is.
	Observe func(ctx context.Context, c Call)

	reader   transcript.Reader
	rewriter ce.Rewriter
	runtime  *ce.RuntimeContext
	byHook   map[string]*ce.RuntimeContext
}

// A Scheduler runs work for a session some time later, one at a time and never
// beside another hook of the session. It reports whether the work was taken.
type Scheduler interface {
	Schedule(ref ce.SessionRef, work func(ctx context.Context) error) bool
}

// Lend wraps what the host lends for a turn, once: the transcript for reading,
// the transcript for rewriting (inside Maintain only), and the runtime context.
// log may be nil.
func Lend(ref ce.SessionRef, target ce.SessionTarget, log transcript.Log, rt ce.RuntimeContext) *Session {
	s := &Session{Ref: ref, Target: target, runtime: ce.LendRuntime(rt)}
	if log != nil {
		s.reader, s.rewriter = ce.LendReader(ownViews{log}), log
	}
	return s
}

// Purposes of model calls by an engine (OpenClaw 2026.7.1 where that has them).
const (
	PurposeBootstrap  = "context-engine.bootstrap"
	PurposeAssemble   = "context-engine.assemble"
	PurposeAfterTurn  = "context-engine.after-turn"
	PurposeTools      = "context-engine.tools"
	PurposeCompaction = "context-engine.compaction"
	PurposeOverflow   = "context-engine.overflow-compaction"
	PurposeTimeout    = "context-engine.timeout-compaction"
)

// PurposeOf is the purpose of model calls in maintenance.
func PurposeOf(r ce.MaintainReason) string { return "context-engine." + string(r) + ".maintenance" }

// RuntimeFor is what is lent in one hook. Read-only.
func (s *Session) RuntimeFor(purpose string) *ce.RuntimeContext {
	if s.Completer == nil {
		return s.runtime
	}
	if rt := s.byHook[purpose]; rt != nil {
		return rt
	}
	rt := *s.runtime
	rt.Completer = s.Completer(purpose)
	lent := ce.LendRuntime(rt)
	if s.byHook == nil {
		s.byHook = map[string]*ce.RuntimeContext{}
	}
	s.byHook[purpose] = lent
	return lent
}

// SetRuntime changes what is lent from the next call on.
func (s *Session) SetRuntime(change func(*ce.RuntimeContext)) {
	rt := *s.runtime
	change(&rt)
	s.runtime, s.byHook = ce.LendRuntime(rt), nil
}

func (s *Session) logger() *slog.Logger {
	if s.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Logger
}

// warn logs a failure that does not end the turn. Texts of engines may quote the
// conversation, so it is the error and nothing else.
func (s *Session) warn(ctx context.Context, what string, err error) {
	s.logger().LogAttrs(ctx, slog.LevelWarn, what,
		slog.String("session", s.Ref.SessionID), slog.Any("error", err))
}

// Bootstrap lets the engine take up the session and then maintain it. Engines
// with neither hook are not called. A failure of the first leaves the second out;
// it is returned, and the driver may go on. A failure of the second is logged.
func Bootstrap(ctx context.Context, e ce.ContextEngine, s *Session, b Beginning) (ce.BootstrapResult, error) {
	hooks := ce.HooksOf(e)
	if !hooks.Has(ce.HookBootstrap) && !hooks.Has(ce.HookMaintain) {
		return ce.BootstrapResult{}, nil
	}
	start := time.Now()
	res, err := ce.Bootstrap(ctx, e, ce.BootstrapParams{
		SessionRef: s.Ref, Target: s.Target, Log: s.reader,
		Boundary: b.Boundary, Previous: b.Previous, Settings: b.Settings, Runtime: s.RuntimeFor(PurposeBootstrap),
	})
	if err != nil || hooks.Has(ce.HookBootstrap) {
		s.observe(ctx, start, Call{Hook: CallBootstrap, Reason: string(b.Boundary), Err: err})
	}
	if err != nil {
		return res, err
	}
	if _, err := Maintain(ctx, e, s, ce.MaintainBootstrap, b.Settings); err != nil {
		s.warn(ctx, "maintenance after bootstrap failed", err)
	}
	return res, nil
}

// A Beginning says why a session begins.
type Beginning struct {
	Boundary ce.Boundary
	Previous ce.SessionRef // rotated or forked from
	Settings *ce.RuntimeSettings
}

// Assemble asks the engine what to send. The host's internal messages are hidden
// from it, its list is its own, and session and runtime are filled in. A result
// without a list for a non-empty input is a [*ce.ContractError], also from an
// engine that no guard watches. Whoever passes the list on for an engine that failed in
// the call passes on what it was before that.
func Assemble(ctx context.Context, e ce.ContextEngine, s *Session, p ce.AssembleParams) (ce.AssembleResult, error) {
	p.SessionRef, p.Runtime = s.Ref, s.RuntimeFor(PurposeAssemble)
	all := p.Messages
	p.Messages, _ = hide(all, 0)
	if p.Messages == nil {
		p.Messages = []message.Message{}
	}
	lent := lendList(e, p.Messages)
	p.Messages = lent.lent
	ctx, standIn := ce.WatchStandIn(ctx)
	res, err := e.Assemble(ctx, p)
	if err != nil {
		return ce.AssembleResult{}, err
	}
	res.Messages = lent.back(res.Messages, standIn.Answered())
	if res.Messages == nil && len(p.Messages) > 0 {
		return ce.AssembleResult{}, &ce.ContractError{
			Engine: e.Info().ID, Issues: []string{"assemble returned no list of messages"},
		}
	}
	if len(p.Messages) < len(all) {
		res.Messages = reveal(res.Messages, all)
	}
	return res, nil
}

// reveal puts the host's internal messages of all back into an engine's list, each
// behind the message that it followed. Those that followed a message which the
// engine left out are left out too.
func reveal(list, all []message.Message) []message.Message {
	behind := make(map[string][]message.Message)
	after := ""
	for _, m := range all {
		if message.IsRuntimeContext(m) {
			behind[after] = append(behind[after], m)
		} else {
			after = m.Key
		}
	}
	delete(behind, "")
	out := make([]message.Message, 0, len(all))
	for _, m := range list {
		out = append(out, m)
		out = append(out, behind[m.Key]...)
	}
	return out
}

// hide removes the host's internal messages from ms and moves a count of leading
// messages accordingly; a count outside the list goes to its nearer end. ms itself
// comes back, clipped, when there are none.
func hide(ms []message.Message, count int) ([]message.Message, int) {
	count = min(max(count, 0), len(ms))
	if !slices.ContainsFunc(ms, message.IsRuntimeContext) {
		return slices.Clip(ms), count
	}
	out := make([]message.Message, 0, len(ms))
	kept := count
	for i, m := range ms {
		switch {
		case !message.IsRuntimeContext(m):
			out = append(out, m)
		case i < count:
			kept--
		}
	}
	return slices.Clip(out), kept
}
