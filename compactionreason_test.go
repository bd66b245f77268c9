package contextengine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

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
