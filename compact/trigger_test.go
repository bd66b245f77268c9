package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestC4_BudgetOfThePrecheck(t *testing.T) {
	t.Parallel()
	budget := tokens.Budget{Window: 272_000, Reserve: 50_000}
	require.Equal(t, 222_000, budget.Prompt())
	store, _ := newLog(t, talk(700)...)
	c := compactor(t, store, &compact.Options{Budget: budget, Summarizer: brief()})
	res, err := c.CompactSession(t.Context(), ce.CompactParams{
		SessionRef: ref(), TokenBudget: budget.Prompt(), CurrentTokens: 230_657,
		Force: true, Trigger: ce.TriggerBudget, Goal: ce.GoalBudget,
	})
	require.NoError(t, err)
	require.True(t, res.OK && res.Compacted, res.Detail)
	require.Equal(t, ce.ReasonCompacted, res.Reason)
	require.Equal(t, 230_657, res.Result.TokensBefore)
	require.LessOrEqual(t, *res.Result.TokensAfter, 222_000)
}

func TestC4_TargetNotReached(t *testing.T) {
	t.Parallel()
	ms := append(talk(3), message.User(strings.Repeat("one very long last message ", 2_000)))
	store, _ := newLog(t, ms...)
	c := compactor(t, store, &compact.Options{Summarizer: brief()})
	res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), TokenBudget: 5_000, Force: true})
	require.NoError(t, err)
	require.True(t, res.Compacted, "what could be freed was freed")
	require.Equal(t, ce.ReasonTargetNotReached, res.Reason)
	require.Greater(t, *res.Result.TokensAfter, 5_000)
	require.Less(t, *res.Result.TokensAfter, res.Result.TokensBefore)
}

func TestC6_ClaimsMatchEffects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		summarizer    compact.Summarizer
		keep          int
		ok, compacted bool
		reason        ce.CompactionReason
		afterHooks    int
	}{
		{name: "smaller", summarizer: brief(), keep: 800, ok: true, compacted: true, reason: ce.ReasonCompacted, afterHooks: 1},
		{name: "failed", summarizer: compact.Scripted(), keep: 800, reason: ce.ReasonSummaryEmpty},
		{name: "nothing to do", summarizer: brief(), ok: true, reason: ce.ReasonNothingToCompact},
		{name: "not smaller", summarizer: compact.Scripted(compact.Reply{Text: strings.Repeat("all of it again ", 5_000)}), keep: 800, reason: ce.ReasonNoProgress},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, _ := newLog(t, talk(20)...)
			hooks := 0
			c := compactor(t, store, &compact.Options{
				KeepRecent: tt.keep, Summarizer: tt.summarizer,
				After: func(_ context.Context, c compact.Cycle, d ce.CompactDetails) {
					hooks++
					require.Equal(t, ref(), c.Session)
					require.NotEmpty(t, d.Summary)
				},
			})
			res, err := c.CompactSession(t.Context(), manual())
			require.NoError(t, err)
			require.Equal(t, tt.ok, res.OK)
			require.Equal(t, tt.compacted, res.Compacted)
			require.Equal(t, tt.reason, res.Reason)
			require.Equal(t, tt.afterHooks, hooks)
			if tt.compacted {
				require.Less(t, *res.Result.TokensAfter, res.Result.TokensBefore)
			} else {
				require.Nil(t, res.Result)
			}
		})
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	known := tokens.Budget{Window: 200_000, Reserve: 16_384}
	tests := []struct {
		name string
		opts *compact.Options
		size compact.Size
		want ce.CompactionTrigger
	}{
		{name: "exactly full", opts: &compact.Options{Budget: known}, size: compact.Size{Tokens: 183_616}},
		{name: "over", opts: &compact.Options{Budget: known}, size: compact.Size{Tokens: 183_617}, want: ce.TriggerThreshold},
		{name: "x3 unknown window", opts: &compact.Options{}, size: compact.Size{Tokens: 1 << 30}},
		{name: "x7 off", opts: &compact.Options{Budget: known, MaxBytes: 1, Mode: compact.ModeOff}, size: compact.Size{Tokens: 1 << 30, Bytes: 9}},
		{name: "bytes reached", opts: &compact.Options{MaxBytes: 100}, size: compact.Size{Bytes: 100}, want: ce.TriggerBytes},
		{name: "bytes below", opts: &compact.Options{MaxBytes: 100}, size: compact.Size{Bytes: 99}},
		{name: "x1 bytes do not fire on tokens", opts: &compact.Options{MaxBytes: 100}, size: compact.Size{Tokens: 1 << 30}},
		{name: "nil", size: compact.Size{Tokens: 1, Bytes: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.opts.Due(tt.size))
		})
	}
}

