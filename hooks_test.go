package contextengine_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestHooksOf(t *testing.T) {
	require.Zero(t, ce.HooksOf(&typedNil{}))
	require.Equal(t, ce.HookAfterTurn|ce.HookClose, ce.HooksOf(&plainEngine{}))
	require.Equal(t, allHooks, ce.HooksOf(newFake(allHooks)))
	require.Equal(t, ce.HookTools, ce.HooksOf(newFake(ce.HookTools)), "what is reported counts")
	require.Equal(t, ce.HookAfterTurn, ce.HooksOf(claims{}), "and nothing that is not there")
	require.True(t, allHooks.Has(ce.HookTools|ce.HookClose))
	require.False(t, ce.HookTools.Has(ce.HookTools|ce.HookClose))
}

// claims reports hooks that it does not have.
type claims struct{ *typedNil }

func (claims) Hooks() ce.HookSet                                   { return allHooks }
func (claims) AfterTurn(context.Context, ce.AfterTurnParams) error { return nil }

func TestSpec01_15_08_ExactlyOneWayToEndATurn(t *testing.T) {
	turn := ce.AfterTurnParams{
		Messages:              []message.Message{message.User("old"), message.User("new"), message.Assistant(message.Text("answer"))},
		PrePromptMessageCount: 1,
	}
	for _, tt := range []struct {
		name  string
		hooks ce.HookSet
		count int
		want  []string
	}{
		{"commit", allHooks, 1, []string{"commitTurn"}},
		{"after turn", allHooks &^ ce.HookCommitTurn, 1, []string{"afterTurn"}},
		{"after turn without news", ce.HookAfterTurn, 3, []string{"afterTurn"}},
		{"batch", ce.HookIngestBatch, 1, []string{"ingestBatch"}},
		{"batch without news", ce.HookIngestBatch, 3, nil},
		{"one by one", 0, 1, []string{"ingest", "ingest"}},
		{"one by one without news", 0, 3, nil},
		{"count beyond the end", 0, 9, nil},
		{"negative count", 0, -1, []string{"ingest", "ingest", "ingest"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(tt.hooks)
			p := turn
			p.PrePromptMessageCount = tt.count
			res, err := ce.CommitTurn(t.Context(), f, ce.CommitTurnParams{AfterTurnParams: p})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, f.seen()))
			require.Equal(t, tt.name == "commit", res.Status == ce.CommitCommitted)

			// The same through a Handle, hook by hook.
			g := newFake(tt.hooks)
			h := resolve(t, newRegistry(), g, ce.Selection{})
			_, err = ce.CommitTurn(t.Context(), h, ce.CommitTurnParams{AfterTurnParams: p})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, g.seen()))
		})
	}
}

func TestIngestBatchLadderGoesOnAndJoins(t *testing.T) {
	f, n := newFake(0), 0
	f.on = func(context.Context, string, any) error {
		n++
		if n == 2 {
			return errBoom
		}
		return nil
	}
	res, err := ce.IngestBatch(t.Context(), f, ce.IngestBatchParams{Messages: make([]message.Message, 4)})
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 3, res.IngestedCount)
	require.Len(t, f.seen(), 4)

	ctx, cancel := context.WithCancel(t.Context())
	f.on = func(context.Context, string, any) error { cancel(); return nil }
	res, err = ce.IngestBatch(ctx, f, ce.IngestBatchParams{Messages: make([]message.Message, 4)})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, res.IngestedCount)
}

func TestLadderOnAHandleRecordsTheStepThatFailed(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	n := 0
	f.on = func(context.Context, string, any) error {
		n++
		if n == 2 {
			return errBoom
		}
		return nil
	}
	h := resolve(t, r, f, ce.Selection{})
	_, err := ce.CommitTurn(t.Context(), h, ce.CommitTurnParams{AfterTurnParams: ce.AfterTurnParams{Messages: make([]message.Message, 4)}})
	require.NoError(t, err, "legacy took the rest")
	require.Equal(t, "ingest", r.Quarantines()[0].Operation)
	require.Equal(t, []string{"ingest", "ingest"}, f.seen())
}

func TestTotalFunctionsOnABareEngine(t *testing.T) {
	e := &typedNil{}
	b, err := ce.Bootstrap(t.Context(), e, ce.BootstrapParams{})
	require.NoError(t, err)
	require.Zero(t, b)
	m, err := ce.Maintain(t.Context(), e, ce.MaintainParams{})
	require.NoError(t, err)
	require.Zero(t, m)
	prep, err := ce.PrepareSubagentSpawn(t.Context(), e, ce.SubagentSpawnParams{})
	require.NoError(t, err)
	require.Nil(t, prep)
	require.NoError(t, ce.OnSubagentEnded(t.Context(), e, ce.SubagentEndedParams{}))
	require.NoError(t, ce.OnSessionEnded(t.Context(), e, ce.SessionEndedParams{}))
	ts, err := ce.Tools(t.Context(), e, ce.ToolsParams{})
	require.NoError(t, err)
	require.Nil(t, ts)
	require.NoError(t, ce.Close(e))

	f := newFake(allHooks)
	f.on = func(context.Context, string, any) error { return errBoom }
	_, err = ce.Bootstrap(t.Context(), f, ce.BootstrapParams{})
	require.ErrorIs(t, err, errBoom)
	require.ErrorIs(t, ce.Close(f), errBoom)
}

