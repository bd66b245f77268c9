package host

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-contextengine/contextengine/transcript"
)

// warmLogs is how many sessions are kept at hand between their turns, so that the next
// turn need not read the file again.
const warmLogs = 32

// warm holds a log of each session that was used last, where the store keeps open logs up
// to date. A store gives everybody the same state of a session while one log of it is open.
type warm struct {
	mu     sync.Mutex
	closed bool
	order  []string // session ids, the last used one at the end
	logs   map[string]transcript.Log
}

// keep holds a session open. The id of the one that had to give way comes back.
func (w *warm) keep(ctx context.Context, store transcript.Store, id string) (gone string, _ error) {
	if w.touch(id) {
		return "", nil
	}
	var log transcript.Log
	var failure error
	if f, ok := store.(transcript.Follower); ok && f.Follows() {
		log, failure = store.Open(ctx, id)
	}
	w.mu.Lock()
	former := log // nobody's, when all was closed meanwhile
	if !w.closed {
		former = w.logs[id]
		w.put(id, log)
	}
	var oldest transcript.Log
	if len(w.order) > warmLogs {
		gone = w.order[0]
		oldest = w.logs[gone]
		delete(w.logs, gone)
		w.order = w.order[1:]
	}
	w.mu.Unlock()
	return gone, errors.Join(failure, closeLog(former), closeLog(oldest))
}

// touch makes a session the last used one, and reports whether it needs no log.
func (w *warm) touch(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return true
	}
	w.order = append(slices.DeleteFunc(w.order, func(o string) bool { return o == id }), id)
	return w.logs[id] != nil
}

// put holds a log; mu is held.
func (w *warm) put(id string, log transcript.Log) {
	if w.logs == nil {
		w.logs = map[string]transcript.Log{}
	}
	delete(w.logs, id)
	if log != nil {
		w.logs[id] = log
	}
}

// drop lets a session go.
func (w *warm) drop(id string) error {
	w.mu.Lock()
	log := w.logs[id]
	delete(w.logs, id)
	w.order = slices.DeleteFunc(w.order, func(o string) bool { return o == id })
	w.mu.Unlock()
	return closeLog(log)
}

// close lets all go.
func (w *warm) close() error {
	w.mu.Lock()
	logs := w.logs
	w.logs, w.order, w.closed = nil, nil, true
	w.mu.Unlock()
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
