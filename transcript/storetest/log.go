package storetest

import (
	"encoding/json"
	"errors"
	"io/fs"
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

func checkSide(t *testing.T, s suite) {
	log := s.create(t, "a")
	first := add(t, log, user("u1"))[0]
	side := transcript.CustomEntry("note", 1)
	side.Side = true
	out := add(t, log, side, answer("a1"))
	equal(t, "parent of the side entry", out[0].ParentID, first.ID)
	equal(t, "parent of the next entry", out[1].ParentID, first.ID)
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"u1", "a1"})
		equal(t, "branch", len(branch(t, log)), 2)
		equal(t, "rows", len(rows(t, log)), 3)
		equal(t, "side", rows(t, log)[1].Side, true)
	})
}

func checkLabels(t *testing.T, s suite) {
	log := s.create(t, "a")
	first := add(t, log, user("u1"))[0]
	var missing *transcript.EntryNotFoundError
	if _, err := log.Append(t.Context(), transcript.LabelEntry("nope", "x")); !errors.As(err, &missing) || missing.ID != "nope" {
		t.Fatalf("label for an unknown row: %v", err)
	}
	add(t, log, transcript.LabelEntry(first.ID, "start"))
	s.restart(t, log, func(log transcript.Log) {
		b := branch(t, log)
		equal(t, "branch", len(b), 2)
		equal(t, "target", b[1].Field("targetId"), first.ID)
		equal(t, "label", b[1].Field("label"), "start")
	})
}

func checkState(t *testing.T, s suite) {
	log := s.create(t, "a")
	v := view(t, log)
	equal(t, "first thinking level", v.ThinkingLevel, "off")
	equal(t, "messages of an empty log", len(v.Messages), 0)
	add(t, log, transcript.ModelChangeEntry("p1", "m1"), transcript.ThinkingLevelEntry("high"), user("u1"))
	s.restart(t, log, func(log transcript.Log) {
		v := view(t, log)
		equal(t, "model", v.Provider+"/"+v.Model, "p1/m1")
		equal(t, "thinking level", v.ThinkingLevel, "high")
	})
	log = s.open(t, s.st, "a")
	add(t, log, answer("a1"), transcript.CustomMessageEntry("hint", "mind the gap"), transcript.BranchSummaryEntry("root", "went astray"))
	v = view(t, log)
	equal(t, "model that answered", v.Provider+"/"+v.Model, "acme/large")
	same(t, "view", texts(t, log), []string{"u1", "a1", "mind the gap", "[went astray]"})
	equal(t, "role of a custom message", v.Messages[2].Role, message.RoleCustom)
}

func checkCompaction(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"), answer("a1"), user("u2"), answer("a2"))
	before := view(t, log)
	if _, err := log.CommitCompaction(t.Context(), before.Generation, transcript.Compaction{Summary: "S", FirstKeptEntryID: "nope"}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("keeping from an unknown row: %v", err)
	}
	c, err := log.CommitCompaction(t.Context(), before.Generation, transcript.Compaction{
		Summary: "S1", FirstKeptEntryID: es[2].ID, TokensBefore: 100, Details: json.RawMessage(`{"files":["a"]}`),
	})
	noError(t, err, "CommitCompaction")
	equal(t, "type", c.Type, transcript.EntryCompaction)
	add(t, log, user("u3"))
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"[S1]", "u2", "a2", "u3"})
		v := view(t, log)
		equal(t, "key of a summary", v.Messages[0].Key, "")
		equal(t, "tokens before", v.Messages[0].TokensBefore, 100)
		equal(t, "key of a kept message", v.Messages[1].Key, es[2].ID)
		equal(t, "branch", len(branch(t, log)), 6)
		equal(t, "details", string(branch(t, log)[4].Compaction.Details), `{"files":["a"]}`)
	})
	log = s.open(t, s.st, "a")
	_, err = log.CommitCompaction(t.Context(), view(t, log).Generation, transcript.Compaction{Summary: "S2"})
	noError(t, err, "CommitCompaction")
	add(t, log, user("u4"))
	same(t, "view after keeping nothing", texts(t, log), []string{"[S2]", "u4"})
}

func checkSuperseded(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"), answer("a1"))
	gen := view(t, log).Generation
	add(t, log, user("u2"))
	equal(t, "generation after an append", view(t, log).Generation, gen)
	_, err := log.CommitCompaction(t.Context(), gen, transcript.Compaction{Summary: "S", FirstKeptEntryID: es[1].ID})
	noError(t, err, "CommitCompaction")
	if now := view(t, log).Generation; now <= gen {
		t.Fatalf("generation after a compaction: %d, before: %d", now, gen)
	}
	_, err = log.CommitCompaction(t.Context(), gen, transcript.Compaction{Summary: "T"})
	if !errors.Is(err, transcript.ErrSuperseded) {
		t.Fatalf("second compaction of the same generation: %v", err)
	}
	now := view(t, log).Generation
	s.restart(t, log, func(log transcript.Log) {
		equal(t, "generation", view(t, log).Generation, now)
		same(t, "view", texts(t, log), []string{"[S]", "a1", "u2"})
	})
}

func checkMeanwhile(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"), answer("a1"))
	gen := view(t, log).Generation
	add(t, log, user("meanwhile"))
	_, err := log.CommitCompaction(t.Context(), gen, transcript.Compaction{Summary: "S", Through: es[1].ID})
	noError(t, err, "CommitCompaction")
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"[S]", "meanwhile"})
	})
}

func checkLeaf(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"), answer("a1"), user("u2"))
	gen := view(t, log).Generation
	var missing *transcript.EntryNotFoundError
	if err := log.SetLeaf(t.Context(), "nope"); !errors.As(err, &missing) {
		t.Fatalf("moving to an unknown row: %v", err)
	}
	noError(t, log.SetLeaf(t.Context(), es[1].ID), "SetLeaf")
	if now := view(t, log).Generation; now <= gen {
		t.Fatalf("generation after a leaf move: %d, before: %d", now, gen)
	}
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"u1", "a1"})
	})
	log = s.open(t, s.st, "a")
	add(t, log, user("other"))
	noError(t, log.SetLeaf(t.Context(), ""), "SetLeaf")
	equal(t, "messages of the empty tree", len(view(t, log).Messages), 0)
	root := add(t, log, user("fresh"))[0]
	equal(t, "parent of a new root", root.ParentID, "")
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"fresh"})
	})
	log = s.open(t, s.st, "a")
	noError(t, log.SetLeaf(t.Context(), es[2].ID), "SetLeaf")
	same(t, "view of the old branch", texts(t, log), []string{"u1", "a1", "u2"})
}
