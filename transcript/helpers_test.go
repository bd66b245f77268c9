package transcript_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

const (
	stamp  = "2026-07-01T00:00:00.000Z"
	header = `{"type":"session","version":3,"id":"s1","timestamp":"` + stamp + `","cwd":"/w"}`
)

// msg is a message row.
func msg(id, parent, role, text string) string {
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":%q,"message":{"role":%q,"content":%s,"timestamp":1}}`,
		id, p, stamp, role, raw)
}

// writeSession writes lines, each with a newline, and returns the file's path.
func writeSession(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

func openLog(t testing.TB, path string, opts *transcript.DirOptions) transcript.Log {
	t.Helper()
	log, err := transcript.OpenFile(path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() }) // some tests close it themselves
	return log
}

func viewOf(t testing.TB, r transcript.Reader) transcript.View {
	t.Helper()
	v, err := r.View(t.Context())
	require.NoError(t, err)
	return v
}

// texts is the text of each message of the view; of summaries, the summary.
func texts(t testing.TB, r transcript.Reader) []string {
	t.Helper()
	out := []string{}
	for _, m := range viewOf(t, r).Messages {
		text := m.Text()
		if m.Summary != "" {
			text = m.Summary
		}
		out = append(out, text)
	}
	return out
}

func keys(t testing.TB, r transcript.Reader) []string {
	t.Helper()
	out := []string{}
	for _, m := range viewOf(t, r).Messages {
		out = append(out, m.Key)
	}
	return out
}

func branchOf(t testing.TB, r transcript.Reader) []transcript.Entry {
	t.Helper()
	return collect(t, r.Branch(t.Context()))
}

func entriesOf(t testing.TB, r transcript.Reader) []transcript.Entry {
	t.Helper()
	return collect(t, r.Entries(t.Context()))
}

func collect(t testing.TB, entries iter.Seq2[transcript.Entry, error]) []transcript.Entry {
	t.Helper()
	var out []transcript.Entry
	for e, err := range entries {
		require.NoError(t, err)
		out = append(out, e)
	}
	return out
}

func ids(entries []transcript.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

func problemLines(r transcript.Reader) []int {
	out := []int{}
	for _, p := range r.Problems() {
		out = append(out, p.Line)
	}
	return out
}

func read(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(raw)
}

func user(text string) transcript.Entry { return transcript.MessageEntry(message.User(text)) }

func assistant(text string) transcript.Entry {
	return transcript.MessageEntry(message.Assistant(message.Text(text)))
}

func appendAll(t testing.TB, log transcript.Log, entries ...transcript.Entry) []transcript.Entry {
	t.Helper()
	out, err := log.Append(t.Context(), entries...)
	require.NoError(t, err)
	return out
}

func openDir(t testing.TB, dir string, opts *transcript.DirOptions) transcript.Store {
	t.Helper()
	st, err := transcript.OpenDir(dir, opts)
	require.NoError(t, err)
	return st
}

func newSessionDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	st, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	appendAll(t, log, user("start"))
	require.NoError(t, log.Close())
	return dir
}

func openIn(t testing.TB, dir, id string) transcript.Log {
	t.Helper()
	st, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	log, err := st.Open(t.Context(), id)
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func listDir(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// longSession writes a session of n messages.
func longSession(t testing.TB, n int, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, header)
	parent := ""
	for i := range n {
		id := fmt.Sprintf("%08x", i)
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		fmt.Fprintln(w, msg(id, parent, role, text))
		parent = id
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	return path
}

var errInjected = errors.New("injected")

// describe says what a reader sees of a log.
func describe(t testing.TB, r transcript.Reader) string {
	t.Helper()
	v := viewOf(t, r)
	var b strings.Builder
	fmt.Fprintf(&b, "gen %d %s/%s %s\n", v.Generation, v.Provider, v.Model, v.ThinkingLevel)
	for _, m := range v.Messages {
		fmt.Fprintf(&b, "%s %q %q %q %v\n", m.Role, m.Key, m.Text(), m.Summary, m.Timestamp.UTC())
	}
	for _, e := range branchOf(t, r) {
		fmt.Fprintf(&b, "[%s %s<-%s %s %v %v]", e.Type, e.ID, e.ParentID, e.Key, e.Side, e.Timestamp.UTC())
	}
	return b.String()
}

// appendRaw is another program that appends without asking.
func appendRaw(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// inBatch marks a row as row n of rows that were appended together.
func inBatch(row string, n, rows int) string {
	return strings.Replace(row, `"message":`, fmt.Sprintf(`"contextengine":{"batch":"x","row":%d,"rows":%d},"message":`, n, rows), 1)
}

func swap(t testing.TB, log transcript.Log, key, text string) transcript.RewriteResult {
	t.Helper()
	r, err := log.Rewrite(t.Context(), transcript.RewriteRequest{
		Generation:   viewOf(t, log).Generation,
		Replacements: []transcript.Replacement{{EntryID: key, Message: message.User(text)}},
	})
	require.NoError(t, err)
	return r
}

func redact(m message.Message) message.Message {
	m.Summary = strings.ReplaceAll(m.Summary, "hunter2", "***")
	blocks := make([]message.Block, len(m.Content))
	for i, b := range m.Content {
		b.Text = strings.ReplaceAll(b.Text, "hunter2", "***")
		blocks[i] = b
	}
	m.Content = blocks
	return m
}

// writeBig writes a session of about size bytes: tool results of 8 kB, and answers between them.
func writeBig(t testing.TB, path string, size int) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, header)
	text := strings.Repeat(paragraph, 16)
	parent := ""
	for n, i := len(header), 0; n < size; i++ {
		id := fmt.Sprintf("%08x", i)
		line := msg(id, parent, "user", text)
		n += len(line) + 1
		fmt.Fprintln(w, line)
		parent = id
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
}
