package hosttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/transcript"
)

// An Engine records its calls on a tape and behaves as it is told to. It implements
// every hook but those about subagents; those in Has are the ones that it reports and
// that count. Its fields are set before it is used.
type Engine struct {
	About ce.Info
	Has   ce.HookSet
	Tape  *Tape
	// OnAssemble, OnCompact and OnMaintain answer in the place of what the hook does
	// otherwise: pass the list on, delegate to the host, nothing. Optional.
	OnAssemble func(ce.AssembleParams) ce.AssembleResult
	OnCompact  func(context.Context, ce.CompactParams) (ce.CompactResult, error)
	OnMaintain func(context.Context, ce.MaintainParams) (transcript.RewriteResult, error)
	Offers     []ce.Tool // by the tools hook

	mu     sync.Mutex
	faults map[string][]Fault // by hook, one per call
}

// Every hook is implemented.
var (
	_ ce.ContextEngine      = (*Engine)(nil)
	_ ce.HookReporter       = (*Engine)(nil)
	_ ce.Bootstrapper       = (*Engine)(nil)
	_ ce.Maintainer         = (*Engine)(nil)
	_ ce.BatchIngester      = (*Engine)(nil)
	_ ce.AfterTurner        = (*Engine)(nil)
	_ ce.TurnCommitter      = (*Engine)(nil)
	_ ce.SessionEndObserver = (*Engine)(nil)
	_ ce.ToolProvider       = (*Engine)(nil)
)

// A Fault is what a hook does instead of its work. nil as its result: the work is done
// after all.
type Fault func(ctx context.Context) error

// ErrFault is the error of the fault Failing.
var ErrFault = errors.New("boom")

// Failing returns an error.
func Failing(context.Context) error { return ErrFault }

// Panicking panics.
func Panicking(context.Context) error { panic("boom") }

// Declining declines the call.
func Declining(context.Context) error { return ce.ErrDeclined }

