package prune

import (
	"slices"
	"sync"

	"github.com/go-contextengine/contextengine/message"
)

// An incremental pass takes the caller's word for how much of its list it has seen.
type incremental interface {
	// applyFrom is Apply for a list whose first known messages are those of the last one.
	// stays is how much of the result is at least that of the last one.
	applyFrom(ms []message.Message, in Input, known int) (out []message.Message, stays int)
}

// A chainPass is several passes as one. Only the first compares its list with the last one:
// each tells the next how much of what it returns is as it was.
type chainPass struct {
	mu      sync.Mutex
	passes  []Pass
	through []bool // which passes returned their list itself the last time
}

func newChain(passes ...Pass) *chainPass {
	return &chainPass{passes: passes, through: make([]bool, len(passes))}
}

// Apply implements Pass.
func (c *chainPass) Apply(ms []message.Message, in Input) []message.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := 0
	for i, p := range c.passes {
		if inc, ok := p.(incremental); ok {
			ms, known = inc.applyFrom(ms, in, known)
			continue
		}
		out := p.Apply(ms, in)
		through := isSameList(ms, out)
		if !through || !c.through[i] {
			known = 0
		}
		ms, c.through[i] = out, through
	}
	return slices.Clip(ms)
}

func isSameList(a, b []message.Message) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
