package compact_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
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

func TestOverflowCompactsWhatTheEstimateThinksFits(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	c := compactor(t, store, &compact.Options{Summarizer: brief()})
	res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerOverflow, TokenBudget: 100_000})
	require.NoError(t, err)
	require.True(t, res.Compacted)
	require.Less(t, *res.Result.TokensAfter, res.Result.TokensBefore*2/3)
}
