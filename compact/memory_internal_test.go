package compact

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for i := range 4 * maxSessions {
		id := strconv.Itoa(i)
		m.ended(id, "t", failed("no_progress", nil), nil)
		m.note(id, Breaker{Failures: 1}, true, time.Now())
	}
	require.LessOrEqual(t, len(m.sessions.records), maxSessions)
	require.LessOrEqual(t, len(m.models.records), maxBreakers)
}
