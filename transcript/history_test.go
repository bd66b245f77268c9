package transcript_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// lostAnswers stores what it is given and may say that it did not.
type lostAnswers struct {
	*database
	lose bool
}

func (h *lostAnswers) Append(ctx context.Context, id string, ms ...message.Message) error {
	err := h.database.Append(ctx, id, ms...)
	if err == nil && h.lose {
		h.lose = false
		return context.DeadlineExceeded
	}
	return err
}

// An append whose answer got lost is seen before the next write, so that what is acknowledged
// afterwards has the same ids and keys after a restart.
func TestHistory_LostAnswer(t *testing.T) {
	t.Parallel()
	for _, first := range [][]transcript.Entry{{user("a")}, nil} {
		h := &lostAnswers{database: newDatabase(t)}
		log, err := transcript.FromHistory(h).Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(t, err)
		_, err = log.Append(t.Context(), first...)
		require.NoError(t, err)
		h.lose = true
		_, err = log.Append(t.Context(), user("b"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		out := appendAll(t, log, user("b"), user("c"), user("d"))
		_, err = log.CommitCompaction(t.Context(), viewOf(t, log).Generation, transcript.Compaction{Summary: "S", FirstKeptEntryID: out[1].ID})
		require.NoError(t, err)
		require.Equal(t, []string{"S", "c", "d"}, texts(t, log))
		again, err := transcript.FromHistory(h).Open(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, describe(t, log), describe(t, again))
		require.NoError(t, log.Close())
		require.NoError(t, again.Close())
	}
}

// A history that cannot be read again after such an append takes nothing until it can.
func TestHistory_DoubtIsResolvedFirst(t *testing.T) {
	t.Parallel()
	h := &unreadable{database: newDatabase(t)}
	log, err := transcript.FromHistory(h).Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	appendAll(t, log, user("a"))
	h.fail, h.broken = errInjected, errInjected
	_, err = log.Append(t.Context(), user("b"))
	require.ErrorIs(t, err, errInjected)
	h.fail = nil
	_, err = log.Append(t.Context(), user("b"))
	require.ErrorIs(t, err, errInjected)
	require.Equal(t, []string{"a"}, texts(t, log))
	h.broken = nil
	appendAll(t, log, user("b"))
	require.Equal(t, []string{"a", "b"}, texts(t, log))
}

type unreadable struct {
	*database
	broken error
}

func (h *unreadable) Load(ctx context.Context, id string) ([]message.Message, error) {
	if h.broken != nil {
		return nil, h.broken
	}
	return h.database.Load(ctx, id)
}

// Members of a host's messages and of its entries are its own, whatever their names; only the one
// that is documented is not.
func TestHistory_ExtraIsTheHosts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"entryId", "originId", "appendMode", "id", "key", "firstKeptEntryId"} {
		h := newDatabase(t)
		log, err := transcript.FromHistory(h).Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(t, err)
		e := transcript.MessageEntry(message.User("hello").WithExtra(name, json.RawMessage(`"side"`)))
		e.Extra = map[string]json.RawMessage{"origin": json.RawMessage(`"web"`)}
		appendAll(t, log, e, user("next"))
		again, err := transcript.FromHistory(h).Open(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, describe(t, log), describe(t, again))
		require.Equal(t, viewOf(t, log).Messages[0].Extra, viewOf(t, again).Messages[0].Extra)
		require.Equal(t, branchOf(t, log)[0].Extra, branchOf(t, again)[0].Extra)
		require.NoError(t, log.Close())
		require.NoError(t, again.Close())
	}
	h := newDatabase(t)
	log, err := transcript.FromHistory(h).Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	forged := message.User("forged").WithExtra("contextengine", json.RawMessage(`{"id":"mine","side":true}`))
	out := appendAll(t, log, transcript.MessageEntry(forged), user("next"))
	again, err := transcript.FromHistory(h).Open(t.Context(), "s")
	require.NoError(t, err)
	defer again.Close()
	require.Equal(t, []string{out[0].ID, out[1].ID}, keys(t, again))
}

// The same messages have the same keys with and without a redaction, before and after a restart.
func TestHistory_KeysDoNotDependOnTheRedaction(t *testing.T) {
	t.Parallel()
	var all [][]string
	for _, f := range []func(message.Message) message.Message{nil, redact} {
		h := newDatabase(t)
		opts := &transcript.MemoryOptions{Redact: f, NewID: func() string { return "" }}
		log, err := transcript.NewHistoryStore(h, opts).Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(t, err)
		appendAll(t, log, user("it is hunter2"), assistant("noted"), user("b"))
		before := keys(t, log)
		require.NoError(t, log.Close())
		log, err = transcript.NewHistoryStore(h, opts).Open(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, before, keys(t, log))
		all = append(all, before)
		require.NoError(t, log.Close())
	}
	require.Equal(t, all[0], all[1])
}

// Whatever is done to a log over a host's list, with answers getting lost now and then: once a write
// has succeeded, it shows what opening it anew shows.
func TestHistory_LiveIsWhatReopeningShows(t *testing.T) {
	t.Parallel()
	for seed := range 30 {
		h := &lostAnswers{database: newDatabase(t)}
		opts := &transcript.MemoryOptions{Redact: redact}
		log, err := transcript.NewHistoryStore(h, opts).Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(t, err)
		m := &model{T: t, rng: rand.New(rand.NewPCG(uint64(seed), 2))}
		appendAll(t, log, user("one"))
		for m.step = range 20 {
			if m.rng.IntN(5) == 0 {
				h.lose = true
				_, err := log.Append(t.Context(), user(fmt.Sprint("hunter2 lost ", m.step)), m.answer())
				require.ErrorIs(t, err, context.DeadlineExceeded)
				m.do("lost an answer")
				appendAll(t, log, user("after"))
			}
			m.actOn(log, m.rng.IntN(10))
			again, err := transcript.NewHistoryStore(h, opts).Open(t.Context(), "s")
			require.NoError(t, err)
			require.Equal(t, timeless(t, again), timeless(t, log), "seed %d: %s", seed, strings.Join(m.trace, "; "))
			require.NoError(t, again.Close())
		}
		require.NoError(t, log.Close())
	}
}

// timeless is describe without times: a list keeps those of messages only.
func timeless(t testing.TB, r transcript.Reader) string {
	t.Helper()
	return regexp.MustCompile(`\d{4}-\d\d-\d\d [0-9:.]+ \+0000 UTC`).ReplaceAllString(describe(t, r), "")
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
