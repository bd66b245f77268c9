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

// Nothing is acknowledged that nobody could read back.
func TestAppend_RefusesWhatCannotBeReadBack(t *testing.T) {
	t.Parallel()
	named := func(e transcript.Entry, id string) transcript.Entry { e.ID = id; return e }
	entries := map[string]transcript.Entry{
		"blank type":              {Type: " "},
		"type that is no text":    {Type: "x\xff"},
		"blank role":              transcript.MessageEntry(message.Message{Role: " \t", Content: []message.Block{message.Text("x")}}),
		"redacted to no role":     user("no role"),
		"id that is no text":      named(user("x"), "id\xff"),
		"key that is no text":     {Type: transcript.EntryMessage, ID: "k", Key: "\xff", Message: user("x").Message},
		"compaction of bad bytes": {Type: transcript.EntryCompaction, ID: "\xfe", Compaction: &transcript.Compaction{Summary: "S"}},
	}
	opts := &transcript.DirOptions{Redact: func(m message.Message) message.Message {
		if strings.Contains(m.Text(), "no role") {
			m.Role = ""
		}
		return m
	}}
	path := writeSession(t, header, msg("a", "", "user", "one"), msg("b", "a", "user", "two"))
	before := read(t, path)
	log := openLog(t, path, opts)
	want := describe(t, log)
	for name, e := range entries {
		_, err := log.Append(t.Context(), user("fine"), e)
		require.Error(t, err, name)
		require.Equal(t, before, read(t, path), name)
		require.Equal(t, want, describe(t, log), name)
	}
	for _, m := range []message.Message{{Content: []message.Block{message.Text("new")}}, message.User("no role")} {
		_, err := log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{{EntryID: "a", Message: m}}})
		require.Error(t, err)
		require.Equal(t, before, read(t, path))
		require.Equal(t, want, describe(t, log))
	}
}

func TestAppend_TheCallersListIsItsOwn(t *testing.T) {
	t.Parallel()
	log, err := transcript.NewMemory().Create(t.Context(), transcript.Header{})
	require.NoError(t, err)
	defer log.Close()
	out := appendAll(t, log, user("a"), user("b"))
	out[0], out[1] = out[1], out[0]
	require.Equal(t, []string{"a", "b"}, texts(t, log))
	require.Equal(t, "a", branchOf(t, log)[0].Message.Text())
}

// One row named twice, by its id and by its key; rows of another branch named by their keys.
func TestRewrite_NamesAreIDsOrKeys(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"), msg("b", "a", "user", "two"))
	log := openLog(t, path, nil)
	swap(t, log, "a", "x")
	e := branchOf(t, log)[0]
	require.NotEqual(t, e.ID, e.Key)
	r, err := log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{
		{EntryID: e.ID, Message: message.User("y")}, {EntryID: e.Key, Message: message.User("z")},
	}})
	require.NoError(t, err)
	require.True(t, r.Changed, r.Reason)
	require.Equal(t, 1, r.RewrittenEntries)
	require.Equal(t, []string{"z", "two"}, texts(t, log), "the last one counts")

	require.NoError(t, log.SetLeaf(t.Context(), "b"))
	appendAll(t, log, user("elsewhere"))
	side := appendAll(t, log, user("side"))[0]
	swap(t, log, side.ID, "SIDE")
	require.NoError(t, log.SetLeaf(t.Context(), "a"))
	want := texts(t, log)
	r, err = log.Rewrite(t.Context(), transcript.RewriteRequest{
		AllowedSuffixEntryIDs: []string{side.ID},
		Replacements:          []transcript.Replacement{{EntryID: side.ID, Message: message.User("SIDE 2")}},
	})
	require.NoError(t, err)
	require.True(t, r.Changed, r.Reason)
	require.Equal(t, want, texts(t, log))
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
