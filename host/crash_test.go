package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// What an owner was given in the tool loop it is not given again, also when the program ends
// without a word in the middle of the turn.
func TestContinueAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var tp tape
	start := func(steps ...hosttest.Step) *host.Host {
		st, err := transcript.OpenDir(dir, nil)
		require.NoError(t, err)
		p := newProbe("alpha", ce.HookAfterTurn, &tp)
		p.About.OwnsCompaction = true
		reg := &ce.Registry{}
		register(t, reg, p)
		return hostOver(t, st, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.NewModel(steps...), State: host.DirState(dir),
		})
	}
	tn, err := start().Begin(t.Context(), ref("s"), message.User("go"), nil)
	require.NoError(t, err)
	require.NoError(t, tn.Append(t.Context(), message.Assistant(call("c1", "read"))))
	require.NoError(t, tn.Append(t.Context(), message.ToolResult("c1", "read", message.Text("data"))))
	require.Contains(t, lineWith(&tp, "alpha afterTurn"), "new=[u:go | a:@c1 | r:c1=data]")

	out, err := start(hosttest.Reply("done")).Run(t.Context(), ref("s"), message.Message{}, nil)
	require.NoError(t, err)
	require.Equal(t, "[u:go | a:@c1 | r:c1=data | a:done]", saidAll(out.Messages))
	require.Contains(t, lineWith(&tp, "alpha afterTurn"), "new=[a:done]")
}

// lateState takes its time to save.
type lateState struct{ host.StateStore }

func (s lateState) Save(ctx context.Context, r ce.SessionRef, name string, value []byte) error {
	<-time.After(time.Second)
	return s.StateStore.Save(ctx, r, name, value)
}

// What happens in the background is in no outcome, also when it is over before the turn is.
func TestOutcomeLeavesTheBackgroundOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbe("alpha", ce.HookMaintain, &tape{})
		p.About.TurnMaintenance = ce.MaintenanceBackground
		asked := 0
		p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
			if q.Reason != ce.MaintainTurn {
				return transcript.RewriteResult{}, nil
			}
			_, err := q.Runtime.Completer.Complete(ctx, ce.CompletionRequest{Messages: []message.Message{message.User("sum up")}})
			asked++
			return transcript.RewriteResult{}, err
		}
		reg := &ce.Registry{}
		register(t, reg, p)
		h := newHost(t, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha"}, State: lateState{host.DirState(t.TempDir())},
			Model: hosttest.Always(hosttest.ReplyUsing("ok", &message.Usage{Input: 3, Output: 1, Total: 4})),
		})
		out, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		require.Equal(t, 1, asked, "it is over")
		var got []string
		for _, e := range out.Events {
			got = append(got, e.Operation+" "+e.Outcome)
		}
		require.Equal(t, []string{"maintain ok", "assemble ok", "model ok", "commitTurn ok", "background scheduled"}, got)
		require.Zero(t, out.Spent)
		require.Equal(t, host.Spending{Calls: 1, Input: 3, Output: 1}, h.Spent(ref("s")))
		require.NoError(t, h.Close(t.Context()))
	})
}

// Status of a session that is not kept at hand is what the state store has by now.
func TestStatusOfAnUnloadedSession(t *testing.T) {
	t.Parallel()
	dir, st := t.TempDir(), transcript.NewMemory()
	start := func(total int) *host.Host {
		return hostOver(t, st, &host.Options{
			State: host.DirState(dir), Model: hosttest.Always(hosttest.ReplyUsing("ok", &message.Usage{Input: total, Total: total})),
		})
	}
	h := start(100)
	for _, id := range append([]string{"s"}, manyNames(40)...) {
		_, err := h.Run(t.Context(), ref(id), message.User("x"), nil)
		require.NoError(t, err)
	}
	_, err := start(200).Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	require.Equal(t, 200, h.Status(ref("s")).Used)
}

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	return names
}

// A manual compaction is part of how a session stands after a restart.
func TestManualCompactionIsRemembered(t *testing.T) {
	t.Parallel()
	st, dir := transcript.NewMemory(), t.TempDir()
	start := func() *host.Host {
		p := newProbe("alpha", 0, &tape{})
		p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) { return shrunk(0) }
		reg := &ce.Registry{}
		register(t, reg, p)
		return hostOver(t, st, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.Always(hosttest.Reply("ok")), State: host.DirState(dir),
		})
	}
	h := start()
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	res, err := h.Compact(t.Context(), ref("s"), "")
	require.NoError(t, err)
	require.True(t, res.Compacted)
	require.Equal(t, 1, start().Status(ref("s")).Compactions)
}

// slowToLoad waits for the end of the context.
type slowToLoad struct{ hangingState }

func (slowToLoad) Load(ctx context.Context, _ ce.SessionRef, _ string) ([]byte, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A state store that hangs holds Status for a moment only.
func TestStatusDoesNotHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, &host.Options{State: slowToLoad{}})
		start := time.Now()
		require.Zero(t, h.Status(ref("s")).Used)
		require.Less(t, time.Since(start), 10*time.Second)
		require.NoError(t, h.Close(t.Context()))
	})
}

// Engines are told what the provider counted for the last call, and when its cache was last
// touched; after a compaction the former is unknown.
func TestEnginesAreToldOfTheCache(t *testing.T) {
	t.Parallel()
	var told []*ce.PromptCacheInfo
	p := &cacheReader{probe: newProbe("alpha", ce.HookAfterTurn, &tape{}), told: &told}
	p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) { return shrunk(1) }
	reg := &ce.Registry{}
	require.NoError(t, reg.Register("alpha", "o", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return p, nil }))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := newHost(t, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Now: func() time.Time { return now },
		Model: hosttest.NewModel(
			hosttest.ReplyUsing("a", &message.Usage{Input: 5, CacheRead: 70, Total: 76, Output: 1}),
			hosttest.ReplyUsing("b", &message.Usage{Input: 80, Total: 81, Output: 1}), hosttest.Reply("c"),
		),
	})
	for range 2 {
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		now = now.Add(time.Hour)
	}
	_, err := h.Compact(t.Context(), ref("s"), "")
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	touched := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, second := told[1].LastCall, told[3].LastCall
	require.Equal(t, 70, first.CacheRead)
	require.Equal(t, 80, second.Input)
	require.Equal(t, []*ce.PromptCacheInfo{
		nil,
		{LastCall: first, LastTouchAt: touched}, // assemble and afterTurn of each turn
		{LastCall: first, LastTouchAt: touched},
		{LastCall: second, LastTouchAt: touched},
		{LastTouchAt: touched},
		{LastTouchAt: touched},
	}, told)
}

// A cacheReader keeps what it is told of the cache.
type cacheReader struct {
	*probe
	told *[]*ce.PromptCacheInfo
}

func (c *cacheReader) Assemble(ctx context.Context, q ce.AssembleParams) (ce.AssembleResult, error) {
	*c.told = append(*c.told, q.Runtime.PromptCache)
	return c.probe.Assemble(ctx, q)
}

func (c *cacheReader) AfterTurn(ctx context.Context, q ce.AfterTurnParams) error {
	*c.told = append(*c.told, q.Runtime.PromptCache)
	return c.probe.AfterTurn(ctx, q)
}
