package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A tape records what happens, in order.
type tape struct {
	mu    sync.Mutex
	lines []string
}

func (t *tape) add(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

// take returns what was recorded since the last time.
func (t *tape) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.lines
	t.lines = nil
	return out
}

// A probe is an engine that records its calls and behaves as it is told to. The
// hooks that it reports are the ones that count.
type probe struct {
	info  ce.Info
	hooks ce.HookSet
	tape  *tape

	mu     sync.Mutex
	faults map[string][]fault // by hook, one per call

	assemble func(ce.AssembleParams) ce.AssembleResult
	compact  func(context.Context, ce.CompactParams) (ce.CompactResult, error)
	maintain func(context.Context, ce.MaintainParams) (transcript.RewriteResult, error)
	tools    []ce.Tool
}

// A fault is what a hook does instead of its work.
type fault func(ctx context.Context) error

var errBoom = errors.New("boom")

func failing(context.Context) error   { return errBoom }
func panicking(context.Context) error { panic("boom") }
func declining(context.Context) error { return ce.ErrDeclined }
func hanging(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
func fine(context.Context) error { return nil }

func newProbe(id string, hooks ce.HookSet, t *tape) *probe {
	return &probe{
		info: ce.Info{ID: id, Name: id, Version: "1"}, hooks: hooks, tape: t,
		faults: map[string][]fault{},
	}
}

func (p *probe) inject(hook string, fs ...fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[hook] = append(p.faults[hook], fs...)
}

// call records a call and does what it was told to.
func (p *probe) call(ctx context.Context, hook, format string, args ...any) error {
	p.tape.add("%s %s %s", p.info.ID, hook, fmt.Sprintf(format, args...))
	p.mu.Lock()
	var f fault = fine
	if fs := p.faults[hook]; len(fs) > 0 {
		f, p.faults[hook] = fs[0], fs[1:]
	}
	p.mu.Unlock()
	return f(ctx)
}

func (p *probe) Info() ce.Info     { return p.info }
func (p *probe) Hooks() ce.HookSet { return p.hooks }

func (p *probe) Bootstrap(ctx context.Context, q ce.BootstrapParams) (ce.BootstrapResult, error) {
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
	return ce.BootstrapResult{Bootstrapped: true}, p.call(ctx, "bootstrap", "%s %s%s rows=%d", q.SessionID, q.Boundary, from, n)
}

func (p *probe) Maintain(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
	deferred := ""
	if q.Runtime.AllowDeferredCompaction {
		deferred = " deferred"
	}
	if err := p.call(ctx, "maintain", "%s %s%s", q.SessionID, q.Reason, deferred); err != nil {
		return transcript.RewriteResult{}, err
	}
	if p.maintain != nil {
		return p.maintain(ctx, q)
	}
	return transcript.RewriteResult{}, nil
}

func (p *probe) Ingest(ctx context.Context, q ce.IngestParams) (ce.IngestResult, error) {
	return ce.IngestResult{Ingested: true}, p.call(ctx, "ingest", "%s%s", said(q.Message), heartbeat(q.IsHeartbeat))
}

func (p *probe) IngestBatch(ctx context.Context, q ce.IngestBatchParams) (ce.IngestBatchResult, error) {
	return ce.IngestBatchResult{IngestedCount: len(q.Messages)},
		p.call(ctx, "ingestBatch", "%s%s", saidAll(q.Messages), heartbeat(q.IsHeartbeat))
}

func (p *probe) Assemble(ctx context.Context, q ce.AssembleParams) (ce.AssembleResult, error) {
	prompt := "none"
	if q.Prompt != nil {
		prompt = short(fmt.Sprintf("%q", *q.Prompt))
	}
	tools := "unknown"
	if q.AvailableTools != nil {
		tools = strings.Join(q.AvailableTools, ",")
	}
	if err := p.call(ctx, "assemble", "%s prompt=%s budget=%d tools=%s", saidAll(q.Messages), prompt, q.TokenBudget, tools); err != nil {
		return ce.AssembleResult{}, err
	}
	if p.assemble != nil {
		return p.assemble(q), nil
	}
	return ce.AssembleResult{Messages: q.Messages}, nil
}

func (p *probe) Compact(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
	err := p.call(ctx, "compact", "trigger=%s goal=%s force=%t budget=%d current=%d active=%t instructions=%q",
		q.Trigger, q.Goal, q.Force, q.TokenBudget, q.CurrentTokens, q.ActiveTurn, q.CustomInstructions)
	if err != nil {
		return ce.CompactResult{}, err
	}
	if p.compact != nil {
		return p.compact(ctx, q)
	}
	return ce.DelegateCompaction(ctx, q)
}

func (p *probe) AfterTurn(ctx context.Context, q ce.AfterTurnParams) error {
	return p.call(ctx, "afterTurn", "%s", turnText(q))
}

func (p *probe) CommitTurn(ctx context.Context, q ce.CommitTurnParams) (ce.CommitTurnResult, error) {
	key := "no key"
	if q.AdvancementKey == q.SessionID+"/"+q.Admission.ID && q.Admission.ID != "" {
		key = "keyed"
	}
	return ce.CommitTurnResult{Status: ce.CommitCommitted}, p.call(ctx, "commitTurn", "%s %s", turnText(q.AfterTurnParams), key)
}

func (p *probe) OnSessionEnded(ctx context.Context, q ce.SessionEndedParams) error {
	return p.call(ctx, "sessionEnded", "%s %s %s", q.SessionID, q.Reason, q.Successor.SessionID)
}

func (p *probe) Tools(ctx context.Context, q ce.ToolsParams) ([]ce.Tool, error) {
	return p.tools, p.call(ctx, "tools", "%s", q.SessionID)
}

func (p *probe) Close() error {
	if !p.hooks.Has(ce.HookClose) {
		return nil // every io.Closer is closed; this one has nothing to close
	}
	return p.call(context.Background(), "close", "")
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
	return fmt.Sprintf("%s new=%s budget=%d%s%s", saidAll(q.Messages), saidAll(q.New()), q.TokenBudget, summary, heartbeat(q.IsHeartbeat))
}

// said is a message in a few characters.
func said(m message.Message) string {
	role := map[message.Role]string{
		message.RoleUser: "u", message.RoleAssistant: "a", message.RoleToolResult: "r",
		message.RoleCustom: "c", message.RoleCompactionSummary: "s",
	}[m.Role]
	text := m.Text() + m.Summary
	for call := range m.ToolCalls() {
		text += "@" + call.ID
	}
	if m.ToolCallID != "" {
		text = m.ToolCallID + "=" + text
	}
	text = short(text)
	if m.IsError {
		role += "!"
	}
	return role + ":" + text
}

func short(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("%s…%d", text[:12], len(text))
	}
	return text
}

func saidAll(ms []message.Message) string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = said(m)
	}
	return "[" + strings.Join(out, " | ") + "]"
}

// register makes probes available under their ids.
func register(t testing.TB, r *ce.Registry, ps ...*probe) {
	t.Helper()
	for _, p := range ps {
		require.NoError(t, r.Register(p.info.ID, "plugin:"+p.info.ID,
			func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return p, nil }))
	}
}

func newHost(t testing.TB, opts *host.Options) *host.Host {
	t.Helper()
	h, err := host.New(transcript.NewMemory(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.WithoutCancel(t.Context()))) })
	return h
}

func ref(id string) ce.SessionRef { return ce.SessionRef{SessionID: id} }
