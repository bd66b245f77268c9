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

	mu   sync.Mutex
	of   string
	edge int
	memo memo
}

// run returns the rewritten list. step must give the same for a message in every list that
// begins alike, as long as of and edge are the same, and for messages before the smaller
// of two edges whatever the edge.
func (l *leftPass) run(ms []message.Message, of string, edge int, step func(i int, m *message.Message) (message.Message, verdict)) []message.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	if of == l.of {
		n = l.memo.prefix(ms)
		if edge != l.edge {
			n = min(n, edge, l.edge)
		}
	}
	if l.reset != nil && (n == 0 || n < len(l.memo.seen)) {
		n = 0
		l.reset()
	}
	l.memo.cut(n)
	l.of, l.edge = of, edge
	for i := n; i < len(ms); i++ {
		m, v := step(i, &ms[i])
		l.memo.add(ms[i], m, v)
	}
	return l.memo.result(ms)
}

// rewriteAll is run without a memory.
func rewriteAll(ms []message.Message, step func(i int, m *message.Message) (message.Message, verdict)) []message.Message {
	var l leftPass
	return l.run(ms, "", 0, step)
}
