package transcript_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// Whatever is done to a log, by two logs and by other programs: everybody who has it open sees
// what somebody sees who opens it now.
func TestLive_IsWhatReopeningShows(t *testing.T) {
	t.Parallel()
	rounds := 25
	if testing.Short() {
		rounds = 10
	}
	for seed := range rounds {
		modelRound(t, uint64(seed))
	}
}

// model is one random history of a session.
type model struct {
	*testing.T
	rng   *rand.Rand
	path  string
	step  int
	trace []string
}

func (m *model) do(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

func modelRound(t *testing.T, seed uint64) {
	t.Helper()
	m := &model{T: t, rng: rand.New(rand.NewPCG(seed, 1)), path: writeSession(t, header, msg("a", "", "user", "one"))}
	logs := []transcript.Log{openLog(t, m.path, nil), openLog(t, m.path, nil)}
	defer logs[0].Close()
	defer logs[1].Close()
	for m.step = range 24 {
		m.act(logs[m.rng.IntN(2)])
		if m.rng.IntN(3) > 0 {
			continue
		}
		fresh := openLog(t, m.path, nil)
		want := describe(t, fresh)
		require.NoError(t, fresh.Close())
		for i := range logs {
			require.Empty(t, cmp.Diff(want, describe(t, logs[i])), "seed %d, log %d: %s", seed, i, strings.Join(m.trace, "; "))
		}
	}
	copied, err := transcript.Copy(t.Context(), transcript.NewMemory(), logs[0])
	require.NoError(t, err)
	require.Equal(t, texts(t, logs[0]), texts(t, copied), "seed %d: %s", seed, strings.Join(m.trace, "; "))
}

func (m *model) act(log transcript.Log) { m.actOn(log, m.rng.IntN(11)) }

func (m *model) actOn(log transcript.Log, what int) {
	es := entriesOf(m, log)
	any := es[m.rng.IntN(len(es))].ID
	switch what {
	case 0, 1, 2:
		e := user(fmt.Sprint("u", m.step))
		e.Side = m.rng.IntN(4) == 0
		m.do("append, side %v", e.Side)
		appendAll(m, log, e)
	case 3:
		m.do("append an answer, a side row and a level")
		side := user("side")
		side.Side = true
		appendAll(m, log, m.answer(), side, transcript.ThinkingLevelEntry(fmt.Sprint("l", m.step)))
	case 4:
		m.do("append rows of other types")
		appendAll(m, log, transcript.Entry{Type: "weird"}, transcript.CustomMessageEntry("t", fmt.Sprint("c", m.step)),
			transcript.BranchSummaryEntry("root", fmt.Sprint("bs", m.step)))
	case 5, 6:
		if m.rng.IntN(6) == 0 {
			any = ""
		}
		m.do("set leaf %s", any)
		require.NoError(m, log.SetLeaf(m.Context(), any))
	case 7:
		m.compact(log)
	case 8, 9:
		m.rewrite(log)
	case 10:
		m.foreign(any)
	}
}

func (m *model) answer() transcript.Entry {
	a := message.Assistant(message.Text(fmt.Sprint("as", m.step)))
	a.Provider, a.Model = "p", fmt.Sprint("m", m.step)
	return transcript.MessageEntry(a)
}

func (m *model) compact(log transcript.Log) {
	b := branchOf(m, log)
	c := transcript.Compaction{Summary: fmt.Sprint("S", m.step)}
	if len(b) > 0 && m.rng.IntN(3) > 0 {
		c.FirstKeptEntryID = b[m.rng.IntN(len(b))].ID
	}
	m.do("compact, keeping from %q", c.FirstKeptEntryID)
	_, err := log.CommitCompaction(m.Context(), viewOf(m, log).Generation, c)
	require.NoError(m, err)
}

func (m *model) rewrite(log transcript.Log) {
	v, b := viewOf(m, log), branchOf(m, log)
	if len(b) == 0 {
		return
	}
	id := b[m.rng.IntN(len(b))].ID
	to := message.User(fmt.Sprint("rw", m.step))
	if m.rng.IntN(3) == 0 {
		to = *m.answer().Message
	}
	r, err := log.Rewrite(m.Context(), transcript.RewriteRequest{Generation: v.Generation, Replacements: []transcript.Replacement{{EntryID: id, Message: to}}})
	m.do("rewrite %s: %v", id, r.Changed)
	require.NoError(m, err)
	require.Len(m, viewOf(m, log).Messages, len(v.Messages), "%v", m.trace)
}

func (m *model) foreign(parent string) {
	row := msg(fmt.Sprint("f", m.step), parent, "user", fmt.Sprint("foreign", m.step))
	switch m.rng.IntN(5) {
	case 0:
		m.do("another program appends a row of an unknown type under %s", parent)
		appendRaw(m, m.path, fmt.Sprintf(`{"type":"weird","id":"w%d","parentId":"%s","timestamp":"%s"}`+"\n", m.step, parent, stamp))
	case 1:
		m.do("another program appends under %s", parent)
		appendRaw(m, m.path, row+"\n")
	case 2:
		m.do("another program appends half a row")
		appendRaw(m, m.path, "\n"+row[:40])
	case 3:
		m.do("somebody appends half a batch")
		appendRaw(m, m.path, "\n"+inBatch(row, 1, 2)+"\n")
	case 4:
		m.do("another program moves the leaf to %s and appends elsewhere", parent)
		appendRaw(m, m.path, fmt.Sprintf("\n"+`{"type":"leaf","id":"l%d","parentId":"a","timestamp":"%s","targetId":"%s","appendParentId":"a"}`+"\n", m.step, stamp, parent))
	}
}

func TestLive_AppendParentOfAnotherProgram(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "A"), msg("b", "a", "user", "B"),
		`{"type":"leaf","id":"l","parentId":"b","timestamp":"`+stamp+`","targetId":"a","appendParentId":"b"}`)
	log := openLog(t, path, nil)
	v := viewOf(t, log)
	require.Equal(t, []string{"A"}, texts(t, log))
	appendAll(t, log, user("C"))
	require.Equal(t, []string{"A", "B", "C"}, texts(t, log), "what is appended hangs where the row says")
	require.Greater(t, viewOf(t, log).Generation, v.Generation, "the view did not just get longer")
	require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
}

