package host

import (
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// A paired remembers the last list that was made ready for a provider. Messages do not
// change, so the same list, its beginning, or a longer one in the same memory need not be
// looked at again. It belongs to a session.
type paired struct {
	in, out []message.Message
	closed  bool // nothing was mended, and every call has its result
}

// ready makes a list that a provider takes.
func (p *paired) ready(list []message.Message) []message.Message {
	n := len(p.in)
	switch {
	case n > 0 && startsWith(list, p.in):
		if len(list) > n {
			return p.extend(list)
		}
		return p.out
	case p.closed && startsWith(p.in, list) && len(p.out) == n && &p.out[0] == &p.in[0] && !isResult(p.in[len(list)]):
		return list
	}
	out, mended := mend(list)
	*p = paired{in: list, out: out, closed: !mended}
	return out
}

// extend looks at what is new only, where that cannot change what was ready.
func (p *paired) extend(list []message.Message) []message.Message {
	n := len(p.in)
	if !p.closed || isResult(list[n]) {
		p.in = nil
		return p.ready(list)
	}
	added, mended := mend(list[n:])
	switch {
	case len(p.out) == n && startsWith(list, p.out) && startsWith(list[n:], added) && len(added) == len(list)-n:
		p.out = list
	case len(p.out) == n && len(p.out) > 0 && &p.out[0] == &p.in[0]:
		p.out = slices.Concat(p.out, added)
	default:
		p.out = append(p.out, added...)
	}
	p.in, p.closed = list, !mended
	return p.out
}

// isResult reports whether m may belong to a call in front of it.
func isResult(m message.Message) bool {
	return m.Role == message.RoleToolResult || holdsResults(m)
}

// ready makes a list that a provider takes.
func ready(list []message.Message) []message.Message {
	out, _ := mend(list)
	return out
}

// mend makes a list that a provider takes, and tells whether calls and results did not
// match.
func mend(list []message.Message) ([]message.Message, bool) {
	out, repair := message.RepairPairs(filled(split(message.ForModel(list))), nil)
	return out, repair != (message.Repair{})
}

// split makes messages of results inside messages of somebody else, as logs do when they
// are appended: an engine may have kept them in the form of its provider. It returns ms
// itself when there are none.
func split(ms []message.Message) []message.Message {
	i := slices.IndexFunc(ms, holdsResults)
	if i < 0 {
		return ms
	}
	out := slices.Clone(ms[:i])
	for _, m := range ms[i:] {
		out = append(out, message.SplitResults(m)...)
	}
	return out
}

func holdsResults(m message.Message) bool {
	return m.Role != message.RoleToolResult &&
		slices.ContainsFunc(m.Content, func(b message.Block) bool { return b.Type == message.BlockToolResult })
}

// noOutput stands in a result that has nothing in it.
const noOutput = "(no output)"

// filled leaves out messages that say nothing, which providers refuse, and gives empty
// results a text. It returns ms itself when there are none.
func filled(ms []message.Message) []message.Message {
	i := slices.IndexFunc(ms, isEmpty)
	if i < 0 {
		return ms
	}
	out := slices.Clone(ms[:i])
	for _, m := range ms[i:] {
		switch {
		case !isEmpty(m):
			out = append(out, m)
		case m.Role == message.RoleToolResult:
			m.Content = []message.Block{message.Text(noOutput)}
			out = append(out, m)
		}
	}
	return out
}

func isEmpty(m message.Message) bool {
	return !slices.ContainsFunc(m.Content, func(b message.Block) bool {
		return b.Type != message.BlockText || strings.TrimSpace(b.Text) != ""
	})
}
