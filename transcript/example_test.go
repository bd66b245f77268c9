package transcript_test

import (
	"context"
	"fmt"
	"log"

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
