package transcript_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/transcript"
)

func TestRemoveOlder(t *testing.T) {
	t.Parallel()
	day := func(d int) time.Time { return time.Date(2026, 7, d, 0, 0, 0, 0, time.UTC) }
	now := day(1)
	clock := func() time.Time { return now }
	files, err := transcript.OpenDir(t.TempDir(), &transcript.DirOptions{Now: clock})
	require.NoError(t, err)
	for name, st := range map[string]transcript.Store{
		"files": files, "memory": transcript.NewMemoryStore(&transcript.MemoryOptions{Now: clock}),
	} {
		now = day(1)
		for _, id := range []string{"old", "revived", "young"} {
			if id == "young" {
				now = day(20)
			}
			log, err := st.Create(t.Context(), transcript.Header{ID: id})
			require.NoError(t, err, name)
			appendAll(t, log, user("u1"))
			if id == "revived" {
				now = day(15)
				appendAll(t, log, user("u2"))
			}
			require.NoError(t, log.Close())
		}
		removed, err := transcript.RemoveOlder(t.Context(), st, day(10))
		require.NoError(t, err, name)
		require.Len(t, removed, 1, name)
		require.Equal(t, "old", removed[0].ID, name)
		left := 0
		for _, err := range st.List(t.Context()) {
			require.NoError(t, err)
			left++
		}
		require.Equal(t, 2, left, name)
	}
}

func TestRemoveOlder_TheLatestRowCounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	st := openDir(t, t.TempDir(), &transcript.DirOptions{Now: func() time.Time { return now }})
	log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	now = now.AddDate(0, 1, 0)
	appendAll(t, log, user("recent"))
	now = now.AddDate(0, 0, -28)
	for range 600 {
		appendAll(t, log, user("by a clock that is wrong"))
	}
	require.NoError(t, log.Close())
	gone, err := transcript.RemoveOlder(t.Context(), st, time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.Empty(t, gone)
	gone, err = transcript.RemoveOlder(t.Context(), st, time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.Len(t, gone, 1)
}
