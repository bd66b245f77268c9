package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"github.com/go-contextengine/contextengine/transcript"
)

func checkStore(t *testing.T, s suite) {
	if _, err := s.st.Open(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("opening what is not there: %v", err)
	}
	log := s.create(t, "a")
	if _, err := s.st.Create(t.Context(), transcript.Header{ID: "a"}); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("creating a session twice: %v", err)
	}
	add(t, log, user("u1"))
	noError(t, log.Close(), "Close")
	if _, err := s.st.Create(t.Context(), transcript.Header{ID: "a"}); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("creating a stored session again: %v", err)
	}
	made, err := s.st.Create(t.Context(), transcript.Header{})
	noError(t, err, "Create without an id")
	defer made.Close()
	h := made.Header()
	if h.ID == "" || h.Timestamp.IsZero() || h.Version != 3 {
		t.Fatalf("header is not filled in: %+v", h)
	}
}

func checkOpenTwice(t *testing.T, s suite) {
	one := s.create(t, "a")
	add(t, one, user("u1"))
	two := s.open(t, s.st, "a")
	add(t, two, answer("a1"))
	same(t, "view of the first log", texts(t, one), []string{"u1", "a1"})
	noError(t, one.Close(), "Close")
	noError(t, one.Close(), "Close again")
	add(t, two, user("u2"))
	same(t, "view of the second log", texts(t, two), []string{"u1", "a1", "u2"})
}

func checkList(t *testing.T, s suite) {
	list := func(st transcript.Store) []string {
		ids := []string{}
		for h, err := range st.List(t.Context()) {
			noError(t, err, "List")
			ids = append(ids, h.ID)
		}
		slices.Sort(ids)
		return ids
	}
	same(t, "list of an empty store", list(s.st), []string{})
	for _, id := range []string{"b", "a", "c"} {
		add(t, s.create(t, id), user(id))
	}
	same(t, "list", list(s.st), []string{"a", "b", "c"})
	for range s.st.List(t.Context()) {
		break
	}
	if s.reopen != nil {
		same(t, "list after a restart", list(s.reopen(t, s.st)), []string{"a", "b", "c"})
	}
}

func checkDelete(t *testing.T, s suite) {
	log := s.create(t, "a")
	add(t, log, user("u1"))
	add(t, s.create(t, "b"), user("u1"))
	noError(t, s.st.Delete(t.Context(), "a"), "Delete")
	if _, err := s.st.Open(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("opening a deleted session: %v", err)
	}
	if err := s.st.Delete(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("deleting a session twice: %v", err)
	}
	if _, err := log.Append(t.Context(), user("u2")); err == nil {
		t.Fatal("a deleted session took an entry")
	}
	s.open(t, s.st, "b")
	add(t, s.create(t, "a"), user("new"))
	same(t, "view of a new session with the id", texts(t, s.open(t, s.st, "a")), []string{"new"})
}

func checkFork(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"), answer("a1"), user("u2"))
	add(t, log, transcript.LabelEntry(es[2].ID, "later"))
	wantKeys := keys(t, log)
	half, err := s.st.Fork(t.Context(), "a", es[1].ID)
	noError(t, err, "Fork")
	t.Cleanup(func() { _ = half.Close() })
	equal(t, "parent", half.Header().ParentSession, "a")
	equal(t, "boundary", half.Header().Boundary, "forked")
	add(t, half, user("other"))
	s.restart(t, half, func(half transcript.Log) {
		same(t, "view", texts(t, half), []string{"u1", "a1", "other"})
		same(t, "keys", keys(t, half)[:2], wantKeys[:2])
	})
	whole, err := s.st.Fork(t.Context(), "a", "")
	noError(t, err, "Fork")
	t.Cleanup(func() { _ = whole.Close() })
	same(t, "view of a whole fork", texts(t, whole), []string{"u1", "a1", "u2"})
	same(t, "view of the source", texts(t, log), []string{"u1", "a1", "u2"})
	if _, err := s.st.Fork(t.Context(), "a", "nope"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("forking at an unknown row: %v", err)
	}
	if _, err := s.st.Fork(t.Context(), "none", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("forking an unknown session: %v", err)
	}
}

func checkRotate(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, transcript.ThinkingLevelEntry("low"), user("u1"), answer("a1"), user("u2"), answer("a2"))
	_, err := log.CommitCompaction(t.Context(), view(t, log).Generation, transcript.Compaction{Summary: "S", FirstKeptEntryID: es[3].ID})
	noError(t, err, "CommitCompaction")
	add(t, log, user("u3"))
	want, wantKeys := texts(t, log), keys(t, log)
	next, err := s.st.Rotate(t.Context(), "a", transcript.Header{ID: "b"})
	noError(t, err, "Rotate")
	t.Cleanup(func() { _ = next.Close() })
	equal(t, "id", next.Header().ID, "b")
	equal(t, "parent", next.Header().ParentSession, "a")
	equal(t, "boundary", next.Header().Boundary, "rotated")
	s.restart(t, next, func(next transcript.Log) {
		same(t, "view", texts(t, next), want)
		same(t, "keys", keys(t, next), wantKeys)
		equal(t, "thinking level", view(t, next).ThinkingLevel, "low")
		equal(t, "rows", len(rows(t, next)), 5)
	})
	same(t, "view of the predecessor", texts(t, log), want)
	if _, err := s.st.Rotate(t.Context(), "none", transcript.Header{}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("rotating an unknown session: %v", err)
	}
}

