package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// Engines are lent the host's model, and no other one.
func TestCompleterIsTheSessionsModel(t *testing.T) {
	t.Parallel()
	var got []error
	warm := 0.5
	h, m, _ := setUp(t, ce.HookMaintain, func(p *probe, o *host.Options) {
		o.Models = func(context.Context, string) (host.ModelInfo, error) { return host.ModelInfo{ID: "big"}, nil }
		p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
			for _, model := range []string{"", "big", "other"} {
				c, err := q.Runtime.Completer.Complete(ctx, ce.CompletionRequest{
					System: "be short", Model: model, MaxTokens: 10, Temperature: &warm, Purpose: "test",
					Messages: []message.Message{message.User("hi"), message.CompactionSummary("old", 0, time.Time{})},
				})
				got = append(got, err)
				if err == nil {
					require.Equal(t, "yes", c.Text)
				}
			}
			p.OnMaintain = nil
			return transcript.RewriteResult{}, nil
		}
	}, hosttest.Reply("yes"), hosttest.Reply("yes"), hosttest.Reply("hello"))
	_, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	require.NoError(t, got[0])
	require.NoError(t, got[1])
	var refused *host.ModelOverrideError
	require.ErrorAs(t, got[2], &refused)
	require.Equal(t, "other", refused.Model)
	r := m.Requests()[0]
	require.Equal(t, "be short", r.System.String())
	require.Equal(t, "big", r.Model)
	require.Equal(t, 10, r.MaxOutput)
	require.Equal(t, &warm, r.Temperature)
	require.Equal(t, "test", r.Purpose)
	require.Equal(t, message.RoleUser, r.Messages[1].Role)
}

// A host without a model does not claim that it can complete for engines.
func TestNoModelNoCompleter(t *testing.T) {
	t.Parallel()
	needs := func(p *probe, o *host.Options) {
		p.About.HostRequirements = map[ce.Operation]ce.HostRequirements{
			ce.OpAgentRun: {Required: []ce.Capability{ce.CapRuntimeLLMComplete}},
		}
	}
	h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
		needs(p, o)
		o.Model = nil
	})
	_, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
	var missing *ce.HostRequirementError
	require.ErrorAs(t, err, &missing)
	h, _, _ = setUp(t, 0, needs, hosttest.Reply("a"))
	_, err = h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
}

func TestStoredResult(t *testing.T) {
	t.Parallel()
	h, _, _ := setUp(t, 0, func(_ *probe, o *host.Options) {
		o.StoredResult = 3_000
		o.Tools = []ce.Tool{readTool(strings.Repeat("long line\n", 10_000))}
	}, hosttest.Calls(call("c1", "read")), hosttest.Reply("done"))
	out, err := h.Run(t.Context(), ref("s"), message.User("go"), nil)
	require.NoError(t, err)
	require.LessOrEqual(t, len(out.Messages[2].Text()), 3_100)
}

// An answer that broke off is no answer to an engine.
func TestCompleterTellsOfBrokenOffAnswers(t *testing.T) {
	t.Parallel()
	var got error
	h, _, _ := setUp(t, ce.HookMaintain, func(p *probe, _ *host.Options) {
		p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
			if q.Reason == ce.MaintainTurn {
				_, got = q.Runtime.Completer.Complete(ctx, ce.CompletionRequest{Messages: []message.Message{message.User("sum up")}})
			}
			return transcript.RewriteResult{}, nil
		}
	}, hosttest.Reply("ok"), func(context.Context, host.Request) (message.Message, error) {
		m := message.Assistant(message.Text("half"))
		m.StopReason, m.ErrorMessage = message.StopError, "500"
		return m, nil
	})
	_, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
	require.NoError(t, err)
	require.ErrorContains(t, got, "broke off (error): 500")
}

// An answer that broke off fails the turn, and its usage says nothing of the context.
func TestBrokenOffAnswers(t *testing.T) {
	t.Parallel()
	h := newHost(t, &host.Options{Model: hosttest.NewModel(
		hosttest.ReplyUsing("whole", &message.Usage{Input: 10, Total: 20}),
		func(context.Context, host.Request) (message.Message, error) {
			m := message.Assistant(message.Text("half"))
			m.StopReason, m.ErrorMessage, m.Usage = message.StopError, "overloaded", &message.Usage{Input: 70, Total: 77}
			return m, nil
		},
	)})
	_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
	require.NoError(t, err)
	out, err := h.Run(t.Context(), ref("s"), message.User("two"), nil)
	require.ErrorContains(t, err, "overloaded")
	require.Equal(t, "half", out.Reply.Text())
	require.Equal(t, 20, h.Status(ref("s")).Used)
}
