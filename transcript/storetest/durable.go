package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func checkOwnList(t *testing.T, s suite) {
	log := s.create(t, "a")
	out := add(t, log, user("u1"), user("u2"))
	out[0], out[1] = out[1], out[0]
	clear(out)
	same(t, "view", texts(t, log), []string{"u1", "u2"})
	equal(t, "text of the first row", branch(t, log)[0].Message.Text(), "u1")
}

func checkReadable(t *testing.T, s suite) {
	log := s.create(t, "a")
	first := add(t, log, user("u1"))[0]
	named := user("x")
	named.ID = "id\xff"
	for what, e := range map[string]transcript.Entry{
		"a blank type":              {Type: " "},
		"a blank role":              transcript.MessageEntry(message.Message{Role: " ", Content: []message.Block{message.Text("x")}}),
		"an id that is not UTF-8":   named,
		"a type that is not UTF-8":  {Type: "x\xff"},
		"a message without a role":  transcript.MessageEntry(message.Message{}),
		"a header":                  {Type: "session"},
		"a leaf row":                {Type: transcript.EntryLeaf},
		"a compaction without one":  {Type: transcript.EntryCompaction},
		"a summary that is missing": {Type: transcript.EntryBranchSummary},
	} {
		if _, err := log.Append(t.Context(), user("fine"), e); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	_, err := log.Rewrite(t.Context(), transcript.RewriteRequest{
		Generation:   view(t, log).Generation,
		Replacements: []transcript.Replacement{{EntryID: first.ID, Message: message.Message{Content: []message.Block{message.Text("x")}}}},
	})
	if err == nil {
		t.Error("a message was replaced by one without a role")
	}
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"u1"})
		equal(t, "problems", len(log.Problems()), 0)
	})
}

func checkNames(t *testing.T, s suite) {
	log := s.create(t, "a")
	names := []string{"entryId", "originId", "batchSize", "appendMode", "id", "key", "firstKeptEntryId", "generation"}
	m := message.User("u1")
	e := transcript.MessageEntry(m)
	for _, name := range names {
		m = m.WithExtra(name, json.RawMessage(`"side"`))
	}
	e.Message = &m
	e.Extra = map[string]json.RawMessage{"originId": json.RawMessage(`"o"`), "batchSize": json.RawMessage(`100`)}
	first := add(t, log, e, user("u2"))[0]
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"u1", "u2"})
		equal(t, "key", keys(t, log)[0], first.ID)
		got := view(t, log).Messages[0]
		for _, name := range names {
			equal(t, "member "+name, string(got.Extra[name]), `"side"`)
		}
		row := branch(t, log)[0]
		equal(t, "member originId of the row", string(row.Extra["originId"]), `"o"`)
		equal(t, "member batchSize of the row", string(row.Extra["batchSize"]), `100`)
		equal(t, "side", row.Side, false)
	})
}

func checkOpaqueKept(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"), user("u2"), transcript.Entry{Type: "future_row"}, user("u3"))
	add(t, log, transcript.Entry{Type: transcript.EntryCompaction, Compaction: &transcript.Compaction{Summary: "S", FirstKeptEntryID: es[2].ID}}, user("u4"))
	want := []string{"[S]", "u2", "u3", "u4"}
	s.restart(t, log, func(log transcript.Log) { same(t, "view", texts(t, log), want) })
	for what, copied := range map[string]func() (transcript.Log, error){
		"fork":   func() (transcript.Log, error) { return s.st.Fork(t.Context(), "a", "") },
		"rotate": func() (transcript.Log, error) { return s.st.Rotate(t.Context(), "a", transcript.Header{}) },
	} {
		to, err := copied()
		noError(t, err, what)
		same(t, "view after "+what, texts(t, to), want)
		noError(t, to.Close(), "Close")
	}
	log = s.open(t, s.st, "a")
	r, err := log.Rewrite(t.Context(), transcript.RewriteRequest{
		Generation: view(t, log).Generation, Replacements: []transcript.Replacement{{EntryID: es[0].ID, Message: message.User("U1")}},
	})
	noError(t, err, "Rewrite")
	equal(t, "changed", r.Changed, true)
	s.restart(t, log, func(log transcript.Log) { same(t, "view after a rewrite", texts(t, log), want) })
}

