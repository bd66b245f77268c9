package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

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

func checkKeys(t *testing.T, s suite) {
	log := s.create(t, "a")
	add(t, log, user("ok"), answer("ok"), user("ok"), call("call_0"), result("call_0", "1"))
	before := keys(t, log)
	add(t, log, call("call_0"), result("call_0", "2"))
	all := keys(t, log)
	same(t, "keys of a prefix", all[:len(before)], before)
	seen := map[string]bool{}
	for _, k := range all {
		if k == "" || seen[k] {
			t.Fatalf("keys are not distinct: %q", all)
		}
		seen[k] = true
	}
	s.restart(t, log, func(log transcript.Log) {
		same(t, "keys", keys(t, log), all)
	})
}
