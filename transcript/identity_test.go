package transcript_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func redact(m message.Message) message.Message {
	m.Summary = strings.ReplaceAll(m.Summary, "hunter2", "***")
	blocks := make([]message.Block, len(m.Content))
	for i, b := range m.Content {
		b.Text = strings.ReplaceAll(b.Text, "hunter2", "***")
		blocks[i] = b
	}
	m.Content = blocks
	return m
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

// A host's own list becomes a session that can be compacted and rewritten, and stays a list.
func TestHistory_HostsOwnMessages(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	mixed := message.User("thanks")
	mixed.Content = append([]message.Block{{Type: message.BlockToolResult, ID: "c1", Extra: map[string]json.RawMessage{
		"content": json.RawMessage(`"r1"`), "is_error": json.RawMessage(`true`),
	}}}, mixed.Content...)
	require.NoError(t, db.Append(t.Context(), "s", message.User("u1"),
		message.Assistant(message.ToolCall("c1", "read", json.RawMessage(`{}`))), mixed))
	log, err := transcript.FromHistory(db).Open(t.Context(), "s")
	require.NoError(t, err)
	defer log.Close()
	require.Equal(t, []string{"u1", "", "r1", "thanks"}, texts(t, log))
	require.True(t, viewOf(t, log).Messages[2].IsError)
	es := branchOf(t, log)
	_, err = log.CommitCompaction(t.Context(), viewOf(t, log).Generation, transcript.Compaction{
		Summary: "S", FirstKeptEntryID: es[3].ID, Details: json.RawMessage(`{"a":1}`),
	})
	require.NoError(t, err)
	appendAll(t, log, transcript.ThinkingLevelEntry("high"), assistant("a2"))
	again, err := transcript.FromHistory(db).Open(t.Context(), "s")
	require.NoError(t, err)
	defer again.Close()
	require.Equal(t, []string{"S", "thanks", "a2"}, texts(t, again))
	require.Equal(t, viewOf(t, log), viewOf(t, again))

	db.fail = errInjected
	_, err = log.Append(t.Context(), user("u3"))
	require.ErrorIs(t, err, errInjected)
	require.Equal(t, []string{"S", "thanks", "a2"}, texts(t, log))
	db.fail = nil
	appendAll(t, log, user("u3"))
	third, err := transcript.FromHistory(db).Open(t.Context(), "s")
	require.NoError(t, err)
	defer third.Close()
	require.Equal(t, keys(t, log), keys(t, third))
}

func TestHistory_WhatAHostDoesNotOffer(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	bare := struct{ transcript.History }{db}
	st := transcript.FromHistory(bare)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	appendAll(t, log, user("u1"))
	require.ErrorContains(t, st.Delete(t.Context(), "s"), "unsupported")
	for _, err := range st.List(t.Context()) {
		require.ErrorContains(t, err, "unsupported")
	}
}
