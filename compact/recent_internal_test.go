package compact

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecentForgetsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	r := newRecent[int](2)
	*r.use("a") = 1
	*r.use("b") = 2
	require.Equal(t, 1, *r.use("a"))
	require.Equal(t, 2, *r.get("b"), "looking is no use")
	*r.use("c") = 3
	require.Nil(t, r.get("b"))
	require.Equal(t, 1, *r.get("a"))
	require.Equal(t, 3, *r.get("c"))
	r.forget("a")
	require.Nil(t, r.get("a"))
}