// No trigger counts messages: many small ones do not fire one that watches tokens.
func TestX1_ManyMessagesDoNotFire(t *testing.T) {
	t.Parallel()
	var ms []message.Message
	for i := range 2_000 {
		ms = append(ms, message.User(fmt.Sprint(i)))
	}
	store, _ := newLog(t, ms...)
	res, err := compactor(t, store, &compact.Options{KeepRecent: 10, Summarizer: brief()}).
		CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerThreshold, TokenBudget: 100_000})
	require.NoError(t, err)
	require.Equal(t, ce.ReasonBelowThreshold, res.Reason)
}

func TestX3_UnknownWindow(t *testing.T) {
	t.Parallel()
	for _, trigger := range []ce.CompactionTrigger{ce.TriggerThreshold, ce.TriggerBudget} {
		store, _ := newLog(t, talk(20)...)
		c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: brief()})
		res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: trigger})
		require.NoError(t, err)
		require.Equal(t, ce.ReasonBelowThreshold, res.Reason)
		require.True(t, res.OK)
		res, err = c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
		require.True(t, res.Compacted, "by hand it works")
	}
}

func TestX4_MemoryFlushOncePerCycle(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	var order []string
	opts := &compact.Options{
		KeepRecent: 800, Summarizer: compact.Scripted(compact.Reply{Err: &compact.AuthError{}}, compact.Reply{Text: "The migration locks tables."}),
		Before:      func(context.Context, compact.Cycle) error { order = append(order, "before"); return nil },
		FlushMemory: func(context.Context, compact.Cycle) error { order = append(order, "flush"); return nil },
		After:       func(context.Context, compact.Cycle, ce.CompactDetails) { order = append(order, "after") },
	}
	c := compactor(t, store, opts)
	for range 2 { // the first fails, the second is still the same cycle
		_, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
	}
	require.Equal(t, []string{"before", "flush", "before", "after"}, order)
	appendAll(t, log, talk(20)...)
	_, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.Equal(t, []string{"before", "flush", "after"}, order[4:], "another cycle")
}

func TestX4_FailingFlushIsGivenUp(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	flushes := 0
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800, Summarizer: compact.Scripted(compact.Reply{Err: &compact.AuthError{}}),
		FlushMemory: func(context.Context, compact.Cycle) error { flushes++; return errors.New("disk full") },
	})
	for range 5 {
		res, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
		require.Equal(t, ce.ReasonProviderUnavailable, res.Reason, "a failed flush stops nothing")
	}
	require.Equal(t, 3, flushes)
}

func TestX7_ModeOff(t *testing.T) {
	t.Parallel()
	for _, trigger := range []ce.CompactionTrigger{
		"", ce.TriggerThreshold, ce.TriggerBudget, ce.TriggerOverflow, ce.TriggerTimeout, ce.TriggerBytes,
	} {
		store, log := newLog(t, talk(20)...)
		before := dump(t, log)
		s := compact.Scripted(compact.Reply{Text: "The migration locks tables."})
		c := compactor(t, store, &compact.Options{Mode: compact.ModeOff, KeepRecent: 800, Summarizer: s})
		res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: trigger, Force: true, TokenBudget: 100})
		require.NoError(t, err)
		require.Equal(t, ce.ReasonDisabled, res.Reason, trigger)
		require.Empty(t, s.Requests())
		require.Equal(t, before, dump(t, log))
		res, err = c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
		require.True(t, res.Compacted)
	}
}