func checkCopy(t *testing.T, s suite) {
	src, err := transcript.NewMemory().Create(t.Context(), transcript.Header{ID: "src", Cwd: "/w"})
	noError(t, err, "Create")
	es := add(t, src, user("u1"), call("c1"), result("c1", "long result"), answer("a1"))
	_, err = src.Rewrite(t.Context(), transcript.RewriteRequest{Replacements: []transcript.Replacement{shortened(es[2], "r")}})
	noError(t, err, "Rewrite")
	add(t, src, transcript.Entry{Type: "future_row"}, user("u2"))
	noError(t, src.SetLeaf(t.Context(), es[3].ID), "SetLeaf")

	log, err := transcript.Copy(t.Context(), s.st, src)
	noError(t, err, "Copy")
	t.Cleanup(func() { _ = log.Close() })
	equal(t, "id", log.Header().ID, "src")
	s.restart(t, log, func(log transcript.Log) {
		same(t, "view", texts(t, log), texts(t, src))
		same(t, "keys", keys(t, log), keys(t, src))
	})
	if _, err := transcript.Copy(t.Context(), s.st, src); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("copying a session twice: %v", err)
	}
}

func checkSnapshot(t *testing.T, s suite) {
	log := s.create(t, "a")
	add(t, log, user("u1"), answer("a1"))
	v := view(t, log)
	seen := 0
	for _, err := range log.Branch(t.Context()) {
		noError(t, err, "Branch")
		if seen == 0 {
			add(t, log, user("u2"))
		}
		seen++
	}
	equal(t, "rows seen by a reader that began before", seen, 2)
	equal(t, "messages of a view taken before", len(v.Messages), 2)
	_ = append(v.Messages, v.Messages[0]) // a borrower that forgets itself
	same(t, "view", texts(t, log), []string{"u1", "a1", "u2"})
}

func checkConcurrent(t *testing.T, s suite) {
	const writers, each = 8, 25
	s.create(t, "a")
	var wg sync.WaitGroup
	for w := range writers {
		log := s.open(t, s.st, "a")
		wg.Go(func() {
			for i := range each {
				if _, err := log.Append(t.Context(), user(fmt.Sprintf("%d-%d", w, i))); err != nil {
					t.Errorf("Append: %v", err)
				}
				if _, err := log.View(t.Context()); err != nil {
					t.Errorf("View: %v", err)
				}
			}
		})
	}
	wg.Wait()
	s.restart(t, s.open(t, s.st, "a"), func(log transcript.Log) {
		got := texts(t, log)
		equal(t, "messages", len(got), writers*each)
		next := make(map[int]int)
		for _, text := range got {
			var w, i int
			if _, err := fmt.Sscanf(text, "%d-%d", &w, &i); err != nil || next[w] != i {
				t.Fatalf("message %q of writer %d comes where %d should", text, w, next[w])
			}
			next[w]++
		}
	})
}

func checkCancelled(t *testing.T, s suite) {
	log := s.create(t, "a")
	es := add(t, log, user("u1"))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("changed my mind")
	cancel(why)
	_, appended := log.Append(ctx, user("u2"))
	_, compacted := log.CommitCompaction(ctx, 0, transcript.Compaction{Summary: "S"})
	_, rewritten := log.Rewrite(ctx, transcript.RewriteRequest{Replacements: []transcript.Replacement{shortened(es[0], "x")}})
	_, opened := s.st.Open(ctx, "a")
	_, created := s.st.Create(ctx, transcript.Header{ID: "b"})
	for name, err := range map[string]error{
		"Append": appended, "CommitCompaction": compacted, "Rewrite": rewritten, "Open": opened, "Create": created,
		"SetLeaf": log.SetLeaf(ctx, ""), "Delete": s.st.Delete(ctx, "a"),
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s on a cancelled context: %v", name, err)
		}
	}
	same(t, "view", texts(t, log), []string{"u1"})
}

func checkClosed(t *testing.T, s suite) {
	log := s.create(t, "a")
	add(t, log, user("u1"))
	noError(t, log.Close(), "Close")
	_, viewed := log.View(t.Context())
	_, appended := log.Append(t.Context(), user("u2"))
	_, compacted := log.CommitCompaction(t.Context(), 0, transcript.Compaction{Summary: "S"})
	_, rewritten := log.Rewrite(t.Context(), transcript.RewriteRequest{})
	var walked error
	for _, err := range log.Branch(t.Context()) {
		walked = err
	}
	for name, err := range map[string]error{
		"View": viewed, "Append": appended, "CommitCompaction": compacted, "Rewrite": rewritten,
		"Branch": walked, "SetLeaf": log.SetLeaf(t.Context(), ""),
	} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s on a closed log: %v", name, err)
		}
	}
	equal(t, "id of a closed log", log.Header().ID, "a")
}

func checkIDs(t *testing.T, s suite) {
	for _, id := range []string{"..", "../x", "a/../../x", "/etc/passwd", `..\x`, `a\b`, "a/b", ".hidden", "x\x00y", "a\nb", "   "} {
		if _, err := s.st.Create(t.Context(), transcript.Header{ID: id}); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Create(%q): %v", id, err)
		}
		if _, err := s.st.Open(t.Context(), id); err == nil {
			t.Errorf("Open(%q) found something", id)
		}
	}
	for _, id := range []string{"agent:main:main", "id with spaces", "名前", "a.b.c", "a_b", "b", "100%", "x.jsonl.y"} {
		add(t, s.create(t, id), user(id))
	}
	for _, id := range []string{"agent:main:main", "id with spaces", "名前", "a.b.c", "a_b", "b", "100%", "x.jsonl.y"} {
		s.restart(t, s.open(t, s.st, id), func(log transcript.Log) {
			equal(t, "id", log.Header().ID, id)
			same(t, "view", texts(t, log), []string{id})
		})
	}
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
