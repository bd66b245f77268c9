package host_test

import (
	"context"
	"encoding/json"
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

func TestNewSessionGetsAnID(t *testing.T) {
	t.Parallel()
	h, _, _ := setUp(t, 0, nil, hosttest.Reply("a"), hosttest.Reply("b"))
	out, err := h.Run(t.Context(), ce.SessionRef{}, message.User("x"), nil)
	require.NoError(t, err)
	require.NotEmpty(t, out.Session.SessionID)
	out, err = h.Run(t.Context(), out.Session, message.User("y"), nil)
	require.NoError(t, err)
	require.Equal(t, "b", out.Reply.Text())
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

// C4: the numbers of the public report. The engine gets the budget of the precheck,
// not the window.
func TestC4_BudgetOfThePrecheck(t *testing.T) {
	t.Parallel()
	var got ce.CompactParams
	h, m, _ := setUp(t, 0, func(p *probe, o *host.Options) {
		o.Estimator = byteCount{}
		o.Models = func(context.Context, string) (host.ModelInfo, error) {
			return host.ModelInfo{Budget: tokens.Budget{Window: 272_000, Reserve: 50_000}}, nil
		}
		small := 1_000
		p.OnCompact = func(_ context.Context, q ce.CompactParams) (ce.CompactResult, error) {
			got = q
			if q.CurrentTokens <= q.TokenBudget {
				return ce.CompactResult{OK: true, Reason: "already under target"}, nil
			}
			p.OnAssemble = func(ce.AssembleParams) ce.AssembleResult {
				return ce.AssembleResult{Messages: []message.Message{}}
			}
			return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{TokensAfter: &small}}, nil
		}
	}, hosttest.Reply("a"), hosttest.Reply("b"))
	_, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("x", 200_000)), nil)
	require.NoError(t, err)
	_, err = h.Run(t.Context(), ref("s"), message.User(strings.Repeat("y", 30_656)), nil)
	require.NoError(t, err)
	require.Equal(t, 222_000, got.TokenBudget)
	require.Equal(t, 230_657, got.CurrentTokens)
	require.True(t, got.Force)
	require.Equal(t, ce.GoalBudget, got.Goal)
	require.LessOrEqual(t, m.Requests()[1].Estimated, 222_000)
	check, ok := h.LastPrecheck(ref("s"))
	require.True(t, ok)
	require.Equal(t, "fits", check.Route)
	require.Equal(t, 222_000, check.PromptBudget)
	_, ok = h.LastPrecheck(ref("unknown"))
	require.False(t, ok)
}

// What is sent for an unchanged history begins with the same bytes turn after turn.
func TestRequestsKeepTheirPrefix(t *testing.T) {
	t.Parallel()
	h, m, _ := setUp(t, 0, func(_ *probe, o *host.Options) {
		o.Tools = []ce.Tool{readTool("data")}
	}, hosttest.Calls(call("c1", "read")), hosttest.Reply("a"), hosttest.Reply("b"))
	for _, text := range []string{"one", "two"} {
		_, err := h.Run(t.Context(), ref("s"), message.User(text), nil)
		require.NoError(t, err)
	}
	var before string
	for _, r := range m.Requests() {
		raw, err := json.Marshal(r.Messages)
		require.NoError(t, err)
		now := strings.TrimSuffix(string(raw), "]")
		require.True(t, strings.HasPrefix(now, before), "%s\n%s", before, now)
		before = now
	}
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
