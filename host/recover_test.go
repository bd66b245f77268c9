package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

var errRefused = errors.New("prompt is too long: 12000 tokens > 10000 maximum")

// The recovery loop: what the engine is asked, how often, and what counts.
func TestSpec01_15_10_OverflowLoop(t *testing.T) {
	t.Parallel()
	ten := func(context.Context, string) (host.ModelInfo, error) {
		return host.ModelInfo{ID: "m", Budget: tokens.Budget{Window: 10_000, Reserve: 2_000, MinPrompt: 1}}, nil
	}
	for name, tc := range map[string]struct {
		compact  func(ctx context.Context, n int) (ce.CompactResult, error)
		refusals int // of the provider; then it answers
		attempts int
		fails    bool
	}{
		"one is enough":   {func(context.Context, int) (ce.CompactResult, error) { return shrunk(100) }, 1, 1, false},
		"three attempts":  {func(context.Context, int) (ce.CompactResult, error) { return shrunk(100) }, 9, 3, true},
		"the third helps": {func(context.Context, int) (ce.CompactResult, error) { return shrunk(100) }, 3, 3, false},
		"nothing done":    {func(context.Context, int) (ce.CompactResult, error) { return ce.CompactResult{OK: true}, nil }, 9, 1, true},
		"no progress":     {func(context.Context, int) (ce.CompactResult, error) { return shrunk(99_999) }, 9, 1, true},
		// the provider counts more than the estimate, which is no progress of the engine
		"claimed, not done": {func(context.Context, int) (ce.CompactResult, error) {
			return ce.CompactResult{OK: true, Compacted: true}, nil
		}, 9, 1, true},
		"compacted but not ok": {func(context.Context, int) (ce.CompactResult, error) { return ce.CompactResult{Compacted: true}, nil }, 9, 1, true},
		"a deadline is missed": {func(ctx context.Context, _ int) (ce.CompactResult, error) {
			<-ctx.Done()
			return ce.CompactResult{}, context.Cause(ctx)
		}, 9, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked []ce.CompactParams
				var steps []hosttest.Step
				for range tc.refusals {
					steps = append(steps, hosttest.Fail(errRefused))
				}
				h, _, _ := setUp(t, 0, func(p *probe, o *host.Options) {
					o.Models, o.Uncalibrated = ten, true
					p.About.OwnsCompaction = true
					p.OnCompact = func(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
						asked = append(asked, q)
						return tc.compact(ctx, len(asked))
					}
				}, append(steps, hosttest.Reply("ok"))...)
				out, err := h.Run(t.Context(), ref("s"), message.User("hello"), nil)
				require.Len(t, asked, tc.attempts)
				for _, q := range asked {
					require.True(t, q.Force)
					require.Equal(t, ce.TriggerOverflow, q.Trigger)
					require.Equal(t, ce.GoalBudget, q.Goal)
					require.Equal(t, 8_000, q.TokenBudget, "the budget of the precheck, not the window")
					require.Equal(t, 12_000, q.CurrentTokens, "what the provider counted")
					require.EqualValues(t, ce.CodeContextOverflow, *q.Settings.Diagnostics.DegradedReason)
				}
				require.Nil(t, h.Status(ref("s")).Engine.Quarantine, "nobody is blamed")
				if !tc.fails {
					require.NoError(t, err)
					require.Equal(t, "ok", out.Reply.Text())
					return
				}
				var over *host.OverflowError
				require.ErrorAs(t, err, &over)
				require.ErrorIs(t, over, errRefused)
				require.Equal(t, "compact", over.Steps[0].Step)
				require.NotEmpty(t, over.Steps[0].Outcome)
			})
		})
	}
}

// Only what is an overflow, or a timeout of a full context, is recovered from.
func TestRecoverLeavesOtherErrorsAlone(t *testing.T) {
	t.Parallel()
	h, _, tp := setUp(t, 0, nil)
	turn, err := h.Begin(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	tp.Take()
	for _, failure := range []error{
		nil, errors.New("429 rate limit: too many tokens per minute"), context.Canceled, context.DeadlineExceeded,
		errors.New("insufficient credit balance"), errors.New("summarization failed: prompt is too long"),
	} {
		again, err := turn.Recover(t.Context(), failure)
		require.NoError(t, err)
		require.False(t, again, "%v", failure)
	}
	require.Empty(t, tp.Take())
	_, err = turn.End(t.Context(), errDisk)
	require.NoError(t, err)
	_, err = turn.Recover(t.Context(), errRefused)
	require.ErrorIs(t, err, host.ErrTurnEnded)
}