func TestLive_RowsWithoutParentContinueTheLeaf(t *testing.T) {
	t.Parallel()
	old := strings.Replace(msg("c", "", "user", "C"), `"parentId":null,`, "", 1)
	path := writeSession(t, header, msg("a", "", "user", "A"), msg("b", "a", "user", "B"),
		`{"type":"leaf","id":"l","parentId":"b","timestamp":"`+stamp+`","targetId":"a","appendParentId":"b"}`, old)
	require.Equal(t, []string{"A", "C"}, texts(t, openLog(t, path, nil)))
}

func TestTree_WalkEndsWhereACircleCloses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rows [][2]string
		want []string
	}{
		{"two", [][2]string{{"a", "b"}, {"b", "a"}}, []string{"a", "b"}},
		{"a tail at its start", [][2]string{{"a", "c"}, {"b", "a"}, {"c", "b"}, {"d", "a"}}, []string{"b", "c", "a", "d"}},
		{"a tail at its end", [][2]string{{"a", "c"}, {"b", "a"}, {"c", "b"}, {"d", "c"}}, []string{"a", "b", "c", "d"}},
		{"itself", [][2]string{{"a", "a"}, {"b", "a"}}, []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := []string{header}
			for _, r := range tt.rows {
				lines = append(lines, msg(r[0], r[1], "user", r[0]))
			}
			path := writeSession(t, lines...)
			log := openLog(t, path, nil)
			require.Equal(t, tt.want, texts(t, log))
			require.NotEmpty(t, log.Problems())
			appendAll(t, log, user("more"))
			require.Equal(t, append(tt.want, "more"), texts(t, openLog(t, path, nil)))
			swap(t, log, "a", "A")
			require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
		})
	}
}

// A parent that comes later makes the active branch another one.
func TestLive_LateParentIsANewGeneration(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{`"weird"`, `"label","targetId":"q"`} {
		path := writeSession(t, header, msg("q", "", "user", "Q"), msg("x", "P", "user", "X"))
		log := openLog(t, path, nil)
		gen := viewOf(t, log).Generation
		require.Equal(t, []string{"X"}, texts(t, log))
		side := ""
		if typ != `"weird"` {
			side = `,"appendMode":"side"`
		}
		appendRaw(t, path, fmt.Sprintf(`{"type":%s,"id":"P","parentId":"q","timestamp":"%s"%s}`+"\n", typ, stamp, side))
		require.Equal(t, []string{"Q", "X"}, texts(t, log))
		require.Greater(t, viewOf(t, log).Generation, gen)
		require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
	}
}