// describe says what a reader sees.
func describe(t *testing.T, r transcript.Reader) string {
	t.Helper()
	v := view(t, r)
	var b strings.Builder
	fmt.Fprintf(&b, "generation %d, %s/%s, %s\n", v.Generation, v.Provider, v.Model, v.ThinkingLevel)
	for _, m := range v.Messages {
		fmt.Fprintf(&b, "%s %q %q %q %d\n", m.Role, m.Key, m.Text(), m.Summary, m.TokensBefore)
	}
	for _, e := range branch(t, r) {
		fmt.Fprintf(&b, "[%s %s under %s, %s]\n", e.Type, e.ID, e.ParentID, e.Key)
	}
	return b.String()
}

func checkRestart(t *testing.T, s suite) {
	log := s.create(t, "a")
	look := func() {
		t.Helper()
		want := describe(t, log)
		s.restart(t, log, func(log transcript.Log) { equal(t, "what is seen", describe(t, log), want) })
		log = s.open(t, s.st, "a")
	}
	side := user("side")
	side.Side = true
	es := add(t, log, user("u1"), answer("a1"), side, transcript.ThinkingLevelEntry("high"), user("u2"), answer("a2"))
	look()
	replace := func(e transcript.Entry, m message.Message) {
		t.Helper()
		_, err := log.Rewrite(t.Context(), transcript.RewriteRequest{
			Generation: view(t, log).Generation, Replacements: []transcript.Replacement{{EntryID: e.Key, Message: m}},
		})
		noError(t, err, "Rewrite")
		look()
	}
	replace(es[5], message.User("no answer"))
	equal(t, "model after the last answer is gone", view(t, log).Model, "large")
	replace(es[1], message.User("none either"))
	equal(t, "model after every answer is gone", view(t, log).Model, "")
	_, err := log.CommitCompaction(t.Context(), view(t, log).Generation, transcript.Compaction{Summary: "S", FirstKeptEntryID: es[4].Key})
	noError(t, err, "CommitCompaction")
	look()
	noError(t, log.SetLeaf(t.Context(), es[1].ID), "SetLeaf")
	look()
	add(t, log, user("other"), transcript.CustomMessageEntry("hint", "h"))
	look()
}

func checkRedaction(t *testing.T, s suite) {
	if s.opts.Redacting == nil {
		return
	}
	log, err := s.opts.Redacting(t, wrapped).Create(t.Context(), transcript.Header{ID: "a"})
	noError(t, err, "Create")
	t.Cleanup(func() { _ = log.Close() })
	plain := transcript.CustomMessageEntry("hint", "h")
	plain.Extra["details"] = json.RawMessage(`{"secret":1}`)
	es := add(t, log, user("u1"), plain, transcript.BranchSummaryEntry("root", "b"), user("u2"))
	_, err = log.Rewrite(t.Context(), transcript.RewriteRequest{
		Generation: view(t, log).Generation, Replacements: []transcript.Replacement{{EntryID: es[3].ID, Message: message.User("U2")}},
	})
	noError(t, err, "Rewrite")
	_, err = log.CommitCompaction(t.Context(), view(t, log).Generation, transcript.Compaction{Summary: "S", FirstKeptEntryID: es[0].ID})
	noError(t, err, "CommitCompaction")
	same(t, "view", texts(t, log), []string{"[<S>]", "<u1>", "<h>", "[<b>]", "<U2>"})
	same(t, "keys", keys(t, log), []string{"", es[0].ID, es[1].ID, "", es[3].ID})
	for _, e := range rows(t, log) {
		if _, ok := e.Extra["details"]; ok {
			t.Fatal("details that the redaction took away are stored")
		}
	}
}

// wrapped puts every text into brackets, so that one that it sees twice tells.
func wrapped(m message.Message) message.Message {
	m.Content = slices.Clone(m.Content)
	for i := range m.Content {
		m.Content[i].Text = "<" + m.Content[i].Text + ">"
	}
	if m.Summary != "" {
		m.Summary = "<" + m.Summary + ">"
	}
	return m.WithExtra("details", nil)
}

func checkTwoCreate(t *testing.T, s suite) {
	if s.opts.Second == nil {
		return
	}
	one := s.create(t, "a")
	two, err := s.opts.Second(t, s.st).Create(t.Context(), transcript.Header{ID: "a"})
	if errors.Is(err, fs.ErrExist) {
		return // it is seen at once
	}
	noError(t, err, "Create")
	t.Cleanup(func() { _ = two.Close() })
	add(t, one, user("u1"))
	if _, err := two.Append(t.Context(), user("u2")); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("appending to a session that another process has made: %v", err)
	}
	same(t, "view", texts(t, s.open(t, s.opts.Second(t, s.st), "a")), []string{"u1"})
}
