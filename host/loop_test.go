package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
)

// An owner of compaction is given what is new during the tool loop, once, and
// assembles anew before each request.
func TestSpec01_15_08_ToolLoopDeliversOnce(t *testing.T) {
	t.Parallel()
	h, m, tp := setUp(t, ce.HookAfterTurn, func(p *probe, o *host.Options) {
		p.About.OwnsCompaction = true
		o.Tools = []ce.Tool{readTool("data")}
	}, hosttest.Calls(call("c1", "read")), hosttest.Calls(call("c2", "read")), hosttest.Reply("done"))
	_, err := h.Run(t.Context(), ref("s"), message.User("go"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		`alpha assemble [] prompt="go" budget=0 tools=read`,
		"alpha afterTurn [u:go | a:@c1 | r:c1=data] new=[u:go | a:@c1 | r:c1=data] budget=0",
		"alpha assemble [u:go | a:@c1 | r:c1=data] prompt=none budget=0 tools=read",
		"alpha afterTurn [u:go | a:@c1 | r:c1=data | a:@c2 | r:c2=data] new=[a:@c2 | r:c2=data] budget=0",
		"alpha assemble [u:go | a:@c1 | r:c1=data | a:@c2 | r:c2=data] prompt=none budget=0 tools=read",
		"alpha afterTurn [u:go | a:@c1 | r:c1=data | a:@c2 | r:c2=data | a:done] new=[a:done] budget=0",
	}, tp.Take())
	rs := m.Requests()
	require.Equal(t, "[u:go | a:@c1 | r:c1=data | a:@c2 | r:c2=data]", saidAll(rs[2].Messages))
}

func TestToolLoopOfANonOwnerAssemblesOnce(t *testing.T) {
	t.Parallel()
	h, m, tp := setUp(t, 0, func(_ *probe, o *host.Options) {
		o.Tools = []ce.Tool{readTool("data")}
	}, hosttest.Calls(call("c1", "read")), hosttest.Reply("done"))
	_, err := h.Run(t.Context(), ref("s"), message.User("go"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		`alpha assemble [] prompt="go" budget=0 tools=read`,
		"alpha ingest u:go", "alpha ingest a:@c1", "alpha ingest r:c1=data", "alpha ingest a:done",
	}, tp.Take())
	require.Equal(t, "[u:go | a:@c1 | r:c1=data]", saidAll(m.Requests()[1].Messages))
}

// An engine that breaks in the tool loop loses its view and its tools.
func TestToolLoopAfterQuarantine(t *testing.T) {
	t.Parallel()
	h, m, tp := setUp(t, ce.HookAfterTurn|ce.HookTools, func(p *probe, o *host.Options) {
		p.About.OwnsCompaction = true
		p.Offers = []ce.Tool{hosttest.Tool("recall", nil)}
		p.OnAssemble = func(ce.AssembleParams) ce.AssembleResult {
			return ce.AssembleResult{Messages: []message.Message{}, SystemPromptAddition: "from alpha"}
		}
		p.Fail("afterTurn", hosttest.Panicking)
		o.Tools = []ce.Tool{readTool("data")}
	}, hosttest.Calls(call("c1", "read")), hosttest.Reply("done"))
	_, err := h.Run(t.Context(), ref("s"), message.User("go"), nil)
	require.NoError(t, err)
	rs := m.Requests()
	require.Equal(t, "[u:go]", saidAll(rs[0].Messages))
	require.Equal(t, "from alpha", rs[0].System.String())
	require.Len(t, rs[0].Tools, 2)
	require.Equal(t, "[u:go | a:@c1 | r:c1=data]", saidAll(rs[1].Messages))
	require.Empty(t, rs[1].System.String())
	require.Len(t, rs[1].Tools, 1)
	require.Len(t, tp.Take(), 3)
}

func TestToolFailuresAreResults(t *testing.T) {
	t.Parallel()
	h, m, _ := setUp(t, 0, func(_ *probe, o *host.Options) {
		o.Tools = []ce.Tool{
			hosttest.Tool("bad", func(context.Context, json.RawMessage) ([]message.Block, error) { return nil, hosttest.ErrFault }),
			hosttest.Tool("worse", func(context.Context, json.RawMessage) ([]message.Block, error) { panic("ouch") }),
		}
	}, hosttest.Calls(call("c1", "bad"), call("c2", "worse"), call("c3", "absent")), hosttest.Reply("done"))
	_, err := h.Run(t.Context(), ref("s"), message.User("go"), nil)
	require.NoError(t, err)
	require.Equal(t, `[u:go | a:@c1@c2@c3 | r!:c1=boom | r!:c2=panic: ouch | r!:c3=there is no tool "absent"]`,
		saidAll(m.Requests()[1].Messages))
}

// A failed turn delivers nothing; the input stays, and what comes next gets it.
func TestFailedTurnIsContinued(t *testing.T) {
	t.Parallel()
	down := errors.New("provider down")
	h, m, tp := setUp(t, ce.HookAfterTurn|ce.HookMaintain, nil, hosttest.Fail(down), hosttest.Reply("here"))
	out, err := h.Run(t.Context(), ref("s"), message.User("hello"), nil)
	require.ErrorIs(t, err, down)
	require.Equal(t, "[u:hello]", saidAll(out.Messages))
	_, err = h.Run(t.Context(), ref("s"), message.Message{}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"alpha maintain s bootstrap",
		`alpha assemble [] prompt="hello" budget=0 tools=unknown`,
		"alpha assemble [u:hello] prompt=none budget=0 tools=unknown",
		"alpha afterTurn [u:hello | a:here] new=[u:hello | a:here] budget=0",
		"alpha maintain s turn",
	}, tp.Take())
	require.Equal(t, "[u:hello]", saidAll(m.Requests()[1].Messages))
}

