package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

type (
	probe     = hosttest.Engine
	tape      = hosttest.Tape
	byteCount = hosttest.ByteCount
)

func newProbe(id string, hooks ce.HookSet, t *tape) *probe { return hosttest.NewEngine(id, hooks, t) }

func saidAll(ms []message.Message) string { return hosttest.SaidAll(ms) }

// register makes probes available under their ids.
func register(t testing.TB, r *ce.Registry, ps ...*probe) {
	t.Helper()
	for _, p := range ps {
		require.NoError(t, r.Register(p.About.ID, "plugin:"+p.About.ID,
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

func call(id, tool string) message.Block {
	return message.ToolCall(id, tool, json.RawMessage(`{}`))
}

func readTool(text string) ce.Tool {
	return hosttest.Tool("read", func(context.Context, json.RawMessage) ([]message.Block, error) {
		return []message.Block{message.Text(text)}, nil
	})
}

// setUp registers a probe, selects it and returns a host over a scripted model.
func setUp(t *testing.T, hooks ce.HookSet, change func(*probe, *host.Options), steps ...hosttest.Step) (*host.Host, *hosttest.Model, *tape) {
	t.Helper()
	tp := &tape{}
	p := newProbe("alpha", hooks, tp)
	m := hosttest.NewModel(steps...)
	opts := &host.Options{Registry: &ce.Registry{}, Selection: ce.Selection{Engine: "alpha"}, Model: m}
	if change != nil {
		change(p, opts)
	}
	register(t, opts.Registry, p)
	return newHost(t, opts), m, tp
}

// hostOver is a host over a store that the test closes itself, or never.
func hostOver(t *testing.T, st transcript.Store, opts *host.Options) *host.Host {
	t.Helper()
	h, err := host.New(st, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.WithoutCancel(t.Context())) })
	return h
}

var errDisk = errors.New("disk")

// windowOf describes every model as one with a window of n tokens and 1,000 in reserve.
func windowOf(n int) func(context.Context, string) (host.ModelInfo, error) {
	return func(context.Context, string) (host.ModelInfo, error) {
		return host.ModelInfo{ID: "m", Budget: tokens.Budget{Window: n, Reserve: 1000}}, nil
	}
}

type compactFunc = func(context.Context, ce.CompactParams) (ce.CompactResult, error)

// movesTo claims that a compaction moved the session.
func movesTo(id string) compactFunc {
	return func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
		n := 1
		return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{SessionID: id, TokensBefore: 9000, TokensAfter: &n}}, nil
	}
}

// rotatesTo moves the session.
func rotatesTo(st transcript.Store, id string) compactFunc {
	return func(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
		log, err := st.Rotate(ctx, q.SessionID, transcript.Header{ID: id, Boundary: "rotated"})
		if err != nil {
			return ce.CompactResult{}, err
		}
		if err := log.Close(); err != nil {
			return ce.CompactResult{}, err
		}
		return movesTo(id)(ctx, q)
	}
}

var errTooLong = errors.New("prompt is too long: 9000 tokens > 8000 maximum")

// lineWith returns the last line of a tape that begins like this.
func lineWith(tp *tape, prefix string) string {
	found := ""
	for _, line := range tp.Take() {
		if strings.HasPrefix(line, prefix) {
			found = line
		}
	}
	return found
}

func shrunk(to int) (ce.CompactResult, error) {
	return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{TokensAfter: &to}}, nil
}

// slowMaintainer maintains in the background, after a turn, for a second; then it reads the
// transcript and says so.
func slowMaintainer(tp *tape) *probe {
	p := newProbe("alpha", ce.HookMaintain|ce.HookAfterTurn|ce.HookSessionEnded|ce.HookBootstrap, tp)
	p.About.TurnMaintenance = ce.MaintenanceBackground
	p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
		if q.Reason != ce.MaintainTurn {
			return transcript.RewriteResult{}, nil
		}
		<-time.After(time.Second)
		v, err := q.Log.View(ctx)
		tp.Add("maintained %s error=%v", saidAll(v.Messages), err)
		return transcript.RewriteResult{}, err
	}
	return p
}
