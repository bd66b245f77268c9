package contextengine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// callLog knows the calls of an engine that run under a deadline, so that one
// that was abandoned keeps its session's other calls off the engine.
type callLog struct {
	abandoned atomic.Int32 // how many calls were left behind and still run

	mu      sync.Mutex
	running []*runningCall
	changed chan struct{} // closed and renewed when a call ends; nil: nobody waits
}

type runningCall struct {
	op        string
	session   sessionID
	abandoned bool
}

func (c *callLog) begin(op string, s sessionID) *runningCall {
	call := &runningCall{op: op, session: s}
	c.mu.Lock()
	c.running = append(c.running, call)
	c.mu.Unlock()
	return call
}

// end takes a call off the list and reports whether it had been abandoned.
func (c *callLog) end(call *runningCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = slices.DeleteFunc(c.running, func(o *runningCall) bool { return o == call })
	if call.abandoned {
		c.abandoned.Add(-1)
	}
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
	return call.abandoned
}

// abandon marks a call as left behind; false when it has just ended.
func (c *callLog) abandon(call *runningCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.running, call) {
		return false
	}
	call.abandoned = true
	c.abandoned.Add(1)
	return true
}

// busy reports whether an abandoned call for the session still runs. A session
// is the same when its id is, or its key.
func (c *callLog) busy(s sessionID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.running, func(o *runningCall) bool {
		return o.abandoned && o.session.same(s)
	})
}

func (s sessionID) same(o sessionID) bool {
	if s == o {
		return true
	}
	return s.id != "" && s.id == o.id || s.key != "" && s.key == o.key
}

// wait waits until no call runs, at most d, and returns the operations that
// still do.
func (c *callLog) wait(d time.Duration) []string {
	var late <-chan time.Time
	for {
		changed := c.change()
		if changed == nil {
			return nil
		}
		if late == nil {
			timer := time.NewTimer(d)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-late:
			return c.ops()
		}
	}
}

// change returns what is closed when a call ends; nil: none runs.
func (c *callLog) change() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) == 0 {
		return nil
	}
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

func (c *callLog) ops() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ops := make([]string, 0, len(c.running))
	for _, call := range c.running {
		ops = append(ops, call.op)
	}
	return ops
}
