package hosttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// A Strict model refuses what providers refuse, and asks another model about the rest.
// A request above the window is an overflow, as a host must expect it. Any other fault
// is a mistake of the host: it is refused too, and recorded.
//
//   - There are messages, of the roles user, assistant and toolResult, and none is empty.
//   - The first is the user's, the last is the user's or a result.
//   - Every call is followed by exactly one result, and no result stands elsewhere.
//
// Its usage is what it counts. Safe for concurrent use.
type Strict struct {
	Model     host.Model
	Window    int              // tokens; 0: any size
	Estimator tokens.Estimator // nil: tokens.ScriptAware

	mu       sync.Mutex
	refused  int
	mistakes []error
}

var _ host.Model = (*Strict)(nil)

// Complete implements [host.Model].
func (m *Strict) Complete(ctx context.Context, r host.Request) (message.Message, error) {
	if err := CheckRequest(r); err != nil {
		m.mu.Lock()
		m.mistakes = append(m.mistakes, err)
		m.mu.Unlock()
		return message.Message{}, fmt.Errorf("400 invalid request: %w", err)
	}
	n := m.count(r)
	if m.Window > 0 && n > m.Window {
		m.mu.Lock()
		m.refused++
		m.mu.Unlock()
		return message.Message{}, fmt.Errorf("400 prompt is too long: %d tokens > %d maximum", n, m.Window)
	}
	reply, err := m.Model.Complete(ctx, r)
	if err == nil && reply.Usage == nil {
		reply.Usage = &message.Usage{Input: n, Output: m.estimator().Message(reply)}
		reply.Usage.Total = n + reply.Usage.Output
	}
	return reply, err
}

func (m *Strict) estimator() tokens.Estimator {
	if m.Estimator == nil {
		return tokens.ScriptAware()
	}
	return m.Estimator
}

// count is the size of a request.
func (m *Strict) count(r host.Request) int {
	e := m.estimator()
	n := e.Text(r.System.String())
	for _, x := range r.Messages {
		n += e.Message(x)
	}
	for _, tool := range r.Tools {
		n += e.Text(tool.Name()) + e.Text(tool.Description()) + e.Schema(tool.Schema())
	}
	return n
}

// Refused is how many requests were above the window.
func (m *Strict) Refused() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// Mistakes are what was wrong with requests, nil: nothing was.
func (m *Strict) Mistakes() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(m.mistakes...)
}

// CheckRequest says what of a request no provider takes; see [Strict]. The size is not
// looked at.
func CheckRequest(r host.Request) error {
	ms := r.Messages
	if len(ms) == 0 {
		return errors.New("no messages")
	}
	var errs []error
	if ms[0].Role != message.RoleUser {
		errs = append(errs, fmt.Errorf("the first message is of role %q", ms[0].Role))
	}
	if last := ms[len(ms)-1].Role; last != message.RoleUser && last != message.RoleToolResult {
		errs = append(errs, fmt.Errorf("the last message is of role %q", last))
	}
	for i, m := range ms {
		switch m.Role {
		case message.RoleUser, message.RoleAssistant, message.RoleToolResult:
		default:
			errs = append(errs, fmt.Errorf("message %d is of role %q", i, m.Role))
		}
		if saysNothing(m) {
			errs = append(errs, fmt.Errorf("message %d of role %q is empty", i, m.Role))
		}
	}
	return errors.Join(append(errs, checkPairs(ms))...)
}

func saysNothing(m message.Message) bool {
	for _, b := range m.Content {
		if b.Type != message.BlockText || strings.TrimSpace(b.Text) != "" {
			return false
		}
	}
	return true
}

// checkPairs reports the first call or result that stands alone. Calls of one message may
// share an id, as some models make them.
func checkPairs(ms []message.Message) error {
	open, waiting := map[string]int{}, 0
	for i, m := range ms {
		if m.Role == message.RoleToolResult {
			if open[m.ToolCallID] == 0 {
				return fmt.Errorf("message %d is a result of no call (%q)", i, m.ToolCallID)
			}
			open[m.ToolCallID]--
			waiting--
			continue
		}
		if waiting > 0 {
			return fmt.Errorf("message %d stands between a call and its result", i)
		}
		for call := range m.ToolCalls() {
			open[call.ID]++
			waiting++
		}
	}
	if waiting > 0 {
		return errors.New("the last calls have no results")
	}
	return nil
}
