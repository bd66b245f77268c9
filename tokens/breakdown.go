package tokens

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/message"
)

// A Breakdown says where a window goes, in tokens. The categories do not overlap.
type Breakdown struct {
	System  int // system prompt
	Tools   int // tool definitions
	History int // text of the messages, calls and results, with framing
	Images  int
	Other   int // audio, files and blocks of unknown type
	Prompt  int // the pending input
	Reserve int // what the budget keeps free
}

// Used is what a request takes: everything but the reserve.
func (b Breakdown) Used() int {
	return sum(b.System, b.Tools, b.History, b.Images, b.Other, b.Prompt)
}

// Total is Used plus the reserve.
func (b Breakdown) Total() int { return sum(b.Used(), b.Reserve) }

// Parts are the parts of one request, as far as they are known. The zero value is an
// empty request.
type Parts struct {
	System  string
	Tools   []json.RawMessage // definitions, as JSON
	History []message.Message // without the pending input
	Prompt  string            // "": no input is pending
	Budget  Budget
}

// Measure counts the parts of a request with e.
func Measure(e Estimator, p Parts) Breakdown {
	b := Breakdown{System: e.Text(p.System), Reserve: p.Budget.EffectiveReserve()}
	for _, tool := range p.Tools {
		b.Tools += e.Schema(tool)
	}
	if p.Prompt != "" {
		b.Prompt = e.Message(message.User(p.Prompt))
	}
	b.Images, b.Other = attachments(e, p.History)
	b.History = Messages(e, p.History) - b.Images - b.Other
	return b
}

// attachments returns what images and what other blocks cost in a list: for each
// message that has some, by how much it gets cheaper without them.
func attachments(e Estimator, ms []message.Message) (images, other int) {
	for i := range ms {
		noImages := without(ms[i], isImage)
		plain := without(noImages, isOther)
		if len(plain.Content) == len(ms[i].Content) {
			continue
		}
		n := e.Message(noImages)
		images += max(0, e.Message(ms[i])-n)
		other += max(0, n-e.Message(plain))
	}
	return images, other
}

func isImage(b *message.Block) bool { return b.Type == message.BlockImage }

func isOther(b *message.Block) bool { return !b.Type.Valid() && !b.IsCall() }

// without returns m less the blocks that match; m itself when none does.
func without(m message.Message, match func(*message.Block) bool) message.Message {
	var kept []message.Block
	for i := range m.Content {
		switch b := &m.Content[i]; {
		case match(b) && kept == nil:
			kept = append(make([]message.Block, 0, len(m.Content)), m.Content[:i]...)
		case !match(b) && kept != nil:
			kept = append(kept, *b)
		}
	}
	if kept != nil {
		m.Content = kept
	}
	return m
}
