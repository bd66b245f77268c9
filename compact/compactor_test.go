package compact_test

import (
	"context"
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

func TestCompactSession(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: compact.Scripted(compact.Reply{Text: "The migration locks tables."})})
	before := view(t, log)
	res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerManual})
	require.NoError(t, err)
	require.True(t, res.OK && res.Compacted, "%+v", res)
	after := view(t, log)
	t.Log(res.Result.Summary, string(res.Result.Details), res.Result.TokensBefore, *res.Result.TokensAfter)
	require.Less(t, len(after.Messages), len(before.Messages))
	require.Equal(t, message.RoleCompactionSummary, after.Messages[0].Role)
	require.Equal(t, res.Result.Summary, after.Messages[0].Summary)
	require.Equal(t, res.Result.FirstKeptEntryID, after.Messages[1].Key)
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
