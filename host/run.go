package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

// Run drives a whole turn with Options.Model and the tools: it asks the model and
// runs the tools that the model calls, one after the other, until the model has
// no more calls. The error is why the turn failed; what it stored is in the
// Outcome and stays. Nothing but ctx limits how often the model may call tools.
//
// Tools are run by [CallTool]: their failures are results. When ctx ends during the tools,
// the calls that are left get such a result too. A run of a session's turn in one of its own
// tools waits until ctx ends.
func (h *Host) Run(ctx context.Context, ref ce.SessionRef, input message.Message, opts *TurnOptions) (Outcome, error) {
	if h.opts.Model == nil {
		return Outcome{Session: ref}, errors.New("running a turn: the host has no model")
	}
	t, err := h.Begin(ctx, ref, input, opts)
	if begun := (*BeginError)(nil); errors.As(err, &begun) {
		return begun.Outcome, err
	}
	if err != nil {
		return Outcome{Session: ref, Engine: h.engines.status()}, err
	}
	failure := errPanicked
	defer func() { _, _ = t.End(ctx, failure) }() // for panics of the model; else it has ended
	failure = t.loop(ctx)
	out, err := t.End(ctx, failure)
	return out, errors.Join(failure, err)
}

// errPanicked is why a turn failed in which something panicked that the host brought.
var errPanicked = errors.New("the turn was left by a panic")

// loop asks the model until it has no more calls.
func (t *Turn) loop(ctx context.Context) error {
	ctx, stop := t.h.bound(ctx)
	defer stop()
	for {
		reply, again, err := t.ask(ctx)
		if err != nil {
			return err
		}
		if again {
			continue
		}
		if ctx.Err() != nil { // it was paid for
			return errors.Join(context.Cause(ctx), t.persistLate(ctx, []message.Message{reply}))
		}
		if err := t.Append(ctx, reply); err != nil {
			return err
		}
		if reply.Failed() {
			return fmt.Errorf("the model's answer broke off (%s): %s", reply.StopReason, reply.ErrorMessage)
		}
		results := t.runTools(ctx, reply)
		if len(results) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), t.persistLate(ctx, results))
		}
		if err := t.Append(ctx, results...); err != nil {
			return err
		}
	}
}

// ask asks the model once. again: the request has to be sent anew.
func (t *Turn) ask(ctx context.Context) (reply message.Message, again bool, _ error) {
	start := time.Now()
	reply, err := t.h.complete(ctx, t.Request())
	t.observe(ctx, Event{Operation: OpModel, Duration: time.Since(start)}.costing(reply.Usage), err)
	if err != nil {
		again, failure := t.Recover(ctx, err)
		if again {
			return reply, true, nil
		}
		if failure == nil {
			failure = err
		}
		return reply, false, errors.Join(wrapAsking(failure), t.persistPartial(ctx, reply, err))
	}
	over := t.Overflowed(reply)
	if over == nil {
		return reply, false, nil
	}
	again, failure := t.Recover(ctx, over)
	switch {
	case again:
		return reply, true, nil
	case reply.Failed(), isEmpty(reply):
		return reply, false, wrapAsking(errors.Join(failure, t.persistPartial(ctx, reply, over)))
	}
	return reply, false, nil // the model did answer
}

func wrapAsking(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("asking the model: %w", err)
}

// persistPartial stores what came of an answer before it broke off, and closes its
// calls. What is empty is not stored.
func (t *Turn) persistPartial(ctx context.Context, m message.Message, cause error) error {
	if isEmpty(m) {
		return nil
	}
	m.StopReason, m.ErrorMessage = message.StopError, cause.Error()
	if ctx.Err() != nil {
		m.StopReason = message.StopAborted
	}
	return t.persistLate(ctx, []message.Message{m})
}

// persistLate stores the results of a turn that was aborted, so that its calls
// are closed.
func (t *Turn) persistLate(ctx context.Context, results []message.Message) error {
	ctx = context.WithoutCancel(ctx)
	t.op <- struct{}{}
	defer func() { <-t.op }()
	if t.ended {
		return t.endedError()
	}
	t.running = true
	return t.persist(ctx, results...)
}

// runTools answers every call of a reply.
func (t *Turn) runTools(ctx context.Context, reply message.Message) []message.Message {
	var results []message.Message
	tools := t.Request().Tools
	for call := range reply.ToolCalls() {
		results = append(results, CallTool(ctx, tools, call))
	}
	return results
}

// CallTool runs a call of the model with the tool of that name and returns the result, to be
// appended to the turn. It always returns one: the tool's error, its panic, a name that no tool
// has, and a ctx that has ended become results marked as errors. Use it with the tools of
// [Turn.Request], which have the engine's own among them.
//
// A tool must not run a turn of its own session: that waits for the turn that the tool is
// called in.
func CallTool(ctx context.Context, tools []ce.Tool, call message.Block) message.Message {
	if ctx.Err() != nil {
		return failedResult(call, "the run was aborted before this call")
	}
	for _, tool := range tools {
		if tool.Name() != call.Name {
			continue
		}
		blocks, err := callTool(ctx, tool, call)
		if err != nil {
			return failedResult(call, err.Error())
		}
		return message.ToolResult(call.ID, call.Name, blocks...)
	}
	return failedResult(call, fmt.Sprintf("there is no tool %q", call.Name))
}

func callTool(ctx context.Context, tool ce.Tool, call message.Block) (blocks []message.Block, err error) {
	defer func() {
		if v := recover(); v != nil {
			blocks, err = nil, &ce.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return tool.Call(ctx, call.Arguments)
}

func failedResult(call message.Block, text string) message.Message {
	m := message.ToolResult(call.ID, call.Name, message.Text(text))
	m.IsError = true
	return m
}
