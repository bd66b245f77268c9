package compact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
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
