package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// The input of a turn that failed reaches the engine with the turn that continues it, also
// when the program was started anew in between.
func TestContinueAfterARestart(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]func(dir string) host.StateStore{
		"with state":    host.DirState,
		"without state": func(string) host.StateStore { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var tp tape
			start := func(steps ...hosttest.Step) *host.Host {
				st, err := transcript.OpenDir(dir, nil)
				require.NoError(t, err)
				reg := &ce.Registry{}
				register(t, reg, newProbe("alpha", ce.HookCommitTurn, &tp))
				return hostOver(t, st, &host.Options{
					Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.NewModel(steps...), State: state(dir),
				})
			}
			h := start(hosttest.Reply("hi"), hosttest.Fail(hosttest.ErrFault))
			_, err := h.Run(t.Context(), ref("s"), message.User("zero"), nil)
			require.NoError(t, err)
			_, err = h.Run(t.Context(), ref("s"), message.User("one"), nil)
			require.ErrorIs(t, err, hosttest.ErrFault)
			require.NoError(t, h.Close(t.Context()))
			tp.Take()

			h = start(hosttest.Reply("ok"))
			out, err := h.Run(t.Context(), ref("s"), message.Message{}, nil)
			require.NoError(t, err)
			require.Equal(t, "[u:one | a:ok]", saidAll(out.Messages))
			require.Contains(t, lineWith(&tp, "alpha commitTurn"), "new=[u:one | a:ok]")
		})
	}
}

// What the engine was given in the tool loop of the failed turn it is not given again, also
// after a restart; another engine gets it all.
func TestContinueDeliversTheRest(t *testing.T) {
	t.Parallel()
	for engine, want := range map[string]string{
		"alpha": "new=[a:ok]",
		"beta":  "new=[u:one | a:@c1 | r:c1=data | a:ok]",
	} {
		for _, restart := range []bool{false, true} {
			name := engine
			if restart {
				name += " after a restart"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				var tp tape
				start := func(steps ...hosttest.Step) *host.Host {
					st, err := transcript.OpenDir(dir, nil)
					require.NoError(t, err)
					reg := &ce.Registry{}
					a, b := newProbe("alpha", ce.HookAfterTurn, &tp), newProbe("beta", ce.HookAfterTurn, &tp)
					a.About.OwnsCompaction, b.About.OwnsCompaction = true, true
					register(t, reg, a, b)
					return hostOver(t, st, &host.Options{
						Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.NewModel(steps...),
						State: host.DirState(dir), Tools: []ce.Tool{readTool("data")},
					})
				}
				h := start(hosttest.Calls(call("c1", "read")), hosttest.Fail(hosttest.ErrFault), hosttest.Reply("ok"))
				_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
				require.ErrorIs(t, err, hosttest.ErrFault)
				if restart {
					require.NoError(t, h.Close(t.Context()))
					h = start(hosttest.Reply("ok"))
				}
				h.Select(ce.Selection{Engine: engine})
				tp.Take()
				_, err = h.Run(t.Context(), ref("s"), message.Message{}, nil)
				require.NoError(t, err)
				require.Contains(t, lineWith(&tp, engine+" afterTurn"), want)
			})
		}
	}
}

// The input of a failed turn goes with the session when a compaction moves that.
func TestContinueInTheSuccessor(t *testing.T) {
	t.Parallel()
	st := transcript.NewMemory()
	var tp tape
	p := newProbe("alpha", ce.HookAfterTurn, &tp)
	p.OnCompact = rotatesTo(st, "s2")
	reg := &ce.Registry{}
	register(t, reg, p)
	h := hostOver(t, st, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.NewModel(hosttest.Fail(hosttest.ErrFault), hosttest.Reply("ok")),
	})
	_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
	require.ErrorIs(t, err, hosttest.ErrFault)
	_, err = h.Compact(t.Context(), ref("s"), "")
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s2"), message.Message{}, nil)
	require.NoError(t, err)
	require.Contains(t, lineWith(&tp, "alpha afterTurn"), "new=[u:one | a:ok]")
}

// An input that could not be stored changes nothing about what is left over.
func TestContinueAfterAFailedAppend(t *testing.T) {
	t.Parallel()
	st := newFaultStore(transcript.NewMemory())
	var tp tape
	reg := &ce.Registry{}
	register(t, reg, newProbe("alpha", ce.HookAfterTurn, &tp))
	h := hostOver(t, st, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.NewModel(hosttest.Fail(hosttest.ErrFault), hosttest.Reply("ok")),
	})
	_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
	require.ErrorIs(t, err, hosttest.ErrFault)
	st.fail("append", 1)
	_, err = h.Run(t.Context(), ref("s"), message.User("two"), nil)
	require.ErrorIs(t, err, errDisk)
	st.fail("append", 0)
	_, err = h.Run(t.Context(), ref("s"), message.Message{}, nil)
	require.NoError(t, err)
	require.Contains(t, lineWith(&tp, "alpha afterTurn"), "new=[u:one | a:ok]")
}

// A turn whose delivery failed is delivered by the one that continues it.
func TestContinueAfterAFailedDelivery(t *testing.T) {
	t.Parallel()
	var tp tape
	p := newProbe("alpha", ce.HookAfterTurn, &tp)
	p.Fail("afterTurn", hosttest.Failing)
	reg := &ce.Registry{}
	register(t, reg, p, newProbe("beta", ce.HookAfterTurn, &tp))
	h := newHost(t, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha", Policy: ce.Strict}, Model: hosttest.NewModel(hosttest.Reply("a"), hosttest.Reply("b")),
	})
	_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
	require.ErrorIs(t, err, hosttest.ErrFault)
	h.Select(ce.Selection{Engine: "beta"})
	_, err = h.Run(t.Context(), ref("s"), message.Message{}, nil)
	require.NoError(t, err)
	require.Contains(t, lineWith(&tp, "beta afterTurn"), "new=[u:one | a:a | a:b]")
}

