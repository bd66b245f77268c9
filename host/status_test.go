package host_test

import (
	"bytes"
	"context"
	"log/slog"
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

// Status tells what the last turn left before this run of the program had one.
func TestStatusAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *host.Host {
		st, err := transcript.OpenDir(dir, nil)
		require.NoError(t, err)
		return hostOver(t, st, &host.Options{
			Model: hosttest.Always(hosttest.ReplyUsing("ok", &message.Usage{Input: 7, Total: 77})), State: host.DirState(dir), Models: windowOf(80000),
		})
	}
	h := start()
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), &host.TurnOptions{Settings: map[string]string{"mood": "calm"}})
	require.NoError(t, err)
	want := h.Status(ref("s"))
	require.NoError(t, h.Close(t.Context()))

	h = start()
	got := h.Status(ref("s"))
	require.Equal(t, ce.LegacyID, got.Engine.Selected)
	require.Equal(t, ce.SourceDefault, got.Engine.Source)
	require.Empty(t, got.Engine.Answering, "nobody yet")
	got.Engine = want.Engine
	require.Equal(t, want, got)
	require.Equal(t, 77, got.Used)
	check, ok := h.LastPrecheck(ref("s"))
	require.True(t, ok)
	require.Equal(t, got.LastPrecheck, check.String())
	require.Zero(t, h.Status(ref("other")).Used)
	require.Zero(t, h.Status(ce.SessionRef{}).Used)
}

// The selected engine is known by name before it is resolved, and where it cannot be.
func TestStatusOfASelectionThatIsNotResolved(t *testing.T) {
	t.Parallel()
	h := newHost(t, &host.Options{Selection: ce.Selection{Engine: "alpha", Policy: ce.Strict}, Model: hosttest.Always(hosttest.Reply("ok"))})
	for range 2 {
		s := h.Status(ref("s")).Engine
		require.Equal(t, ce.Status{Selected: "alpha", Source: ce.SourceConfigured, Policy: ce.Strict}, s)
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.ErrorIs(t, err, ce.ErrNotRegistered)
	}
	h.Select(ce.Selection{})
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	require.Equal(t, ce.LegacyID, h.Status(ref("s")).Engine.Answering)
	h.Select(ce.Selection{Engine: "alpha", Policy: ce.Strict})
	_, err = h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.Error(t, err)
	require.Equal(t, "alpha", h.Status(ref("s")).Engine.Selected)
}

// A misspelt engine is told of in the host's log, once, when the registry has none.
func TestSubstitutionIsLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := newHost(t, &host.Options{
		Registry: &ce.Registry{}, Selection: ce.Selection{Engine: "alhpa"}, Model: hosttest.Always(hosttest.Reply("ok")),
		Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	for range 2 {
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
	}
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("the selected engine does not answer")))
	require.Contains(t, out.String(), "selected=alhpa answering=legacy op=resolve")
}

// Deadlines that are not named are the usual ones.
func TestPartialDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbe("alpha", ce.HookAfterTurn, &tape{})
		p.Fail("afterTurn", hosttest.Hanging)
		reg := &ce.Registry{}
		register(t, reg, p)
		h := newHost(t, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha", Deadline: ce.Deadlines{Assemble: time.Second}},
			Model: hosttest.Always(hosttest.Reply("ok")),
		})
		start := time.Now()
		_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		require.Less(t, time.Since(start), time.Minute)
		require.NoError(t, h.Close(t.Context()))
	})
}

// What contradicts itself is told before anything happens.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for text, o := range map[string]host.Options{
		"soft threshold":     {SoftThreshold: -1},
		"stored results":     {StoredResult: -1},
		"citations mode":     {Citations: "zz"},
		`named "read"`:       {Tools: []ce.Tool{readTool("a"), readTool("b")}},
		"tool 0 has no name": {Tools: []ce.Tool{hosttest.Tool("", nil)}},
		"tool 1 is nil":      {Tools: []ce.Tool{readTool("a"), nil}},
	} {
		require.ErrorContains(t, o.Validate(), text)
	}
	var tp tape
	reg := &ce.Registry{}
	register(t, reg, newProbe("alpha", everyHook, &tp))
	h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}})
	require.ErrorContains(t, h.EndSession(t.Context(), ce.SessionRef{}, ce.BoundaryDeleted, ce.SessionRef{}), "no id")
	for _, reason := range []ce.Boundary{"", "whatever", ce.BoundaryNew, ce.BoundaryForked} {
		require.ErrorContains(t, h.EndSession(t.Context(), ref("s"), reason, ce.SessionRef{}), "no reason")
	}
	_, err := h.Begin(t.Context(), ref("s"), message.User("x"), &host.TurnOptions{Tools: []ce.Tool{readTool("a"), readTool("b")}})
	require.ErrorContains(t, err, `named "read"`)
	require.Empty(t, tp.Take())
}

// An error of Append says whether the messages are stored.
func TestAppendTellsWhatIsStored(t *testing.T) {
	t.Parallel()
	p := newProbe("alpha", ce.HookAfterTurn, &tape{})
	p.About.OwnsCompaction = true
	p.Fail("afterTurn", hosttest.Failing)
	reg := &ce.Registry{}
	register(t, reg, p)
	st := newFaultStore(transcript.NewMemory())
	h := hostOver(t, st, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha", Policy: ce.Strict}})
	tn, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	st.fail("append", 1)
	var stored *host.StoredError
	err = tn.Append(t.Context(), message.User("lost"))
	require.ErrorIs(t, err, errDisk)
	require.NotErrorAs(t, err, &stored)
	st.fail("append", 0)
	err = tn.Append(t.Context(), message.User("kept"))
	require.ErrorAs(t, err, &stored)
	require.ErrorIs(t, err, hosttest.ErrFault)
	out, _ := tn.End(t.Context(), err)
	require.Equal(t, "[u:x | u:kept]", saidAll(out.Messages))
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

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	return names
}

// slowToLoad waits for the end of the context.
type slowToLoad struct{ hangingState }

func (slowToLoad) Load(ctx context.Context, _ ce.SessionRef, _ string) ([]byte, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