// reader is a transcript that fails on request.
type reader struct {
	rows   []transcript.Entry
	err    error
	panics bool
}

func (reader) Header() transcript.Header      { return transcript.Header{ID: "s"} }
func (reader) Problems() []transcript.Problem { return nil }

func (r reader) Branch(context.Context) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for _, e := range r.rows {
			if !yield(e, nil) {
				return
			}
		}
		if r.panics {
			panic(errBoom)
		}
		if r.err != nil {
			yield(transcript.Entry{}, r.err)
		}
	}
}

func (r reader) Entries(ctx context.Context) iter.Seq2[transcript.Entry, error] { return r.Branch(ctx) }

func (r reader) View(context.Context) (transcript.View, error) {
	if r.panics {
		panic(errBoom)
	}
	return transcript.View{}, r.err
}

func TestLendReader(t *testing.T) {
	require.Nil(t, ce.LendReader(nil))
	rows := []transcript.Entry{{ID: "a"}, {ID: "b"}}
	for _, src := range []reader{{rows: rows, err: errBoom}, {rows: rows, panics: true}} {
		lent := ce.LendReader(ce.LendReader(src))
		require.Equal(t, "s", lent.Header().ID)
		_, err := lent.View(t.Context())
		var he *ce.HostError
		require.ErrorAs(t, err, &he)
		require.ErrorIs(t, err, errBoom)
		for _, seq := range []iter.Seq2[transcript.Entry, error]{lent.Branch(t.Context()), lent.Entries(t.Context())} {
			var ids []string
			var last error
			for e, err := range seq {
				if last = err; err == nil {
					ids = append(ids, e.ID)
				}
			}
			require.Equal(t, []string{"a", "b"}, ids)
			require.ErrorAs(t, last, &he)
			for range seq {
				break
			}
		}
	}
	require.PanicsWithError(t, "boom", func() {
		for range ce.LendReader(reader{rows: rows}).Branch(t.Context()) {
			panic(errBoom)
		}
	}, "a panic of the loop body is the engine's")
	_, isLog := ce.LendReader(struct{ transcript.Log }{}).(transcript.Log)
	require.False(t, isLog, "what is lent cannot be written")
}

type section []string

func (s section) Lines(tools []string, mode ce.CitationsMode) ([]string, error) {
	if mode == ce.CitationsOff {
		return nil, errBoom
	}
	return append(s, tools...), nil
}

func TestSpec01_15_16_MemoryHelper(t *testing.T) {
	text, err := ce.BuildMemorySystemPromptAddition(nil, nil, "")
	require.NoError(t, err)
	require.Empty(t, text)
	rt := ce.LendRuntime(ce.RuntimeContext{Memory: section{"  # Memory \t", "\r\n", " keep \r", "in:  "}})
	text, err = ce.BuildMemorySystemPromptAddition(rt, []string{"search", " "}, ce.CitationsAuto)
	require.NoError(t, err)
	require.Equal(t, "# Memory\n\n\n keep\nin:\nsearch", text)
	lines, err := ce.BuildActiveMemoryPromptSection(rt, nil, "")
	require.NoError(t, err)
	require.Len(t, lines, 4)
	_, err = ce.BuildMemorySystemPromptAddition(&ce.RuntimeContext{Memory: section{}}, nil, ce.CitationsOff)
	var he *ce.HostError
	require.ErrorAs(t, err, &he)
	text, err = ce.BuildMemorySystemPromptAddition(&ce.RuntimeContext{Memory: section{" ", "\t"}}, nil, "")
	require.NoError(t, err)
	require.Empty(t, text)
}

// compactor records what it is given.
type compactor struct {
	got ce.CompactParams
	res ce.CompactResult
	err error
}

func (c *compactor) CompactSession(_ context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	c.got = p
	return c.res, c.err
}

