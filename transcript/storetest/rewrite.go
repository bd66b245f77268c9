package storetest

import (
	"slices"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func shortened(e transcript.Entry, text string) transcript.Replacement {
	return transcript.Replacement{
		EntryID: e.Message.Key,
		Message: message.ToolResult(e.Message.ToolCallID, e.Message.ToolName, message.Text(text)),
	}
}

func checkRewrite(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"), call("c1"), result("c1", "a long result, long enough to be worth it"))
	es = append(es, add(t, log, transcript.LabelEntry(es[2].ID, "here"), answer("a1"), user("u2"))...)
	before := keys(t, log)
	v := view(t, log)
	r, err := log.Rewrite(t.Context(), transcript.RewriteRequest{
		Replacements: []transcript.Replacement{shortened(es[2], "short")}, Generation: v.Generation,
	})
	noError(t, err, "Rewrite")
	if !r.Changed || r.RewrittenEntries != 1 || r.BytesFreed <= 0 || r.Reason != "" {
		t.Fatalf("result: %+v", r)
	}
	if now := view(t, log).Generation; now <= v.Generation {
		t.Fatalf("generation after a rewrite: %d, before: %d", now, v.Generation)
	}
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), []string{"u1", "", "short", "a1", "u2"})
		same(t, "keys", keys(t, log), before)
		b := branch(t, log)
		equal(t, "branch", len(b), 6)
		equal(t, "row before the first target", b[1].ID, es[1].ID)
		if b[2].ID == es[2].ID || b[4].ID == es[4].ID {
			t.Fatal("rows that were appended again have their old ids")
		}
		equal(t, "target of the label", b[3].Field("targetId"), b[2].ID)
	})
	log = s.open(t, s.st, "a")
	noError(t, log.SetLeaf(t.Context(), es[5].ID), "SetLeaf")
	same(t, "view of the old branch", texts(t, log), []string{"u1", "", "a long result, long enough to be worth it", "a1", "u2"})
}

func checkRewriteReasons(t *testing.T, s suite) {
	log := s.create(t, "a")
	try := func(what, want string, r transcript.RewriteRequest) {
		t.Helper()
		got, err := log.Rewrite(t.Context(), r)
		noError(t, err, what)
		equal(t, what, got, transcript.RewriteResult{Reason: want})
	}
	one := func(id, text string) []transcript.Replacement {
		return []transcript.Replacement{{EntryID: id, Message: message.User(text)}}
	}
	try("no replacements", transcript.ReasonNoReplacements, transcript.RewriteRequest{})
	try("blank id", transcript.ReasonNoReplacements, transcript.RewriteRequest{Replacements: one("  ", "x")})
	try("empty session", transcript.ReasonEmptySession, transcript.RewriteRequest{Replacements: one("x", "x")})

	es := add(t, log, user("u1"), transcript.ModelChangeEntry("p", "m"), user("u2"), user("u3"))
	gen := view(t, log).Generation
	try("unknown id", transcript.ReasonNoMatch, transcript.RewriteRequest{Replacements: one("nope", "x"), Generation: gen})
	try("not a message", transcript.ReasonSpansBranches, transcript.RewriteRequest{Replacements: one(es[1].ID, "x"), Generation: gen})
	try("one of two", transcript.ReasonSpansBranches, transcript.RewriteRequest{
		Replacements: slices.Concat(one(es[0].ID, "x"), one("nope", "x")), Generation: gen,
	})
	try("guard", transcript.ReasonSuffixGuard, transcript.RewriteRequest{
		Replacements: one(es[2].ID, "x"), AllowedSuffixEntryIDs: []string{es[2].ID},
	})
	try("empty guard", transcript.ReasonSuffixGuard, transcript.RewriteRequest{
		Replacements: one(es[2].ID, "x"), AllowedSuffixEntryIDs: []string{},
	})
	noError(t, log.SetLeaf(t.Context(), es[2].ID), "SetLeaf")
	try("generation", transcript.ReasonSuffixChanged, transcript.RewriteRequest{Replacements: one(es[0].ID, "x"), Generation: gen})
	same(t, "view", texts(t, log), []string{"u1", "u2"})

	got, err := log.Rewrite(t.Context(), transcript.RewriteRequest{
		Replacements: one(es[3].ID, "x3"), AllowedSuffixEntryIDs: []string{es[3].ID},
	})
	noError(t, err, "Rewrite of another branch")
	equal(t, "changed", got.Changed, true)
	s.restart(t, log, func(log transcript.Log) {
		same(t, "active branch after a rewrite of another", texts(t, log), []string{"u1", "u2"})
		all := rows(t, log)
		if !slices.ContainsFunc(all, func(e transcript.Entry) bool { return e.Message != nil && e.Message.Text() == "x3" }) {
			t.Fatal("the other branch was not rewritten")
		}
	})
}

func checkRewriteReplay(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"), call("c1"), result("c1", "a long result"), answer("a1"))
	req := transcript.RewriteRequest{
		Replacements: []transcript.Replacement{shortened(es[2], "short")}, Generation: view(t, log).Generation,
	}
	_, err := log.Rewrite(t.Context(), req)
	noError(t, err, "Rewrite")
	n := len(rows(t, log))
	s.restart(t, log, func(log transcript.Log) {
		for range 3 {
			got, err := log.Rewrite(t.Context(), req)
			noError(t, err, "Rewrite again")
			equal(t, "result", got, transcript.RewriteResult{Reason: transcript.ReasonAlreadyRewritten})
		}
		equal(t, "rows", len(rows(t, log)), n)
		same(t, "view", texts(t, log), []string{"u1", "", "short", "a1"})
	})
}
