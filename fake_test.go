package contextengine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

var errBoom = errors.New("boom")

const allHooks = ce.HookBootstrap | ce.HookMaintain | ce.HookIngestBatch | ce.HookAfterTurn | ce.HookCommitTurn |
	ce.HookPrepareSubagentSpawn | ce.HookSubagentEnded | ce.HookSessionEnded | ce.HookTools | ce.HookClose

// fake has every hook; it reports those of hooks. on decides what a call does
// and sees the params; nil is success.
type fake struct {
	info  ce.Info
	hooks ce.HookSet
	on    func(ctx context.Context, op string, p any) error
	tools []ce.Tool
	undo  func(context.Context) error

	mu    sync.Mutex
	calls []string
}

func newFake(hooks ce.HookSet) *fake {
	return &fake{info: ce.Info{ID: "fake", Name: "Fake"}, hooks: hooks}
}

func (f *fake) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *fake) do(ctx context.Context, op string, p any) error {
	f.mu.Lock()
	f.calls = append(f.calls, op)
	f.mu.Unlock()
	if f.on == nil {
		return nil
	}
	return f.on(ctx, op, p)
}

func (f *fake) Info() ce.Info     { return f.info }
func (f *fake) Hooks() ce.HookSet { return f.hooks }

func (f *fake) Ingest(ctx context.Context, p ce.IngestParams) (ce.IngestResult, error) {
	return ce.IngestResult{Ingested: true}, f.do(ctx, "ingest", p)
}

func (f *fake) Assemble(ctx context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	err := f.do(ctx, "assemble", p)
	return ce.AssembleResult{Messages: append([]message.Message{}, p.Messages...), EstimatedTokens: 11}, err
}

func (f *fake) Compact(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	return ce.CompactResult{OK: true, Compacted: true}, f.do(ctx, "compact", p)
}

func (f *fake) Bootstrap(ctx context.Context, p ce.BootstrapParams) (ce.BootstrapResult, error) {
	return ce.BootstrapResult{Bootstrapped: true}, f.do(ctx, "bootstrap", p)
}

func (f *fake) Maintain(ctx context.Context, p ce.MaintainParams) (transcript.RewriteResult, error) {
	return transcript.RewriteResult{Changed: true}, f.do(ctx, "maintain", p)
}

func (f *fake) IngestBatch(ctx context.Context, p ce.IngestBatchParams) (ce.IngestBatchResult, error) {
	return ce.IngestBatchResult{IngestedCount: len(p.Messages)}, f.do(ctx, "ingestBatch", p)
}

func (f *fake) AfterTurn(ctx context.Context, p ce.AfterTurnParams) error {
	return f.do(ctx, "afterTurn", p)
}

func (f *fake) CommitTurn(ctx context.Context, p ce.CommitTurnParams) (ce.CommitTurnResult, error) {
	return ce.CommitTurnResult{Status: ce.CommitCommitted}, f.do(ctx, "commitTurn", p)
}

func (f *fake) PrepareSubagentSpawn(ctx context.Context, p ce.SubagentSpawnParams) (*ce.SubagentPreparation, error) {
	if err := f.do(ctx, "prepareSubagentSpawn", p); err != nil {
		return nil, err
	}
	return &ce.SubagentPreparation{Rollback: f.undo}, nil
}

func (f *fake) OnSubagentEnded(ctx context.Context, p ce.SubagentEndedParams) error {
	return f.do(ctx, "onSubagentEnded", p)
}

func (f *fake) OnSessionEnded(ctx context.Context, p ce.SessionEndedParams) error {
	return f.do(ctx, "onSessionEnded", p)
}

func (f *fake) Tools(ctx context.Context, p ce.ToolsParams) ([]ce.Tool, error) {
	return f.tools, f.do(ctx, "tools", p)
}

func (f *fake) Close() error { return f.do(context.Background(), "close", nil) }

// fail makes every call of op fail with err.
func fail(op string, err error) func(context.Context, string, any) error {
	return func(_ context.Context, got string, _ any) error {
		if got == op {
			return err
		}
		return nil
	}
}

func factoryOf(e ce.ContextEngine) ce.Factory {
	return func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return e, nil }
}

// logged is a registry whose log lines can be read.
type logged struct {
	ce.Registry
	out syncBuffer
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.TrimSpace(b.buf.String())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func newRegistry() *logged {
	r := &logged{}
	r.Logger = slog.New(slog.NewTextHandler(&r.out, nil))
	r.Now = func() time.Time { return time.Unix(1_700_000_000, 0).UTC() }
	return r
}

func resolve(t *testing.T, r *logged, f *fake, s ce.Selection) *ce.Handle {
	t.Helper()
	require.NoError(t, r.Register("x", "plugin:x", factoryOf(f)))
	s.Engine = "x"
	h, err := r.Resolve(t.Context(), s)
	require.NoError(t, err)
	return h
}

func session(id string) ce.SessionRef { return ce.SessionRef{SessionID: id, SessionKey: "key:" + id} }

var history = [...]message.Message{message.User("hello"), message.Assistant(message.Text("hi"))}

// callHook calls one guarded hook of h and returns what it answered.
func callHook(ctx context.Context, h *ce.Handle, op string) (any, error) {
	ref := session("s1")
	switch op {
	case "ingest":
		return h.Ingest(ctx, ce.IngestParams{SessionRef: ref, Message: history[0]})
	case "assemble":
		return h.Assemble(ctx, ce.AssembleParams{SessionRef: ref, Messages: history[:]})
	case "compact":
		return h.Compact(ctx, ce.CompactParams{SessionRef: ref})
	case "bootstrap":
		return h.Bootstrap(ctx, ce.BootstrapParams{SessionRef: ref})
	case "maintain":
		return h.Maintain(ctx, ce.MaintainParams{SessionRef: ref, Reason: ce.MaintainTurn})
	case "ingestBatch":
		return h.IngestBatch(ctx, ce.IngestBatchParams{SessionRef: ref, Messages: history[:]})
	case "afterTurn":
		return nil, h.AfterTurn(ctx, ce.AfterTurnParams{SessionRef: ref, Messages: history[:]})
	case "commitTurn":
		return h.CommitTurn(ctx, ce.CommitTurnParams{AfterTurnParams: ce.AfterTurnParams{SessionRef: ref, Messages: history[:]}})
	case "prepareSubagentSpawn":
		return h.PrepareSubagentSpawn(ctx, ce.SubagentSpawnParams{Parent: ref, ParentSessionKey: ref.SessionKey})
	case "onSubagentEnded":
		return nil, h.OnSubagentEnded(ctx, ce.SubagentEndedParams{ChildSessionKey: ref.SessionKey})
	case "onSessionEnded":
		return nil, h.OnSessionEnded(ctx, ce.SessionEndedParams{SessionRef: ref})
	case "tools":
		return h.Tools(ctx, ce.ToolsParams{SessionRef: ref})
	}
	panic("unknown hook " + op)
}

func guardedOps() []string {
	return []string{
		"bootstrap", "maintain", "ingest", "ingestBatch", "afterTurn", "commitTurn", "assemble",
		"compact", "prepareSubagentSpawn", "onSubagentEnded", "onSessionEnded", "tools",
	}
}
