package turn

import (
	"context"
	"errors"
	"log/slog"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// An Ending is a turn as it is delivered to the engine.
type Ending struct {
	// Messages is the view that the turn started from and then the turn's own;
	// PrePromptMessageCount is how many of them the engine need not be given.
	Messages              []message.Message
	PrePromptMessageCount int

	AutoCompactionSummary string
	IsHeartbeat           bool
	TokenBudget           int
	Settings              *ce.RuntimeSettings

	// AdvancementKey identifies the turn; Admission and Terminal are its first
	// and last row.
	AdvancementKey      string
	Admission, Terminal transcript.Entry

	// Failed is set for turns that failed, were aborted or are revised: they are
	// delivered only with DeliverFailed, and never maintained.
	Failed, DeliverFailed bool
	// Within bounds the whole ladder of delivery; 0: no bound. Missing it is the
	// driver giving up, which is held against nobody.
	Within time.Duration
}

// ErrEndOfTurn is why a delivery that took longer than Within was given up.
var ErrEndOfTurn = errors.New("end of turn took too long")

// Finish delivers a turn through the one ladder that ends turns, and, when that
// and the turn went well, lets the engine maintain the session. The error says why
// the turn was not delivered; nil also where it was not to be.
func Finish(ctx context.Context, e ce.ContextEngine, s *Session, end Ending) error {
	if end.Failed && !end.DeliverFailed {
		return nil
	}
	start := time.Now()
	res, err := s.commit(ctx, e, end)
	s.observe(ctx, start, Call{Hook: CallCommit, Reason: string(res.Status), Err: err})
	if err != nil {
		s.warn(ctx, "delivering the turn failed", err)
		return err
	}
	if end.Failed {
		return nil
	}
	if _, err := Maintain(ctx, e, s, ce.MaintainTurn, end.Settings); err != nil {
		s.warn(ctx, "maintenance after the turn failed", err)
	}
	return nil
}

func (s *Session) commit(ctx context.Context, e ce.ContextEngine, end Ending) (ce.CommitTurnResult, error) {
	if end.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, end.Within, ErrEndOfTurn)
		defer cancel()
	}
	return ce.CommitTurn(ctx, e, ce.CommitTurnParams{
		AfterTurnParams: s.afterTurn(end),
		AdvancementKey:  end.AdvancementKey, Admission: end.Admission, Terminal: end.Terminal,
	})
}

// Deliver gives the engine what is new in the middle of a turn.
func Deliver(ctx context.Context, e ce.ContextEngine, s *Session, end Ending) error {
	return ce.AfterTurn(ctx, e, s.afterTurn(end))
}

func (s *Session) afterTurn(end Ending) ce.AfterTurnParams {
	ms, count := hide(end.Messages, end.PrePromptMessageCount)
	return ce.AfterTurnParams{
		SessionRef: s.Ref, Target: s.Target, Messages: ms, PrePromptMessageCount: count,
		AutoCompactionSummary: end.AutoCompactionSummary, IsHeartbeat: end.IsHeartbeat,
		TokenBudget: end.TokenBudget, Settings: end.Settings, Runtime: s.RuntimeFor(PurposeAfterTurn),
	}
}

// Maintain lets the engine maintain the session's transcript. Maintenance after
// a turn is put off where the engine asks for that and the session has a
// Background: it then runs with leave for compactions that were put off too, and
// the result is zero. Otherwise it runs here.
func Maintain(
	ctx context.Context, e ce.ContextEngine, s *Session, reason ce.MaintainReason, settings *ce.RuntimeSettings,
) (transcript.RewriteResult, error) {
	if !ce.HooksOf(e).Has(ce.HookMaintain) {
		return transcript.RewriteResult{}, nil
	}
	p := ce.MaintainParams{SessionRef: s.Ref, Target: s.Target, Log: s.reader, Reason: reason, Settings: settings}
	rt := *s.RuntimeFor(PurposeOf(reason))
	rt.Rewriter = s.rewriter
	background := reason == ce.MaintainTurn && s.Background != nil && e.Info().TurnMaintenance == ce.MaintenanceBackground
	if !background {
		p.Runtime = ce.LendRuntime(rt)
		return s.maintain(ctx, e, p)
	}
	rt.AllowDeferredCompaction = true
	p.Runtime = ce.LendRuntime(rt)
	later := *s
	taken := s.Background.Schedule(s.Ref, func(ctx context.Context) error {
		_, err := later.maintain(ctx, e, p)
		return err
	})
	if !taken {
		s.logger().LogAttrs(ctx, slog.LevelWarn, "background maintenance was not scheduled", slog.String("session", s.Ref.SessionID))
	}
	return transcript.RewriteResult{}, nil
}

// Names of observed calls.
const (
	CallBootstrap = "bootstrap"
	CallCommit    = "commitTurn"
	CallMaintain  = "maintain"
)

// A Call is one call of the engine, after it.
type Call struct {
	Hook   string // one of the names above
	Reason string // of the maintenance, the boundary of the bootstrap, or the status of the commit
	Err    error
	Took   time.Duration
}

func (s *Session) observe(ctx context.Context, start time.Time, c Call) {
	if s.Observe != nil {
		c.Took = time.Since(start)
		s.Observe(ctx, c)
	}
}

func (s *Session) maintain(ctx context.Context, e ce.ContextEngine, p ce.MaintainParams) (transcript.RewriteResult, error) {
	start := time.Now()
	res, err := ce.Maintain(ctx, e, p)
	s.observe(ctx, start, Call{Hook: CallMaintain, Reason: string(p.Reason), Err: err})
	if err == nil && res.Changed {
		s.logger().LogAttrs(ctx, slog.LevelInfo, "maintenance changed the transcript",
			slog.String("session", s.Ref.SessionID), slog.String("reason", string(p.Reason)),
			slog.Int("rewrittenEntries", res.RewrittenEntries), slog.Int64("bytesFreed", res.BytesFreed))
	}
	return res, err
}