func TestDeliverFailedTurns(t *testing.T) {
	t.Parallel()
	h, _, tp := setUp(t, ce.HookAfterTurn|ce.HookMaintain, func(_ *probe, o *host.Options) {
		o.DeliverFailedTurns = true
	}, hosttest.Fail(hosttest.ErrFault))
	_, err := h.Run(t.Context(), ref("s"), message.User("hello"), nil)
	require.ErrorIs(t, err, hosttest.ErrFault)
	require.Equal(t, []string{
		"alpha maintain s bootstrap",
		`alpha assemble [] prompt="hello" budget=0 tools=unknown`,
		"alpha afterTurn [u:hello] new=[u:hello] budget=0",
	}, tp.Take())
}

// An abort during the tools closes the calls that are left.
func TestAbortClosesCalls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("user pressed stop")
	h, _, _ := setUp(t, 0, func(_ *probe, o *host.Options) {
		o.Tools = []ce.Tool{hosttest.Tool("read", func(context.Context, json.RawMessage) ([]message.Block, error) {
			cancel(stop)
			return []message.Block{message.Text("data")}, nil
		})}
	}, hosttest.Calls(call("c1", "read"), call("c2", "read")))
	out, err := h.Run(ctx, ref("s"), message.User("go"), nil)
	require.ErrorIs(t, err, stop)
	require.Equal(t, "[u:go | a:@c1@c2 | r:c1=data | r!:c2=the run was aborted before this call]", saidAll(out.Messages))
}

// The host's own context goes in front of the input and nowhere else; what hosts
// note for the model is hidden from engines.
func TestContextIsForTheModelOnly(t *testing.T) {
	t.Parallel()
	h, m, tp := setUp(t, ce.HookAfterTurn, nil, hosttest.Reply("a"), hosttest.Reply("b"))
	opts := &host.TurnOptions{Context: []message.Message{message.User("it is noon")}}
	out, err := h.Run(t.Context(), ref("s"), message.User("one"), opts)
	require.NoError(t, err)
	require.Equal(t, "[u:one | a:a]", saidAll(out.Messages))
	require.Equal(t, "[u:it is noon | u:one]", saidAll(m.Requests()[0].Messages))

	tn, err := h.Begin(t.Context(), ref("s"), message.User("two"), opts)
	require.NoError(t, err)
	require.NoError(t, tn.Append(t.Context(), message.RuntimeContext(message.Text("tool host restarted"))))
	require.NoError(t, tn.Append(t.Context(), message.Assistant(message.Text("b"))))
	require.Equal(t, "[u:one | a:a | u:it is noon | u:two | u:tool host restarted | a:b]", saidAll(tn.Request().Messages))
	_, err = tn.End(t.Context(), nil)
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s"), message.User("three"), nil)
	require.NoError(t, err)
	rs := m.Requests()
	require.Equal(t, "[u:one | a:a | u:two | u:tool host restarted | a:b | u:three]", saidAll(rs[1].Messages))
	for _, line := range tp.Take() {
		require.NotContains(t, line, "noon")
		require.NotContains(t, line, "restarted")
	}
}

// The addition is part of what a request is estimated at; after the end of its turn the last
// request comes again.
func TestRequestOfAnEndedTurn(t *testing.T) {
	t.Parallel()
	h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
		o.Estimator = byteCount{}
		p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
			return ce.AssembleResult{Messages: q.Messages, SystemPromptAddition: strings.Repeat("a", 500)}
		}
	})
	tn, err := h.Begin(t.Context(), ref("s"), message.User("go"), nil)
	require.NoError(t, err)
	sent := tn.Request()
	require.Equal(t, 502, sent.Estimated)
	require.NoError(t, tn.Append(t.Context(), message.Assistant(message.Text("done"))))
	_, err = tn.End(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, sent, tn.Request())
}

// Results that are appended together count one by one for the guard against loops.
func TestLoopOfParallelCalls(t *testing.T) {
	t.Parallel()
	h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
		p.About.OwnsCompaction = true
		n := 1
		p.OnCompact = func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
			return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{TokensBefore: 9000, TokensAfter: &n}}, nil
		}
	})
	tn, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	again, err := tn.Recover(t.Context(), errTooLong)
	require.NoError(t, err)
	require.True(t, again)
	require.NoError(t, tn.Append(t.Context(), message.Assistant(call("c1", "read"), call("c2", "read"), call("c3", "read"))))
	var results []message.Message
	for _, id := range []string{"c1", "c2", "c3"} {
		results = append(results, message.ToolResult(id, "read", message.Text("the same")))
	}
	err = tn.Append(t.Context(), results...)
	var loop *host.LoopError
	var stored *host.StoredError
	require.ErrorAs(t, err, &loop)
	require.ErrorAs(t, err, &stored)
	_, err = tn.End(t.Context(), err)
	require.NoError(t, err)
}
