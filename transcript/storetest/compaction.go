package storetest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

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
