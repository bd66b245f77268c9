package storetest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func checkAppend(t *testing.T, s suite) {
	log := s.create(t, "a")
	got := add(t, log, user("u1"), answer("a1"))
	got = append(got, add(t, log, user("u2"))...)
	parent := ""
	for i, e := range got {
		if e.ID == "" || e.Timestamp.IsZero() || e.Type != transcript.EntryMessage || e.Message == nil {
			t.Fatalf("entry %d is not filled in: %+v", i, e)
		}
		equal(t, "parent", e.ParentID, parent)
		equal(t, "key", e.Message.Key, e.ID)
		if e.Message.Timestamp.IsZero() {
			t.Fatalf("message %d has no time", i)
		}
		parent = e.ID
	}
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"u1", "a1", "u2"})
		for i, e := range branch(t, log) {
			equal(t, "stored id", e.ID, got[i].ID)
			equal(t, "stored parent", e.ParentID, got[i].ParentID)
			equal(t, "stored time", e.Timestamp.UTC(), got[i].Timestamp.UTC())
		}
		equal(t, "problems", len(log.Problems()), 0)
	})
}

func checkAllOrNone(t *testing.T, s suite) {
	log := s.create(t, "a")
	add(t, log, user("u1"))
	bad := transcript.Entry{Type: transcript.EntryMessage} // no message
	if _, err := log.Append(t.Context(), user("u2"), bad); err == nil {
		t.Fatal("an entry that says nothing was taken")
	}
	taken := user("u3")
	taken.ID = branch(t, log)[0].ID
	if _, err := log.Append(t.Context(), user("u2"), taken); err == nil {
		t.Fatal("an id was given away twice")
	}
	if _, err := log.Append(t.Context()); err != nil {
		t.Fatalf("appending nothing: %v", err)
	}
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"u1"})
	})
}

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

func checkResultBlocks(t *testing.T, s suite) {
	log := s.create(t, "a")
	mixed := message.User("and now?")
	mixed.Content = append(mixed.Content, message.Block{
		Type: message.BlockToolResult, ID: "c1", Name: "read",
		Extra: map[string]json.RawMessage{"content": json.RawMessage(`[{"type":"text","text":"r1"}]`)},
	})
	add(t, log, call("c1"))
	got := add(t, log, transcript.MessageEntry(mixed))
	equal(t, "entries", len(got), 2)
	equal(t, "role", got[0].Message.Role, message.RoleToolResult)
	equal(t, "call", got[0].Message.ToolCallID, "c1")
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"", "r1", "and now?"})
	})
}

func checkUnknown(t *testing.T, s suite) {
	log := s.create(t, "a")
	m := message.User("u1")
	m.Extra = map[string]json.RawMessage{"future": json.RawMessage(`{"n":12345678901234567890}`)}
	e := transcript.MessageEntry(m)
	e.Extra = map[string]json.RawMessage{"origin": json.RawMessage(`"web"`)}
	odd := transcript.Entry{Type: "future_row", Extra: map[string]json.RawMessage{"payload": json.RawMessage(`{"kept":true}`)}}
	add(t, log, e, odd, answer("a1"))
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"u1", "a1"})
		equal(t, "branch", len(branch(t, log)), 2)
		all := rows(t, log)
		i := slices.IndexFunc(all, func(e transcript.Entry) bool { return e.Type == "future_row" })
		if i < 0 || string(all[i].Extra["payload"]) != `{"kept":true}` {
			t.Fatalf("a row of an unknown type did not survive: %+v", all)
		}
		equal(t, "unknown field of a message", string(view(t, log).Messages[0].Extra["future"]), `{"n":12345678901234567890}`)
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
