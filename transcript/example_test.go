package transcript_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"sync"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A session, its compaction, and what a model sees of it.
func Example() {
	ctx := context.Background()
	store := transcript.NewMemory() // or transcript.OpenDir(dir, nil)
	session, err := store.Create(ctx, transcript.Header{ID: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	entries, err := session.Append(ctx,
		transcript.MessageEntry(message.User("What is a transcript?")),
		transcript.MessageEntry(message.Assistant(message.Text("The log of a session."))),
		transcript.MessageEntry(message.User("And a view?")),
	)
	if err != nil {
		log.Fatal(err)
	}

	view, err := session.View(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := session.CommitCompaction(ctx, view.Generation, transcript.Compaction{
		Summary:          "We talked about transcripts.",
		FirstKeptEntryID: entries[2].ID,
	}); err != nil {
		log.Fatal(err)
	}

	view, err = session.View(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range view.Messages {
		fmt.Printf("%s: %s%s\n", m.Role, m.Summary, m.Text())
	}
	// Output:
	// compactionSummary: We talked about transcripts.
	// user: And a view?
}

// A long tool result is replaced by a short one; its place in the conversation and its key stay.
func ExampleLog_rewrite() {
	ctx := context.Background()
	session, err := transcript.NewMemory().Create(ctx, transcript.Header{ID: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	entries, err := session.Append(ctx,
		transcript.MessageEntry(message.Assistant(message.ToolCall("c1", "read", []byte(`{"path":"log.txt"}`)))),
		transcript.MessageEntry(message.ToolResult("c1", "read", message.Text("ten thousand lines …"))),
	)
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.Rewrite(ctx, transcript.RewriteRequest{
		Replacements: []transcript.Replacement{{
			EntryID: entries[1].ID,
			Message: message.ToolResult("c1", "read", message.Text("(cut)")),
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	view, err := session.View(ctx)
	if err != nil {
		log.Fatal(err)
	}
	last := view.Messages[1]
	fmt.Println(result.Changed, result.RewrittenEntries, last.Text(), last.Key == entries[1].ID)
	// Output: true 1 (cut) true
}

// rows is a message list in a host's own database, here a map.
type rows struct {
	mu       sync.Mutex
	sessions map[string][]message.Message
}

func (r *rows) Load(_ context.Context, sessionID string) ([]message.Message, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sessions[sessionID]), nil
}

func (r *rows) Append(_ context.Context, sessionID string, ms ...message.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[sessionID] = append(r.sessions[sessionID], ms...)
	return nil
}

// A host brings the messages that it has. What is added goes into its list as well.
func ExampleFromHistory() {
	ctx := context.Background()
	db := &rows{sessions: map[string][]message.Message{
		"ada": {message.User("Remember the blue door."), message.Assistant(message.Text("I will."))},
	}}
	store := transcript.FromHistory(db) // for host.New
	session, err := store.Open(ctx, "ada")
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Append(ctx, transcript.MessageEntry(message.User("Which door?"))); err != nil {
		log.Fatal(err)
	}
	view, err := session.View(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(view.Messages), "seen,", len(db.sessions["ada"]), "stored, each with a key:", view.Messages[0].Key != "")
	// Output: 3 seen, 3 stored, each with a key: true
}
