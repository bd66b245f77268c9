package hosttest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
)

// ErrScriptEnded is what a Model answers when its script has no more steps.
var ErrScriptEnded = errors.New("the model's script has ended")

// A Step answers one request.
type Step func(ctx context.Context, r host.Request) (message.Message, error)

// Reply answers with text.
func Reply(text string) Step { return ReplyUsing(text, nil) }

// ReplyUsing answers with text and reports usage; nil: none.
func ReplyUsing(text string, u *message.Usage) Step {
	return func(context.Context, host.Request) (message.Message, error) {
		m := message.Assistant(message.Text(text))
		m.StopReason, m.Usage = message.StopEnd, u
		return m, nil
	}
}

// Calls answers with tool calls.
func Calls(calls ...message.Block) Step {
	return func(context.Context, host.Request) (message.Message, error) {
		m := message.Assistant(calls...)
		m.StopReason = message.StopToolUse
		return m, nil
	}
}

// Fail answers with an error.
func Fail(err error) Step {
	return func(context.Context, host.Request) (message.Message, error) { return message.Message{}, err }
}

// Hang answers when the request's context ends, with its cause.
func Hang() Step {
	return func(ctx context.Context, _ host.Request) (message.Message, error) {
		<-ctx.Done()
		return message.Message{}, context.Cause(ctx)
	}
}

// A Model answers from a script and records the requests. Safe for concurrent
// use; concurrent sessions share the script.
type Model struct {
	mu       sync.Mutex
	steps    []Step
	rest     Step // when the script has ended; nil: ErrScriptEnded
	requests []host.Request
}

var _ host.Model = (*Model)(nil)

// NewModel returns a Model that takes one step per request.
func NewModel(steps ...Step) *Model { return &Model{steps: slices.Clone(steps)} }

// Always returns a Model that takes the same step for every request.
func Always(step Step) *Model { return &Model{rest: step} }

// Add appends steps to the script.
func (m *Model) Add(steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
}

// Complete implements [host.Model].
func (m *Model) Complete(ctx context.Context, r host.Request) (message.Message, error) {
	m.mu.Lock()
	m.requests = append(m.requests, r)
	step := m.rest
	if len(m.steps) > 0 {
		step, m.steps = m.steps[0], m.steps[1:]
	}
	m.mu.Unlock()
	if step == nil {
		return message.Message{}, ErrScriptEnded
	}
	return step(ctx, r)
}

// Requests returns what the model was asked, oldest first.
func (m *Model) Requests() []host.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}
