package compact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// newLog makes a session "s" in a new memory store.
func newLog(t *testing.T, ms ...message.Message) (transcript.Store, transcript.Log) {
	t.Helper()
	store := transcript.NewMemory()
	log, err := store.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	appendAll(t, log, ms...)
	return store, log
}

func appendAll(t *testing.T, log transcript.Log, ms ...message.Message) []transcript.Entry {
	t.Helper()
	entries := make([]transcript.Entry, len(ms))
	for i, m := range ms {
		entries[i] = transcript.MessageEntry(m)
	}
	out, err := log.Append(t.Context(), entries...)
	require.NoError(t, err)
	return out
}

// dump is everything that a log holds, for comparing it before and after.
func dump(t *testing.T, log transcript.Log) string {
	t.Helper()
	var b strings.Builder
	for e, err := range log.Entries(t.Context()) {
		require.NoError(t, err)
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s\n", raw)
	}
	return b.String()
}

func view(t *testing.T, log transcript.Log) transcript.View {
	t.Helper()
	v, err := log.View(t.Context())
	require.NoError(t, err)
	return v
}

// talk is a conversation of n turns: an ask, a call with its result, an answer.
func talk(n int) []message.Message {
	var ms []message.Message
	for i := range n {
		id := fmt.Sprintf("call_%d", i)
		ms = append(
			ms,
			message.User(fmt.Sprintf("Please look at step %d of the migration and tell me what is wrong with it.", i)),
			message.Assistant(
				message.Text("I will read the script first."),
				message.ToolCall(id, "read", json.RawMessage(fmt.Sprintf(`{"path":"/srv/app/step%02d.sql"}`, i))),
			),
			message.ToolResult(id, "read", message.Text(strings.Repeat("ALTER TABLE orders ADD COLUMN total bigint; ", 20))),
			message.Assistant(message.Text(fmt.Sprintf("Step %d locks the table. We decided to add the column without a default.", i))),
		)
	}
	return ms
}

func ref() ce.SessionRef { return ce.SessionRef{SessionID: "s"} }

func compactor(t *testing.T, store transcript.Store, opts *compact.Options) *compact.Compactor {
	t.Helper()
	c, err := compact.New(store, opts)
	require.NoError(t, err)
	return c
}

// manual is what a host sends for /compact.
func manual() ce.CompactParams {
	return ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerManual, Force: true}
}

// viewOf is a view of messages with keys k0, k1, …; a summary has none.
func viewOf(ms ...message.Message) transcript.View {
	v := transcript.View{Messages: append([]message.Message(nil), ms...)}
	for i := range v.Messages {
		if v.Messages[i].Role != message.RoleCompactionSummary {
			v.Messages[i].Key = fmt.Sprintf("k%d", i)
		}
	}
	return v
}

func call(id string) message.Message {
	return message.Assistant(message.ToolCall(id, "read", json.RawMessage(`{"path":"a.go"}`)))
}

func result(id string) message.Message {
	return message.ToolResult(id, "read", message.Text("package a"))
}

// genMessages draws a list that is well formed or not.
func genMessages() *rapid.Generator[[]message.Message] {
	return rapid.Custom(func(t *rapid.T) []message.Message {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		var ms []message.Message
		for i := range n {
			text := strings.Repeat("word ", rapid.IntRange(0, 60).Draw(t, "len"))
			id := fmt.Sprintf("c%d", rapid.IntRange(0, 5).Draw(t, "id"))
			switch rapid.IntRange(0, 7).Draw(t, "kind") {
			case 0, 1:
				ms = append(ms, message.User("ask "+text))
			case 2:
				ms = append(ms, message.Assistant(message.Text(text)))
			case 3:
				ms = append(ms, message.Assistant(message.ToolCall(id, "read", nil)))
			case 4:
				ms = append(ms, message.Assistant(message.ToolCall(id, "read", nil)), message.ToolResult(id, "read", message.Text(text)))
			case 5:
				ms = append(ms, message.ToolResult(id, "read", message.Text(text)))
			case 6:
				ms = append(ms, message.Custom("note", message.Text(text)))
			case 7:
				if i == 0 {
					ms = append(ms, message.Message{Role: message.RoleCompactionSummary, Summary: text})
				}
			}
		}
		return ms
	})
}

func brief() compact.Summarizer {
	return compact.Scripted(compact.Reply{Text: "The migration locks tables."})
}
