package host

import (
	"context"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// rows are messages that a turn appended, and the entries at both ends.
type rows struct {
	messages    []message.Message
	first, last transcript.Entry
}

// add takes up appended entries.
func (r *rows) add(entries []transcript.Entry) {
	for _, e := range entries {
		m, ok := e.InView()
		if !ok {
			continue
		}
		if len(r.messages) == 0 {
			r.first = e
		}
		r.last = e
		r.messages = append(r.messages, m)
	}
}

// without returns ms without the messages of r.
func (r *rows) without(ms []message.Message) []message.Message {
	if len(r.messages) == 0 {
		return ms
	}
	own := make(map[string]bool, len(r.messages))
	for _, m := range r.messages {
		own[m.Key] = m.Key != ""
	}
	out := make([]message.Message, 0, len(ms))
	for _, m := range ms {
		if !own[m.Key] {
			out = append(out, m)
		}
	}
	return out
}

// awaitsModel reports whether the next thing is to ask the model: every call has
// its result, and the model did not just give its last word.
func (r *rows) awaitsModel() bool {
	n := len(r.messages)
	if n == 0 || r.messages[n-1].Role == message.RoleAssistant {
		return false
	}
	for u := range message.Units(r.messages) {
		if u.Open {
			return false
		}
	}
	return true
}

// waits reports whether the turn is in the middle of a tool loop.
func (r *rows) waits() bool {
	if len(r.messages) == 0 {
		return false
	}
	last := r.messages[len(r.messages)-1]
	for range last.ToolCalls() {
		return true
	}
	return last.Role == message.RoleToolResult
}

// rowsFrom returns the messages of the active branch from one on, by its key. "" and what
// the branch does not have are none.
func rowsFrom(ctx context.Context, log transcript.Reader, first string) (rows, error) {
	var out rows
	if first == "" {
		return out, nil
	}
	for e, err := range log.Branch(ctx) {
		if err != nil {
			return rows{}, err
		}
		m, shown := e.InView()
		if !shown || e.Type == transcript.EntryCompaction {
			continue
		}
		if len(out.messages) > 0 || m.Key == first || e.ID == first {
			out.add([]transcript.Entry{e})
		}
	}
	return out, nil
}
