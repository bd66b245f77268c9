package host

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-contextengine/contextengine/transcript"
)

// maxOpenLogs is how many sessions are kept at hand between their turns, so that the next
// turn need not read the file again.
const maxOpenLogs = 32

// A logCache holds a log of each session that was used last, where the store keeps open logs up
// to date. A store gives everybody the same state of a session while one log of it is open.
type logCache struct {
	mu     sync.Mutex
	closed bool
	order  []string // session ids, the last used one at the end
	logs   map[string]transcript.Log
}

// keep holds a session open. The id of the one that had to give way comes back.
func (c *logCache) keep(ctx context.Context, store transcript.Store, id string) (gone string, _ error) {
	if c.touch(id) {
		return "", nil
	}
	var log transcript.Log
	var failure error
	if f, ok := store.(transcript.Follower); ok && f.Follows() {
		log, failure = store.Open(ctx, id)
	}
	c.mu.Lock()
	former := log // nobody's, when all was closed meanwhile
	if !c.closed {
		former = c.logs[id]
		c.put(id, log)
	}
	var oldest transcript.Log
	if len(c.order) > maxOpenLogs {
		gone = c.order[0]
		oldest = c.logs[gone]
		delete(c.logs, gone)
		c.order = c.order[1:]
	}
	c.mu.Unlock()
	return gone, errors.Join(failure, closeLog(former), closeLog(oldest))
}

// touch makes a session the last used one, and reports whether it needs no log.
func (c *logCache) touch(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return true
	}
	c.order = append(slices.DeleteFunc(c.order, func(o string) bool { return o == id }), id)
	return c.logs[id] != nil
}

// put holds a log; mu is held.
func (c *logCache) put(id string, log transcript.Log) {
	if c.logs == nil {
		c.logs = map[string]transcript.Log{}
	}
	delete(c.logs, id)
	if log != nil {
		c.logs[id] = log
	}
}

// drop lets a session go.
func (c *logCache) drop(id string) error {
	c.mu.Lock()
	log := c.logs[id]
	delete(c.logs, id)
	c.order = slices.DeleteFunc(c.order, func(o string) bool { return o == id })
	c.mu.Unlock()
	return closeLog(log)
}

// close lets all go.
func (c *logCache) close() error {
	c.mu.Lock()
	logs := c.logs
	c.logs, c.order, c.closed = nil, nil, true
	c.mu.Unlock()
	var errs []error
	for _, log := range logs {
		errs = append(errs, closeLog(log))
	}
	return errors.Join(errs...)
}

func closeLog(log transcript.Log) error {
	if log == nil {
		return nil
	}
	return log.Close()
}
