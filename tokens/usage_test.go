package tokens_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

func TestCumulativeUsage(t *testing.T) {
	t.Parallel()
	c := tokens.CumulativeUsage{}.Add(message.Usage{Input: 10, Output: 2, CacheRead: 5}).Add(message.Usage{Input: 1, CacheWrite: 3})
	require.Equal(t, tokens.CumulativeUsage{Calls: 2, Input: 11, Output: 2, CacheRead: 5, CacheWrite: 3}, c)
	require.Equal(t, 21, c.Total())
}
