package compact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// newLog makes a session "s" in a new memory store.
func newLog(t *testing.T, ms ...message.Message) (transcript.Store, transcript.Log) {
	t.Helper()
	store := transcript.NewMemory()
	log, err := store.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	appendAll(t, log, ms...)
	return store, log
}

func appendAll(t *testing.T, log transcript.Log, ms ...message.Message) []transcript.Entry {
	t.Helper()
	entries := make([]transcript.Entry, len(ms))
	for i, m := range ms {
		entries[i] = transcript.MessageEntry(m)
	}
	out, err := log.Append(t.Context(), entries...)
	require.NoError(t, err)
	return out
}

// dump is everything that a log holds, for comparing it before and after.
func dump(t *testing.T, log transcript.Log) string {
	t.Helper()
	var b strings.Builder
	for e, err := range log.Entries(t.Context()) {
		require.NoError(t, err)
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s\n", raw)
	}
	return b.String()
}

func view(t *testing.T, log transcript.Log) transcript.View {
	t.Helper()
	v, err := log.View(t.Context())
	require.NoError(t, err)
	return v
}

// talk is a conversation of n turns: an ask, a call with its result, an answer.
func talk(n int) []message.Message {
	var ms []message.Message
	for i := range n {
		id := fmt.Sprintf("call_%d", i)
		ms = append(
			ms,
			message.User(fmt.Sprintf("Please look at step %d of the migration and tell me what is wrong with it.", i)),
			message.Assistant(
				message.Text("I will read the script first."),
				message.ToolCall(id, "read", json.RawMessage(fmt.Sprintf(`{"path":"/srv/app/step%02d.sql"}`, i))),
			),
			message.ToolResult(id, "read", message.Text(strings.Repeat("ALTER TABLE orders ADD COLUMN total bigint; ", 20))),
			message.Assistant(message.Text(fmt.Sprintf("Step %d locks the table. We decided to add the column without a default.", i))),
		)
	}
	return ms
}

func ref() ce.SessionRef { return ce.SessionRef{SessionID: "s"} }

func compactor(t *testing.T, store transcript.Store, opts *compact.Options) *compact.Compactor {
	t.Helper()
	c, err := compact.New(store, opts)
	require.NoError(t, err)
	return c
}

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