func TestSpec01_15_15_DelegateCompaction(t *testing.T) {
	c := &compactor{res: ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{Summary: "s"}}}
	p := ce.CompactParams{
		SessionRef: session("s1"), TokenBudget: 9, Force: true, Goal: ce.GoalThreshold, CustomInstructions: "focus",
		Settings: &ce.RuntimeSettings{}, Runtime: &ce.RuntimeContext{Compactor: c, CurrentTokens: 77, AgentID: "a1"},
	}
	res, err := ce.DelegateCompaction(t.Context(), p)
	require.NoError(t, err)
	require.Nil(t, res.Result.SessionTarget, "the session stayed")
	require.Equal(t, 77, c.got.CurrentTokens)
	require.Empty(t, c.got.Goal)
	require.Nil(t, c.got.Settings)
	require.Equal(t, "focus", c.got.CustomInstructions)

	p.CurrentTokens = 5
	p.Target = ce.SessionTarget{AgentID: "a2", StorePath: "store", ThreadID: "7"}
	c.res.Result.SessionID = "s2"
	res, err = ce.DelegateCompaction(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, 5, c.got.CurrentTokens)
	require.Equal(t, &ce.SessionTarget{AgentID: "a2", SessionID: "s2", SessionKey: "key:s1", StorePath: "store", ThreadID: "7"}, res.Result.SessionTarget)
	require.Nil(t, c.res.Result.SessionTarget, "the compactor's result is its own")

	p.Target = ce.SessionTarget{SessionID: "another"}
	c.got = ce.CompactParams{}
	_, err = ce.DelegateCompaction(t.Context(), p)
	require.ErrorContains(t, err, `"another"`)
	require.Zero(t, c.got, "refused before anything starts")
	p.Target = ce.SessionTarget{SessionKey: "another"}
	_, err = ce.DelegateCompaction(t.Context(), p)
	require.ErrorContains(t, err, "session key")

	p.Target, c.err = ce.SessionTarget{}, errors.New("disk")
	_, err = ce.DelegateCompaction(t.Context(), p)
	var he *ce.HostError
	require.ErrorAs(t, err, &he)

	res, err = ce.DelegateCompaction(t.Context(), ce.CompactParams{})
	require.NoError(t, err)
	require.Equal(t, ce.ReasonNoCompactor, res.Reason)
	require.False(t, res.OK)
}

func TestEnumsKnowTheirValues(t *testing.T) {
	type valid interface{ Valid() bool }
	for _, v := range []valid{
		ce.MaintenanceMode(""), ce.MaintenanceBackground, ce.MaintainTurn, ce.PromptAuthority(""), ce.AuthorityPreassembly,
		ce.ProjectionThreadBootstrap, ce.CitationsOn, ce.TriggerManual, ce.GoalThreshold, ce.ReasonSuperseded,
		ce.DeliverySnapshot, ce.BoundaryArchived, ce.CommitDuplicate, ce.OpManualCompact, ce.CapCompact, ce.ParamPrompt,
		ce.SubagentFork, ce.SubagentSwept, ce.Strict, ce.ModeDegraded,
	} {
		require.True(t, v.Valid(), "%T %v", v, v)
	}
	for _, v := range []valid{
		ce.MaintenanceMode("x"), ce.MaintainReason(""), ce.PromptAuthority("x"), ce.ProjectionMode("x"), ce.CitationsMode("x"),
		ce.CompactionTrigger("x"), ce.CompactionGoal("x"), ce.CompactionReason("x"), ce.Delivery("x"), ce.Boundary("x"),
		ce.CommitStatus("x"), ce.Operation(""), ce.Capability("x"), ce.HostParam("x"), ce.SubagentMode("x"),
		ce.SubagentEndReason(""), ce.FailurePolicy("x"), ce.RuntimeMode("x"),
	} {
		require.False(t, v.Valid(), "%T %v", v, v)
	}
}

func TestErrorTexts(t *testing.T) {
	require.EqualError(t, &ce.HostError{Op: "complete", Err: errBoom}, "host failed to complete: boom")
	require.EqualError(t, &ce.DeadlineError{Engine: "x", Op: "assemble", After: 1e9}, `engine "x": assemble did not return within 1s`)
	require.EqualError(t, &ce.UnknownParamError{Params: []ce.HostParam{ce.ParamPrompt}, Err: errBoom}, `rejected host fields: "prompt": boom`)
	require.ErrorIs(t, &ce.PanicError{Value: errBoom}, errBoom)
	require.NoError(t, (&ce.PanicError{Value: "x"}).Unwrap())
	require.ErrorIs(t, &ce.DeadlineError{}, context.DeadlineExceeded)
}

func TestHookSetNamesItsHooks(t *testing.T) {
	t.Parallel()
	require.Empty(t, ce.HookSet(0).String())
	require.Equal(t, "bootstrap onSessionEnded close", (ce.HookClose | ce.HookSessionEnded | ce.HookBootstrap).String())
	require.Len(t, strings.Fields(allHooks.String()), 10)
	require.Equal(t, "close", ce.HooksOf(nearly{ce.Legacy()}).String(), "maintain has another signature")
}

// nearly is an engine that has one hook and means to have two.
type nearly struct{ ce.ContextEngine }

func (nearly) Maintain(context.Context, ce.MaintainParams) error { return nil }

func (nearly) Close() error { return nil }
