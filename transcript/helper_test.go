package transcript_test

import (
	"encoding/json"
	"fmt"
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
	var out []transcript.Entry
	for e, err := range r.Branch(t.Context()) {
		require.NoError(t, err)
		out = append(out, e)
	}
	return out
}

func entriesOf(t testing.TB, r transcript.Reader) []transcript.Entry {
	t.Helper()
	var out []transcript.Entry
	for e, err := range r.Entries(t.Context()) {
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
