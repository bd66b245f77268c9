package transcript_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// Fork and rotate take what is stored as it is; what comes from another store is redacted once.
func TestRedaction_Once(t *testing.T) {
	t.Parallel()
	mark := func(m message.Message) message.Message {
		if len(m.Content) > 0 {
			m.Content = []message.Block{message.Text("r(" + m.Text() + ")")}
		}
		if m.Summary != "" {
			m.Summary = "r(" + m.Summary + ")"
		}
		return m
	}
	st, err := transcript.OpenDir(t.TempDir(), &transcript.DirOptions{Redact: mark})
	require.NoError(t, err)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	out := appendAll(t, log, user("a"), transcript.CustomMessageEntry("t", "c"), user("b"))
	_, err = log.CommitCompaction(t.Context(), viewOf(t, log).Generation, transcript.Compaction{Summary: "S", FirstKeptEntryID: out[1].ID})
	require.NoError(t, err)
	swap(t, log, out[2].ID, "B")
	want := []string{"r(S)", "r(c)", "r(B)"}
	require.Equal(t, want, texts(t, log))
	for _, copied := range []func() (transcript.Log, error){
		func() (transcript.Log, error) { return st.Fork(t.Context(), "s", "") },
		func() (transcript.Log, error) { return st.Rotate(t.Context(), "s", transcript.Header{}) },
		func() (transcript.Log, error) { return transcript.Copy(t.Context(), transcript.NewMemory(), log) },
	} {
		to, err := copied()
		require.NoError(t, err)
		require.Equal(t, want, texts(t, to))
		require.NoError(t, to.Close())
	}
}

func TestRedaction_TakesAwayDetails(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"))
	log := openLog(t, path, &transcript.DirOptions{Redact: func(m message.Message) message.Message { return m.WithExtra("details", nil) }})
	e := transcript.CustomMessageEntry("t", "hello")
	e.Extra["details"], e.Extra["other"] = json.RawMessage(`{"token":"SECRET"}`), json.RawMessage(`1`)
	appendAll(t, log, e)
	require.NotContains(t, read(t, path), "SECRET")
	require.Contains(t, read(t, path), `"other":1`)
	require.Equal(t, "hello", texts(t, log)[1])
}

// Every way into a store goes through the redaction, and keys do not depend on it.
func TestRedaction_EveryStoredMessagePasses(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) transcript.Store{
		"memory": func(*testing.T) transcript.Store {
			return transcript.NewMemoryStore(&transcript.MemoryOptions{Redact: redact})
		},
		"files": func(t *testing.T) transcript.Store {
			st, err := transcript.OpenDir(t.TempDir(), &transcript.DirOptions{Redact: redact})
			require.NoError(t, err)
			return st
		},
		"history": func(t *testing.T) transcript.Store {
			return transcript.NewHistoryStore(newDatabase(t), &transcript.MemoryOptions{Redact: redact})
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, err := open(t).Create(t.Context(), transcript.Header{ID: "s"})
			require.NoError(t, err)
			defer log.Close()
			secret := message.User("my password is hunter2")
			es := appendAll(t, log, transcript.MessageEntry(secret), assistant("noted"),
				transcript.CustomMessageEntry("hint", "hunter2 again"), transcript.BranchSummaryEntry("root", "lost hunter2"))
			require.Equal(t, "my password is hunter2", secret.Text(), "what was handed in stays")
			require.Equal(t, "my password is ***", es[0].Message.Text())
			require.Equal(t, es[0].ID, es[0].Message.Key)
			_, err = log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{
				{EntryID: es[1].ID, Message: *assistant("hunter2 noted").Message},
			}})
			require.NoError(t, err)
			require.Equal(t, es[0].ID, keys(t, log)[0])
			require.Equal(t, es[1].ID, keys(t, log)[1])
			_, err = log.CommitCompaction(t.Context(), viewOf(t, log).Generation, transcript.Compaction{
				Summary: "it is hunter2", FirstKeptEntryID: es[1].ID,
			})
			require.NoError(t, err)
			require.Equal(t, []string{"it is ***", "*** noted", "*** again", "lost ***"}, texts(t, log))

			copied, err := transcript.Copy(t.Context(), transcript.NewMemory(), log)
			require.NoError(t, err)
			require.Equal(t, keys(t, log), keys(t, copied))
			raw, err := json.Marshal(entriesOf(t, log))
			require.NoError(t, err)
			require.NotContains(t, string(raw), "hunter2")
		})
	}
}
