package storetest

import (
	"errors"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

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
