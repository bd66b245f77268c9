package storetest

import (
	"iter"
	"slices"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func (s suite) create(t *testing.T, id string) transcript.Log {
	t.Helper()
	log, err := s.st.Create(t.Context(), transcript.Header{ID: id, Cwd: "/work"})
	noError(t, err, "Create")
	t.Cleanup(func() { _ = log.Close() }) // checks may have closed it
	return log
}

func (s suite) open(t *testing.T, st transcript.Store, id string) transcript.Log {
	t.Helper()
	log, err := st.Open(t.Context(), id)
	noError(t, err, "Open")
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// restart calls again with what log reads before and after a restart.
func (s suite) restart(t *testing.T, log transcript.Log, again func(transcript.Log)) {
	t.Helper()
	again(log)
	if s.reopen == nil {
		return
	}
	id := log.Header().ID
	noError(t, log.Close(), "Close")
	again(s.open(t, s.reopen(t, s.st), id))
}

func user(text string) transcript.Entry { return transcript.MessageEntry(message.User(text)) }

func answer(text string) transcript.Entry {
	m := message.Assistant(message.Text(text))
	m.Provider, m.Model, m.StopReason = "acme", "large", "stop"
	return transcript.MessageEntry(m)
}

func result(id, text string) transcript.Entry {
	return transcript.MessageEntry(message.ToolResult(id, "read", message.Text(text)))
}

func call(id string) transcript.Entry {
	return transcript.MessageEntry(message.Assistant(message.ToolCall(id, "read", []byte(`{"path":"a"}`))))
}

func add(t *testing.T, log transcript.Log, entries ...transcript.Entry) []transcript.Entry {
	t.Helper()
	out, err := log.Append(t.Context(), entries...)
	noError(t, err, "Append")
	return out
}

func view(t *testing.T, r transcript.Reader) transcript.View {
	t.Helper()
	v, err := r.View(t.Context())
	noError(t, err, "View")
	return v
}

// texts are the texts of the view, summaries in brackets.
func texts(t *testing.T, r transcript.Reader) []string {
	t.Helper()
	out := []string{}
	for _, m := range view(t, r).Messages {
		if m.Summary != "" {
			out = append(out, "["+m.Summary+"]")
			continue
		}
		out = append(out, m.Text())
	}
	return out
}

func keys(t *testing.T, r transcript.Reader) []string {
	t.Helper()
	out := []string{}
	for _, m := range view(t, r).Messages {
		out = append(out, m.Key)
	}
	return out
}

func branch(t *testing.T, r transcript.Reader) []transcript.Entry {
	t.Helper()
	return collect(t, r.Branch(t.Context()), "Branch")
}

func rows(t *testing.T, r transcript.Reader) []transcript.Entry {
	t.Helper()
	return collect(t, r.Entries(t.Context()), "Entries")
}

func collect(t *testing.T, entries iter.Seq2[transcript.Entry, error], what string) []transcript.Entry {
	t.Helper()
	var out []transcript.Entry
	for e, err := range entries {
		noError(t, err, what)
		out = append(out, e)
	}
	return out
}

func noError(t *testing.T, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
