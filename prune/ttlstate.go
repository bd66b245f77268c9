package prune

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// A shortening is how CacheTTL shows a result.
type shortening string

const (
	trimmed shortening = "trim"
	cleared shortening = "clear"
)

// ttlState is what a CacheTTL pass remembers of its session.
type ttlState struct {
	// Touched is when a request last succeeded, by model, in epoch milliseconds.
	Touched map[string]int64 `json:"touched,omitempty"`
	// Results are the decisions, by identity of the result.
	Results map[string]ttlResult `json:"results,omitempty"`
}

type ttlResult struct {
	Sum string     `json:"h"`
	How shortening `json:"as"`
}

func newTTLState() ttlState {
	return ttlState{Touched: map[string]int64{}, Results: map[string]ttlResult{}}
}

// of returns the decision about a message.
func (s *ttlState) of(m *message.Message) (shortening, bool) {
	if m.Role != message.RoleToolResult || len(s.Results) == 0 {
		return "", false
	}
	r, ok := s.Results[identity(m)]
	return r.How, ok && r.Sum == fingerprint(m)
}

func (s *ttlState) set(m *message.Message, how shortening) {
	s.Results[identity(m)] = ttlResult{Sum: fingerprint(m), How: how}
}

// forget drops decisions about results that the list no longer has, and reports whether
// there were any.
func (s *ttlState) forget(ms []message.Message) bool {
	had := len(s.Results)
	forgetAbsent(s.Results, ms)
	return len(s.Results) < had
}

// check refuses a state that no pass can have.
func (s *ttlState) check() error {
	if s.Touched == nil || s.Results == nil {
		return errNoObject
	}
	for model, at := range s.Touched {
		if at < 0 {
			return fmt.Errorf("the request to %q has the impossible time %d", model, at)
		}
	}
	for id, r := range s.Results {
		if r.Sum == "" || r.How != trimmed && r.How != cleared {
			return fmt.Errorf("%q has no sum or is shown as %q", id, r.How)
		}
	}
	return nil
}

// Snapshot implements Stateful.
func (p *cacheTTL) Snapshot() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.state.Touched)+len(p.state.Results) == 0 {
		return nil
	}
	b, err := json.Marshal(p.state)
	if err != nil {
		return nil // cannot be: strings and numbers
	}
	return b
}

// Restore implements Stateful.
func (p *cacheTTL) Restore(b []byte) error {
	state := newTTLState()
	if len(b) > 0 {
		read := &state
		if err := json.Unmarshal(b, &read); err != nil {
			return fmt.Errorf("restoring pruning state: %w", err)
		}
		if read == nil {
			return fmt.Errorf("restoring pruning state: %w", errNoObject)
		}
	}
	if err := state.check(); err != nil {
		return fmt.Errorf("restoring pruning state: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	p.memo.cut(0)
	return nil
}

// show returns a result as decided.
func (p *cacheTTL) show(m *message.Message, how shortening) message.Message {
	out := *m
	switch text, ok := p.shownText(m, how); {
	case !ok:
		return out
	default:
		out.Content = []message.Block{message.Text(text)}
		return withoutForm(out)
	}
}

func (p *cacheTTL) shownText(m *message.Message, how shortening) (string, bool) {
	if how == cleared {
		return p.clearedText(m.Key), true
	}
	parts, images := segments(m)
	text := strings.Join(parts, "\n")
	if wasShortened(text) {
		return text, images
	}
	n, trim := unitLen(text), p.opts.SoftTrim
	first, last := max(0, trim.Head), max(0, trim.Tail)
	if n <= max(0, trim.Max) || first+last >= n {
		return text, images
	}
	return head(text, first) + "\n...\n" + tail(text, last) + shortenedText(first, last, n, m.Key), true
}

func (p *cacheTTL) clearedText(entry string) string {
	switch {
	case p.opts.Placeholder != "":
		return p.opts.Placeholder
	case entry != "":
		return "[earlier tool output is left out; all of it is entry " + entry + "]"
	default:
		return ClearedText
	}
}

// segments are the texts of a result, and a text for each image.
func segments(m *message.Message) (parts []string, images bool) {
	images = slices.ContainsFunc(m.Content, func(b message.Block) bool { return b.Type == message.BlockImage })
	for i := range m.Content {
		switch b := &m.Content[i]; b.Type {
		case message.BlockText:
			parts = append(parts, b.Text)
		case message.BlockImage:
			parts = append(parts, PrunedImageText)
		}
	}
	return parts, images
}