// A session that was deleted in the store and begun again knows nothing of its former life.
func TestRecreatedSessionIsNew(t *testing.T) {
	t.Parallel()
	dir, err := transcript.OpenDir(t.TempDir(), nil)
	require.NoError(t, err)
	for name, st := range map[string]transcript.Store{"memory": transcript.NewMemory(), "directory": dir} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tp tape
			reg := &ce.Registry{}
			register(t, reg, newProbe("alpha", ce.HookBootstrap, &tp))
			h := hostOver(t, st, &host.Options{
				Registry: reg, Selection: ce.Selection{Engine: "alpha"}, State: host.DirState(t.TempDir()),
				Model: hosttest.Always(hosttest.ReplyUsing("ok", &message.Usage{Input: 5, Total: 50000})),
			})
			_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
			require.NoError(t, err)
			require.Equal(t, 50000, h.Status(ref("s")).Used)
			require.NoError(t, st.Delete(t.Context(), "s"))
			tp.Take()
			tn, err := h.Begin(t.Context(), ref("s"), message.User("two"), nil)
			require.NoError(t, err)
			require.Contains(t, tp.Take(), "alpha bootstrap s new rows=0")
			require.Zero(t, h.Status(ref("s")).Used)
			_, err = tn.End(t.Context(), nil)
			require.NoError(t, err)
		})
	}
}

// A session that the host's user made in the store is new until it has something.
func TestEmptyStoredSessionIsNew(t *testing.T) {
	t.Parallel()
	for _, boundary := range []string{"", "new"} {
		var tp tape
		reg := &ce.Registry{}
		register(t, reg, newProbe("alpha", ce.HookBootstrap, &tp))
		st := transcript.NewMemory()
		log, err := st.Create(t.Context(), transcript.Header{ID: "s", Boundary: boundary})
		require.NoError(t, err)
		require.NoError(t, log.Close())
		h := hostOver(t, st, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.Always(hosttest.Reply("ok"))})
		_, err = h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		require.Contains(t, tp.Take(), "alpha bootstrap s new rows=0")
		h.Select(ce.Selection{Engine: "alpha"})
		_, err = h.Run(t.Context(), ref("s"), message.User("y"), nil)
		require.NoError(t, err)
		require.Contains(t, tp.Take(), "alpha bootstrap s resumed rows=2")
	}
}

// What no model could see is no input, and no reason to panic.
func TestInvisibleMessages(t *testing.T) {
	t.Parallel()
	h := newHost(t, &host.Options{Model: hosttest.NewModel(hosttest.Fail(hosttest.ErrFault))})
	nothing := message.Message{Role: message.RoleBranchSummary}
	_, err := h.Run(t.Context(), ref("s"), nothing, nil)
	require.ErrorContains(t, err, "nothing that a model could see")
	tn, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	require.NoError(t, tn.Append(t.Context(), nothing))
	out, err := tn.End(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "[u:x]", saidAll(out.Messages))
	_, err = h.Begin(t.Context(), ref("empty"), message.Message{}, nil)
	require.ErrorIs(t, err, host.ErrNothingToContinue)
}

// A request is never empty: where the engine wants nothing sent, and the turn has nothing of
// its own, the last message goes.
func TestContinueWithAnEmptyAssembly(t *testing.T) {
	t.Parallel()
	h, m, _ := setUp(t, 0, func(p *probe, _ *host.Options) {
		p.OnAssemble = func(ce.AssembleParams) ce.AssembleResult {
			return ce.AssembleResult{Messages: []message.Message{}}
		}
	}, hosttest.Reply("one"), hosttest.Reply("two"))
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s"), message.Message{}, nil)
	require.NoError(t, err)
	require.Contains(t, saidAll(m.Requests()[1].Messages), "a:one")
}

// What an owner was given in the tool loop it is not given again, also when the program ends
// without a word in the middle of the turn, be it in a session that the turn moved to, and that
// has the end of the turn only.
func TestContinueAfterACrash(t *testing.T) {
	t.Parallel()
	for name, session := range map[string]string{"same session": "s", "successor": "s2", "successor with the end": "s3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var tp tape
			start := func(steps ...hosttest.Step) *host.Host {
				st, err := transcript.OpenDir(dir, nil)
				require.NoError(t, err)
				p := newProbe("alpha", ce.HookAfterTurn, &tp)
				p.About.OwnsCompaction = true
				p.OnCompact = func(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
					if session == "s3" {
						summary := &hosttest.Compactor{Store: st, Tape: &tape{}, Keep: 2}
						if _, err := summary.CompactSession(ctx, q); err != nil {
							return ce.CompactResult{}, err
						}
					}
					return rotatesTo(st, session)(ctx, q)
				}
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
			if session != "s" {
				again, err := tn.Recover(t.Context(), errTooLong)
				require.NoError(t, err)
				require.True(t, again)
			}

			out, err := start(hosttest.Reply("done")).Run(t.Context(), ref(session), message.Message{}, nil)
			require.NoError(t, err)
			all := "[u:go | a:@c1 | r:c1=data | a:done]"
			if session == "s3" {
				all = "[a:@c1 | r:c1=data | a:done]"
			}
			require.Equal(t, all, saidAll(out.Messages))
			require.Contains(t, lineWith(&tp, "alpha afterTurn"), "new=[a:done]")
		})
	}
}
