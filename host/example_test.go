package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A whole turn, with the host's model and tools.
func ExampleHost_Run() {
	ctx := context.Background()
	model := hosttest.NewModel(hosttest.Reply("Good morning."))
	h, err := host.New(transcript.NewMemory(), &host.Options{Model: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)

	out, err := h.Run(ctx, ce.SessionRef{SessionID: "greeting"}, message.User("Good morning!"), nil)
	fmt.Println(out.Reply.Text(), err)
	fmt.Println("answered by", out.Engine.Answering)
	// Output:
	// Good morning. <nil>
	// answered by legacy
}

// The same turn for a host that has a loop of its own.
func ExampleHost_Begin() {
	ctx := context.Background()
	h, err := host.New(transcript.NewMemory(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)

	t, err := h.Begin(ctx, ce.SessionRef{SessionID: "greeting"}, message.User("Good morning!"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("send:", len(t.Request().Messages), "message")
	err = t.Append(ctx, message.Assistant(message.Text("Good morning.")))
	out, endErr := t.End(ctx, err)
	fmt.Println("stored:", len(out.Messages), "messages", endErr)
	// Output:
	// send: 1 message
	// stored: 2 messages <nil>
}

// A loop of the host's own, with tools.
func ExampleCallTool() {
	ctx := context.Background()
	model := hosttest.NewModel(
		hosttest.Calls(message.ToolCall("c1", "clock", nil)), hosttest.Reply("It is noon."),
	)
	clock := hosttest.Tool("clock", func(context.Context, json.RawMessage) ([]message.Block, error) {
		return []message.Block{message.Text("12:00")}, nil
	})
	h, err := host.New(transcript.NewMemory(), &host.Options{Tools: []ce.Tool{clock}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)

	out, err := takeTurn(ctx, h, model, message.User("What time is it?"))
	fmt.Println(out.Reply.Text(), err)
	fmt.Println("stored:", len(out.Messages), "messages")
	// Output:
	// It is noon. <nil>
	// stored: 4 messages
}

// takeTurn takes one input to its answer.
func takeTurn(ctx context.Context, h *host.Host, model host.Model, input message.Message) (out host.Outcome, err error) {
	t, err := h.Begin(ctx, ce.SessionRef{SessionID: "greeting"}, input, nil)
	if err != nil {
		return out, err
	}
	defer func() { // in a defer, so that a panic ends the turn too
		var endErr error
		out, endErr = t.End(ctx, err)
		err = errors.Join(err, endErr)
	}()
	for {
		request := t.Request()
		reply, err := model.Complete(ctx, request)
		if err != nil {
			return out, err // or t.Recover
		}
		if err := t.Append(ctx, reply); err != nil {
			return out, err
		}
		var results []message.Message
		for call := range reply.ToolCalls() {
			results = append(results, host.CallTool(ctx, request.Tools, call))
		}
		if len(results) == 0 {
			return out, nil
		}
		if err := t.Append(ctx, results...); err != nil {
			return out, err
		}
	}
}

// A loop that recovers from requests that are too large, and shortens them as far as the
// host allows.
func ExampleTurn_Recover() {
	ctx := context.Background()
	model := &hosttest.Strict{Model: hosttest.Always(hosttest.Reply("I see.")), Window: 1_000, Estimator: hosttest.ByteCount{}}
	h, err := host.New(transcript.NewMemory(), &host.Options{Model: model, DropOldest: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	ref := ce.SessionRef{SessionID: "long"}
	if _, err := h.Run(ctx, ref, message.User(strings.Repeat("a long story ", 70)), nil); err != nil {
		fmt.Println(err)
	}

	t, err := h.Begin(ctx, ref, message.User(strings.Repeat("it goes on ", 70)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		reply, err := model.Complete(ctx, t.Request())
		if err == nil {
			err = t.Overflowed(reply) // an answer, but to less than was asked?
		}
		if err != nil {
			again, failure := t.Recover(ctx, err)
			if again {
				continue
			}
			err = errors.Join(err, failure)
		} else {
			err = t.Append(ctx, reply)
		}
		out, endErr := t.End(ctx, err)
		fmt.Println("refused at first:", model.Refused() > 0)
		fmt.Println(out.Reply.Text(), endErr)
		return
	}
	// Output:
	// refused at first: true
	// I see. <nil>
}

// A host that keeps what it has over restarts: sessions and what it learnt of them in one
// folder, a window to stay within, and a log of what happens.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	start := func(steps ...hosttest.Step) (*host.Host, error) {
		store, err := transcript.OpenDir(dir, nil)
		if err != nil {
			return nil, err
		}
		return host.New(store, &host.Options{
			Model: hosttest.NewModel(steps...),
			Models: func(_ context.Context, name string) (host.ModelInfo, error) {
				return host.ModelInfo{Provider: "acme", ID: "acme-1", Budget: tokens.NewBudget(128_000, nil)}, nil
			},
			System: func(context.Context, prompt.Run) (prompt.Prompt, error) {
				return prompt.Prompt{Stable: "You are a patient assistant."}, nil
			},
			State:    host.DirState(dir),
			Observer: host.SlogObserver(slog.Default()), // what goes well only at debug level
		})
	}

	h, err := start(hosttest.Reply("Noted."))
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := h.Run(ctx, ce.SessionRef{}, message.User("My name is Ada."), nil)
	if err != nil {
		fmt.Println(err)
	}
	session := out.Session // the store made its id
	if err := h.Close(ctx); err != nil {
		fmt.Println(err)
	}

	h, err = start(hosttest.Reply("Ada."))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	out, err = h.Run(ctx, session, message.User("What is my name?"), nil)
	fmt.Println(out.Reply.Text(), err)
	status := h.Status(session)
	fmt.Printf("%s answers, %d tokens are a window, %d of them in reserve\n", status.Engine.Answering, status.Window, status.Reserve)
	res, err := h.Compact(ctx, session, "names") // the user typed /compact
	fmt.Println(res.Reason.Sentence(), err)
	// Output:
	// Ada. <nil>
	// legacy answers, 128000 tokens are a window, 20000 of them in reserve
	// There is nothing older than the recent part that is kept. <nil>
}

// A session that starts over goes on under another id; one that the user deletes is ended,
// and then its log is deleted.
func ExampleHost_EndSession() {
	ctx := context.Background()
	store := transcript.NewMemory()
	h, err := host.New(store, &host.Options{Model: hosttest.Always(hosttest.Reply("ok"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	old := ce.SessionRef{SessionID: "monday", SessionKey: "chat:ada"}
	if _, err := h.Run(ctx, old, message.User("hello"), nil); err != nil {
		fmt.Println(err)
	}

	// The user typed /new. To start from what the model sees now instead, make the next
	// session with store.Rotate and say BoundaryRotated.
	next := ce.SessionRef{SessionID: "tuesday", SessionKey: "chat:ada"}
	if err := h.EndSession(ctx, old, ce.BoundaryReset, next); err != nil {
		fmt.Println(err)
	}
	out, err := h.Run(ctx, next, message.User("hello again"), &host.TurnOptions{Boundary: ce.BoundaryReset, Previous: old})
	fmt.Println(out.Session.SessionID, "has", len(out.Messages), "messages", err)

	// The user deleted the old one.
	if err := h.EndSession(ctx, old, ce.BoundaryDeleted, ce.SessionRef{}); err != nil {
		fmt.Println(err)
	}
	if err := store.Delete(ctx, old.SessionID); err != nil {
		fmt.Println(err)
	}
	_, err = store.Open(ctx, old.SessionID)
	fmt.Println("gone:", errors.Is(err, fs.ErrNotExist))
	// Output:
	// tuesday has 2 messages <nil>
	// gone: true
}

// A provider that answers piece by piece.
type talker struct{ words []string }

func (m talker) Stream(_ context.Context, r host.Request) iter.Seq2[message.Block, error] {
	return func(yield func(message.Block, error) bool) {
		for _, word := range m.words {
			if r.Purpose == "" { // not a summary: the user is waiting
				fmt.Print(word, "|")
			}
			if !yield(message.Text(word), nil) {
				return
			}
		}
		end := message.Message{StopReason: message.StopEnd, Usage: &message.Usage{Input: 12, Output: 3}}
		yield(host.Finish(end), nil)
	}
}

// Complete is for callers other than a host, which always streams.
func (m talker) Complete(context.Context, host.Request) (message.Message, error) {
	return message.Assistant(message.Text(strings.Join(m.words, ""))), nil
}

// The pieces are shown as they come and stored as one message.
func ExampleStreamingModel() {
	ctx := context.Background()
	h, err := host.New(transcript.NewMemory(), &host.Options{Model: talker{[]string{"Good ", "morn", "ing."}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	out, err := h.Run(ctx, ce.SessionRef{SessionID: "greeting"}, message.User("Good morning!"), nil)
	fmt.Println()
	fmt.Println(len(out.Reply.Content), out.Reply.Text(), out.Reply.Usage.Output, err)
	// Output:
	// Good |morn|ing.|
	// 1 Good morning. 3 <nil>
}
