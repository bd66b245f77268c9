package compact_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

func Example() {
	ctx := context.Background()
	store := transcript.NewMemory()
	session, err := store.Create(ctx, transcript.Header{ID: "demo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	for i := range 30 {
		_, err := session.Append(
			ctx,
			transcript.MessageEntry(message.User(fmt.Sprintf("Step %d, please.", i))),
			transcript.MessageEntry(message.Assistant(message.Text(strings.Repeat("Done and checked. ", 20)))),
		)
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	compactor, err := compact.New(store, &compact.Options{
		KeepRecent: 520,
		Summarizer: compact.Scripted(compact.Reply{Text: "Steps 0 to 24 are done."}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := compactor.CompactSession(ctx, ce.CompactParams{
		SessionRef: ce.SessionRef{SessionID: "demo"},
		Trigger:    ce.TriggerManual,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Reason, "-", res.Detail)
	view, err := session.View(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(view.Messages) < 60, view.Messages[0].Summary)
	// Output:
	// compacted - The older part of the conversation was replaced by a summary.
	// true Steps 0 to 24 are done.
}

func ExampleMakePlan() {
	var view transcript.View
	for i := range 6 {
		m := message.User(strings.Repeat("A question of some length. ", 20))
		if i%2 == 1 {
			m = message.Assistant(message.Text(strings.Repeat("An answer of some length. ", 20)))
		}
		m.Key = fmt.Sprint("entry-", i)
		view.Messages = append(view.Messages, m)
	}
	plan, err := compact.MakePlan(view, &compact.Options{KeepRecent: 300, Estimator: tokens.Compat()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan.Explain())
	// Output:
	// view: 795 tokens
	// first summary
	// summarise: 4 messages (2 user, 2 assistant)
	// source: 530 tokens
	// keep: 2 messages (1 user, 1 assistant), 265 tokens, from "entry-4"
}

func ExampleIsContextOverflow() {
	err := errors.New("prompt is too long: 210,000 tokens > 200,000 maximum")
	n, _ := compact.ObservedTokens(err)
	fmt.Println(compact.IsContextOverflow(err), n)
	fmt.Println(compact.IsContextOverflow(errors.New("429: too many tokens per minute")))
	// Output:
	// true 210000
	// false
}

// A test of a host scripts what the summarising model answers, and looks at what it was asked.
func ExampleScripted() {
	ctx := context.Background()
	store := transcript.NewMemory()
	session, err := store.Create(ctx, transcript.Header{ID: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for range 10 {
		question := message.User("What is in chapter one? " + strings.Repeat("Please be exact. ", 50))
		answer := message.Assistant(message.Text("A storm. " + strings.Repeat("It rains. ", 50)))
		if _, err := session.Append(ctx, transcript.MessageEntry(question), transcript.MessageEntry(answer)); err != nil {
			log.Fatal(err)
		}
	}
	script := compact.Scripted(compact.Reply{Err: errors.New("overloaded")}, compact.Reply{Text: "Chapter one is a storm."})
	c, err := compact.New(store, &compact.Options{
		Summarizer: script, KeepRecent: 400,
		Retry: compact.Retry{MinDelay: time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := c.CompactSession(ctx, ce.CompactParams{SessionRef: ce.SessionRef{SessionID: "demo"}, Trigger: ce.TriggerManual})
	fmt.Println(res.Compacted, res.Reason, err)
	fmt.Println("asked again:", len(script.Requests()) > 1)
	fmt.Println("about the storm:", strings.Contains(script.Requests()[0].Source, "A storm."))
	// Output:
	// true compacted <nil>
	// asked again: true
	// about the storm: true
}