// Hanging waits until the call is given up.
func Hanging(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Fine does nothing wrong.
func Fine(context.Context) error { return nil }

// NewEngine returns an Engine with some hooks.
func NewEngine(id string, hooks ce.HookSet, t *Tape) *Engine {
	return &Engine{
		About: ce.Info{ID: id, Name: id, Version: "1"}, Has: hooks, Tape: t,
	}
}

// Fail lets the next calls of a hook go wrong, one fault per call. The hook has the name
// that it has on the tape: bootstrap, maintain, ingest, ingestBatch, assemble, compact,
// afterTurn, commitTurn, sessionEnded, tools or close. It panics for any other, because
// a fault that never comes would let a test pass.
func (e *Engine) Fail(hook string, fs ...Fault) {
	if !slices.Contains(tapeNames(), hook) {
		panic(fmt.Sprintf("hosttest: an engine has no hook %q", hook))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.faults == nil {
		e.faults = map[string][]Fault{}
	}
	e.faults[hook] = append(e.faults[hook], fs...)
}

// tapeNames are the names of the hooks.
func tapeNames() []string {
	return []string{
		"bootstrap", "maintain", "ingest", "ingestBatch", "assemble", "compact", "afterTurn", "commitTurn",
		"sessionEnded", "tools", "close",
	}
}

// call records a call and does what it was told to.
func (e *Engine) call(ctx context.Context, hook, format string, args ...any) error {
	e.Tape.Add("%s %s %s", e.About.ID, hook, fmt.Sprintf(format, args...))
	e.mu.Lock()
	var f Fault = Fine
	if fs := e.faults[hook]; len(fs) > 0 {
		f, e.faults[hook] = fs[0], fs[1:]
	}
	e.mu.Unlock()
	return f(ctx)
}

// Info implements [ce.ContextEngine].
func (e *Engine) Info() ce.Info { return e.About }

// Hooks implements [ce.HookReporter].
func (e *Engine) Hooks() ce.HookSet { return e.Has }

// Bootstrap implements [ce.Bootstrapper].
func (e *Engine) Bootstrap(ctx context.Context, q ce.BootstrapParams) (ce.BootstrapResult, error) {
	n := 0
	for _, err := range q.Log.Branch(ctx) {
		if err != nil {
			return ce.BootstrapResult{}, err
		}
		n++
	}
	from := ""
	if q.Previous.SessionID != "" {
		from = " from " + q.Previous.SessionID
	}
	return ce.BootstrapResult{Bootstrapped: true}, e.call(ctx, "bootstrap", "%s %s%s rows=%d", q.SessionID, q.Boundary, from, n)
}

// Maintain implements [ce.Maintainer].
func (e *Engine) Maintain(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
	deferred := ""
	if q.Runtime.AllowDeferredCompaction {
		deferred = " deferred"
	}
	if err := e.call(ctx, "maintain", "%s %s%s", q.SessionID, q.Reason, deferred); err != nil {
		return transcript.RewriteResult{}, err
	}
	if e.OnMaintain != nil {
		return e.OnMaintain(ctx, q)
	}
	return transcript.RewriteResult{}, nil
}

// Ingest implements [ce.ContextEngine].
func (e *Engine) Ingest(ctx context.Context, q ce.IngestParams) (ce.IngestResult, error) {
	return ce.IngestResult{Ingested: true}, e.call(ctx, "ingest", "%s%s", Said(q.Message), heartbeat(q.IsHeartbeat))
}

// IngestBatch implements [ce.BatchIngester].
func (e *Engine) IngestBatch(ctx context.Context, q ce.IngestBatchParams) (ce.IngestBatchResult, error) {
	return ce.IngestBatchResult{IngestedCount: len(q.Messages)},
		e.call(ctx, "ingestBatch", "%s%s", SaidAll(q.Messages), heartbeat(q.IsHeartbeat))
}

// Assemble implements [ce.ContextEngine].
func (e *Engine) Assemble(ctx context.Context, q ce.AssembleParams) (ce.AssembleResult, error) {
	prompt := "none"
	if q.Prompt != nil {
		prompt = short(fmt.Sprintf("%q", *q.Prompt))
	}
	tools := "unknown"
	if q.AvailableTools != nil {
		tools = strings.Join(q.AvailableTools, ",")
	}
	if err := e.call(ctx, "assemble", "%s prompt=%s budget=%d tools=%s", SaidAll(q.Messages), prompt, q.TokenBudget, tools); err != nil {
		return ce.AssembleResult{}, err
	}
	if e.OnAssemble != nil {
		return e.OnAssemble(q), nil
	}
	return ce.AssembleResult{Messages: q.Messages}, nil
}

// Compact implements [ce.ContextEngine].
func (e *Engine) Compact(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
	err := e.call(ctx, "compact", "trigger=%s goal=%s force=%t budget=%d current=%d active=%t instructions=%q",
		q.Trigger, q.Goal, q.Force, q.TokenBudget, q.CurrentTokens, q.ActiveTurn, q.CustomInstructions)
	if err != nil {
		return ce.CompactResult{}, err
	}
	if e.OnCompact != nil {
		return e.OnCompact(ctx, q)
	}
	return ce.DelegateCompaction(ctx, q)
}

// AfterTurn implements [ce.AfterTurner].
func (e *Engine) AfterTurn(ctx context.Context, q ce.AfterTurnParams) error {
	return e.call(ctx, "afterTurn", "%s", turnText(q))
}

// CommitTurn implements [ce.TurnCommitter].
func (e *Engine) CommitTurn(ctx context.Context, q ce.CommitTurnParams) (ce.CommitTurnResult, error) {
	key := "no key"
	if q.AdvancementKey == q.SessionID+"/"+q.Admission.ID && q.Admission.ID != "" {
		key = "keyed"
	}
	return ce.CommitTurnResult{Status: ce.CommitCommitted}, e.call(ctx, "commitTurn", "%s %s", turnText(q.AfterTurnParams), key)
}

// OnSessionEnded implements [ce.SessionEndObserver].
func (e *Engine) OnSessionEnded(ctx context.Context, q ce.SessionEndedParams) error {
	return e.call(ctx, "sessionEnded", "%s %s %s", q.SessionID, q.Reason, q.Successor.SessionID)
}

// Tools implements [ce.ToolProvider].
func (e *Engine) Tools(ctx context.Context, q ce.ToolsParams) ([]ce.Tool, error) {
	return e.Offers, e.call(ctx, "tools", "%s", q.SessionID)
}

// Close implements io.Closer.
func (e *Engine) Close() error {
	if !e.Has.Has(ce.HookClose) {
		return nil // every io.Closer is closed; this one has nothing to close
	}
	return e.call(context.Background(), "close", "")
}

func heartbeat(is bool) string {
	if is {
		return " heartbeat"
	}
	return ""
}

func turnText(q ce.AfterTurnParams) string {
	summary := ""
	if q.AutoCompactionSummary != "" {
		summary = fmt.Sprintf(" summary=%q", q.AutoCompactionSummary)
	}
	return fmt.Sprintf("%s new=%s budget=%d%s%s", SaidAll(q.Messages), SaidAll(q.New()), q.TokenBudget, summary, heartbeat(q.IsHeartbeat))
}
