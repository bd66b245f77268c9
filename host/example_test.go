package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
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
