package prune

import (
	"sync"

	"github.com/go-contextengine/contextengine/message"
)

// A rewriter rewrites each message by itself, from left to right, with a memo. The zero
// rewriter is ready.
type rewriter struct {
	// reset is called before the first message of a list is rewritten, for steps that
	// carry something from message to message. Optional. If set, a list that does not
	// begin like the last one is rewritten from its start.
	reset func()
	// from is asked where to begin when a list differs from the last one at n, for steps
	// that look ahead. Optional. If nil, at n.
	from func(ms []message.Message, n int) int

	mu      sync.Mutex
	variant string
	edge    edge
	memo    memo
}

// An edge is where a list's earlier messages, which stay as they were rewritten, end.
type edge struct {
	at      int
	variant string // what else the messages from at on are rewritten by
}

// run returns the rewritten list. The first known messages of ms are those of the last
// list; stays is how much of the result is that of the last one.
//
// step must give the same for a message in every list that begins alike, as long as variant
// and edge are the same, and for messages before the smaller of two edges whatever the edge.
func (r *rewriter) run(ms []message.Message, known int, variant string, at edge, step rewrite) (out []message.Message, stays int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	if variant == r.variant {
		n = r.memo.prefixFrom(ms, known)
		if at != r.edge {
			n = min(n, at.at, r.edge.at)
		}
	}
	if r.from != nil && n > 0 && n < len(r.memo.seen) {
		n = r.from(ms, n)
	}
	if r.reset != nil && (n == 0 || n < len(r.memo.seen)) {
		n = 0
		r.reset()
	}
	r.memo.cut(n)
	r.variant, r.edge = variant, at
	stays = r.memo.end(n)
	for i := n; i < len(ms); i++ {
		m, v := step(i, &ms[i])
		r.memo.add(ms[i], m, v)
	}
	return r.memo.result(ms), stays
}

// A rewrite says what becomes of message i of a list.
type rewrite func(i int, m *message.Message) (message.Message, verdict)

// rewriteAll is run without a memory.
func rewriteAll(ms []message.Message, step rewrite) []message.Message {
	var r rewriter
	out, _ := r.run(ms, 0, "", edge{}, step)
	return out
}
