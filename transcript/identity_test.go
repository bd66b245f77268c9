package transcript_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestC8_LiveAndRedactedCopyHaveOneKey(t *testing.T) {
	t.Parallel()
	st, err := transcript.OpenDir(t.TempDir(), &transcript.DirOptions{Redact: redact})
	require.NoError(t, err)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	live := appendAll(t, log, user("hunter2"))[0]
	stored := viewOf(t, log).Messages[0]
	require.Equal(t, live.Message.Key, stored.Key)
}

func TestC8_ReusedCallIDsAndRepeatedTextsKeepTheirOwnKeys(t *testing.T) {
	t.Parallel()
	turn := func(result string) []message.Message {
		return []message.Message{
			message.User("ok"),
			message.Assistant(message.ToolCall("call_0", "read", json.RawMessage(`{}`))),
			message.ToolResult("call_0", "read", message.Text(result)),
		}
	}
	db := newDatabase(t)
	require.NoError(t, db.Append(t.Context(), "s", append(turn("1"), turn("1")...)...))
	log, err := transcript.FromHistory(db).Open(t.Context(), "s")
	require.NoError(t, err)
	defer log.Close()
	seen := map[string]bool{}
	for _, k := range keys(t, log) {
		require.NotEmpty(t, k)
		require.False(t, seen[k])
		seen[k] = true
	}
	require.Len(t, seen, 6)
}

// Messages without ids: a prefix read again has the keys it had, whatever follows.
func TestC8_PrefixOfAHistoryHasTheSameKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		db := newDatabase(t)
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "ok", "go on", "no"}), 1, 20).Draw(rt, "words")
		live, err := transcript.FromHistory(db).Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(rt, err)
		for _, w := range words {
			if _, err := live.Append(t.Context(), user(w)); err != nil {
				rt.Fatal(err)
			}
		}
		v, err := live.View(t.Context())
		require.NoError(rt, err)
		seen := map[string]bool{}
		for _, m := range v.Messages {
			require.False(rt, seen[m.Key])
			seen[m.Key] = true
		}
		n := rapid.IntRange(1, len(words)).Draw(rt, "prefix")
		db.sessions["s"] = db.sessions["s"][:n]
		again, err := transcript.FromHistory(db).Open(t.Context(), "s")
		require.NoError(rt, err)
		w, err := again.View(t.Context())
		require.NoError(rt, err)
		require.Len(rt, w.Messages, n)
		for i := range w.Messages {
			require.Equal(rt, v.Messages[i].Key, w.Messages[i].Key)
		}
	})
}
