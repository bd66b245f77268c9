package prune

import (
	"sync"

	"github.com/go-contextengine/contextengine/message"
)

// A leftPass rewrites each message by itself, from left to right, with a memo. The zero
// leftPass is ready.
type leftPass struct {
	// reset is called before the first message of a list is rewritten, for steps that
	// carry something from message to message. Optional. If set, a list that does not
	// begin like the last one is rewritten from its start.
	reset func()
	// from is asked where to begin when a list differs from the last one at n, for steps
	// that look ahead. Optional. If nil, at n.
	from func(ms []message.Message, n int) int

	mu   sync.Mutex
	of   string
	edge edge
	memo memo
}

// An edge is where a list's earlier messages, which stay as they were rewritten, end.
type edge struct {
	at int
	as string // what else the messages from at on are rewritten by
}

// run returns the rewritten list. step must give the same for a message in every list that
// begins alike, as long as of and edge are the same, and for messages before the smaller
// of two edges whatever the edge.
func (l *leftPass) run(ms []message.Message, of string, at edge, step rewrite) []message.Message {
	out, _ := l.runFrom(ms, 0, of, at, step)
	return out
}

// runFrom is run for a list of which the first known messages are those of the last one. It
// also tells how much of the result is that of the last one.
func (l *leftPass) runFrom(ms []message.Message, known int, of string, at edge, step rewrite) ([]message.Message, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	if of == l.of {
		n = l.memo.prefixFrom(ms, known)
		if at != l.edge {
			n = min(n, at.at, l.edge.at)
		}
	}
	if l.from != nil && n > 0 && n < len(l.memo.seen) {
		n = l.from(ms, n)
	}
	if l.reset != nil && (n == 0 || n < len(l.memo.seen)) {
		n = 0
		l.reset()
	}
	l.memo.cut(n)
	l.of, l.edge = of, at
	stays := l.memo.end(n)
	for i := n; i < len(ms); i++ {
		m, v := step(i, &ms[i])
		l.memo.add(ms[i], m, v)
	}
	return l.memo.result(ms), stays
}

// A rewrite says what becomes of message i of a list.
type rewrite func(i int, m *message.Message) (message.Message, verdict)

// rewriteAll is run without a memory.
func rewriteAll(ms []message.Message, step rewrite) []message.Message {
	var l leftPass
	return l.run(ms, "", edge{}, step)
}
