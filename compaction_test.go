package contextengine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

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

func TestCompactionReasonsHaveWords(t *testing.T) {
	t.Parallel()
	seen := map[string]ce.CompactionReason{}
	for _, r := range ce.CompactionReasons() {
		s := r.Sentence()
		require.True(t, strings.HasSuffix(s, "."), r)
		require.NotContains(t, s, "_", r)
		require.Empty(t, seen[s], r)
		seen[s] = r
		if r != ce.ReasonCompacted {
			require.NotEmpty(t, r.NextStep(), r)
		}
	}
	require.Contains(t, ce.CompactionReason("own_code").Sentence(), "own_code")
	require.Empty(t, ce.CompactionReason("own_code").NextStep())
	require.NotEmpty(t, ce.CompactionReason("").Sentence())
	require.True(t, ce.ReasonVetoed.Harmless())
	require.False(t, ce.ReasonNoProgress.Harmless())
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