// A leaf row whose own parent comes later still stands for its target.
func TestTree_LeafRowKeepsItsTarget(t *testing.T) {
	t.Parallel()
	leaf := `{"type":"leaf","id":"l","parentId":"late","timestamp":"` + stamp + `","targetId":"a"}`
	path := writeSession(t, header, msg("a", "", "user", "A"), msg("b", "a", "user", "B"), leaf,
		strings.Replace(msg("late", "b", "user", "L"), `"message":`, `"appendMode":"side","message":`, 1), msg("c", "l", "user", "C"))
	require.Equal(t, []string{"A", "C"}, texts(t, openLog(t, path, nil)))
}

func TestLive_RewriteTakesTheModelOfWhatItReplaces(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"))
	log := openLog(t, path, nil)
	m := message.Assistant(message.Text("x"))
	m.Provider, m.Model = "p", "m"
	out := appendAll(t, log, transcript.MessageEntry(m))
	require.Equal(t, "p", viewOf(t, log).Provider)
	swap(t, log, out[0].ID, "gone")
	require.Empty(t, viewOf(t, log).Provider)
	require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
}

// What cannot be stored as it is, is seen as it was stored at once.
func TestLive_WhatStoringChanges(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "one"))
	log := openLog(t, path, nil)
	viewOf(t, log)
	fine := transcript.CustomMessageEntry("t", "x")
	fine.Timestamp = time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC)
	out := appendAll(t, log, fine, user("nul \x00 and \xff bytes \u2028"))
	require.Equal(t, fine.Timestamp.Truncate(time.Millisecond), out[0].Timestamp)
	require.Equal(t, "nul \x00 and \uFFFD bytes \u2028", out[1].Message.Text())
	require.Equal(t, describe(t, openLog(t, path, nil)), describe(t, log))
}

// A compaction that keeps from a row of an unknown type keeps the same wherever it is copied to.
func TestCompaction_KeepingFromARowOfAnUnknownType(t *testing.T) {
	t.Parallel()
	compaction := func(kept, parent string) string {
		return `{"type":"compaction","id":"k","parentId":"` + parent + `","timestamp":"` + stamp + `","summary":"S","firstKeptEntryId":"` + kept + `","tokensBefore":5}`
	}
	odd := func(parent string) string {
		return `{"type":"weird","id":"o","parentId":` + parent + `,"timestamp":"` + stamp + `"}`
	}
	files := map[string][]string{
		"behind a row": {msg("a", "", "user", "A"), msg("b", "a", "user", "B"), odd(`"b"`), msg("c", "o", "user", "C"), compaction("o", "c"), msg("d", "k", "user", "D")},
		"as the root":  {odd("null"), msg("a", "o", "user", "A"), msg("c", "a", "user", "C"), compaction("o", "c"), msg("d", "k", "user", "D")},
	}
	want := map[string][]string{"behind a row": {"S", "B", "C", "D"}, "as the root": {"S", "A", "C", "D"}}
	for name, lines := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeSession(t, append([]string{header}, lines...)...)
			st, err := transcript.OpenDir(filepath.Dir(path), nil)
			require.NoError(t, err)
			log, err := st.Open(t.Context(), "s1")
			require.NoError(t, err)
			defer log.Close()
			require.Equal(t, want[name], texts(t, log))
			for _, copied := range []func() (transcript.Log, error){
				func() (transcript.Log, error) { return st.Fork(t.Context(), "s1", "") },
				func() (transcript.Log, error) { return st.Rotate(t.Context(), "s1", transcript.Header{}) },
				func() (transcript.Log, error) { return transcript.Copy(t.Context(), transcript.NewMemory(), log) },
			} {
				to, err := copied()
				require.NoError(t, err)
				require.Equal(t, want[name], texts(t, to))
				require.NoError(t, to.Close())
			}
			swap(t, log, "a", "A2")
			got := want[name]
			if name == "as the root" {
				got = []string{"S", "A2", "C", "D"}
			}
			require.Equal(t, got, texts(t, log))
			require.Equal(t, got, texts(t, openLog(t, path, nil)))
		})
	}
}