// Kept replies report the context before; nothing may take that for its size now.
func TestX10_UsageIsUnknownAfterwards(t *testing.T) {
	t.Parallel()
	ms := talk(20)
	last := &ms[len(ms)-1]
	last.Usage = &message.Usage{Input: 150_000, Output: 10}
	store, log := newLog(t, ms...)
	_, err := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: brief()}).CompactSession(t.Context(), manual())
	require.NoError(t, err)
	est := tokens.Anchored(tokens.ScriptAware(), view(t, log).Messages)
	require.Equal(t, -1, est.Anchor)
	require.Less(t, est.Tokens, 2_000)
}

func TestX15_NothingNewIsANoOp(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	s := compact.Scripted(compact.Reply{Text: "The migration locks tables."})
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: s})
	_, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	calls, before := len(s.Requests()), dump(t, log)
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.Equal(t, ce.ReasonNothingToCompact, res.Reason)
	require.True(t, res.OK)
	require.Len(t, s.Requests(), calls)
	require.Equal(t, before, dump(t, log))
}

func TestVeto(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	before := dump(t, log)
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800, Summarizer: brief(),
		Before: func(_ context.Context, c compact.Cycle) error {
			return fmt.Errorf("%w: a deployment is running", compact.ErrVetoed)
		},
		FlushMemory: func(context.Context, compact.Cycle) error { t.Error("flushed in vain"); return nil },
	})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.Equal(t, ce.ReasonVetoed, res.Reason)
	require.Contains(t, res.Detail, "a deployment is running")
	require.Equal(t, before, dump(t, log))
}

func TestOverflowCompactsWhatTheEstimateThinksFits(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	c := compactor(t, store, &compact.Options{Summarizer: brief()})
	res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerOverflow, TokenBudget: 100_000})
	require.NoError(t, err)
	require.True(t, res.Compacted)
	require.Less(t, *res.Result.TokensAfter, res.Result.TokensBefore*2/3)
}

func TestSecondCompactionUpdatesTheFirst(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	s := compact.Scripted(compact.Reply{Text: "The migration locks tables."})
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: s})
	first, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	appendAll(t, log, talk(20)...)
	calls := len(s.Requests())
	second, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, second.Compacted)
	require.Equal(t, first.Result.Summary, s.Requests()[calls].Previous)
	require.Contains(t, second.Result.Summary, "/srv/app/step00.sql", "files go on from one to the next")
	require.Len(t, summaries(view(t, log).Messages), 1)
}

func summaries(ms []message.Message) []message.Message {
	var out []message.Message
	for _, m := range ms {
		if m.Role == message.RoleCompactionSummary {
			out = append(out, m)
		}
	}
	return out
}

func TestCompactionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ms := genMessages().Draw(rt, "messages")
		for i := range ms {
			if ms[i].Role == message.RoleCompactionSummary {
				ms[i] = message.User("start")
			}
		}
		store := transcript.NewMemory()
		log, err := store.Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(rt, err)
		appendAll(t, log, ms...)
		reply := rapid.SampledFrom([]compact.Reply{
			{Text: "short"}, {Text: ""}, {Err: &compact.AuthError{}}, {Text: strings.Repeat("long text ", 300)}, {Err: &compact.TooLargeError{}},
		}).Draw(rt, "reply")
		c := compactor(t, store, &compact.Options{
			KeepRecent: rapid.IntRange(1, 300).Draw(rt, "keep"), MinSource: 1, Summarizer: compact.Scripted(reply),
		})
		p := manual()
		p.ActiveTurn = rapid.Bool().Draw(rt, "active")
		before, size := dump(t, log), tokens.Messages(tokens.ScriptAware(), view(t, log).Messages)
		for run := range 2 {
			res, err := c.CompactSession(t.Context(), p)
			require.NoError(rt, err)
			require.True(rt, res.Reason.Valid())
			after := view(t, log).Messages
			if !res.Compacted {
				require.Equal(rt, before, dump(t, log), "unchanged unless a summary was stored")
				break
			}
			require.Zero(rt, run, "a second run with nothing new does nothing")
			require.True(rt, strings.HasPrefix(dump(t, log), before), "nothing but an append")
			now := tokens.Messages(tokens.ScriptAware(), after)
			require.Less(rt, now, size)
			require.Len(rt, summaries(after), 1)
			require.NotEqual(rt, message.RoleToolResult, after[1].Role)
			before, size = dump(t, log), now
		}
	})
}
