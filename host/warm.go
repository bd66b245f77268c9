package host

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-contextengine/contextengine/transcript"
)

// warmLogs is how many sessions are kept open between their turns, so that the
// next turn need not read the file again.
const warmLogs = 32

// warm holds a log of each session that was used last. A store gives everybody the
// same state of a session while one log of it is open.
type warm struct {
	mu    sync.Mutex
	order []string // session ids, the last used one at the end
	logs  map[string]transcript.Log
}

// keep holds a session open. What had to give way is closed, and its id comes back.
func (w *warm) keep(ctx context.Context, store transcript.Store, id string) (gone string, _ error) {
	w.mu.Lock()
	if _, ok := w.logs[id]; ok {
		w.order = append(slices.DeleteFunc(w.order, func(o string) bool { return o == id }), id)
		w.mu.Unlock()
		return "", nil
	}
	w.mu.Unlock()
	log, err := store.Open(ctx, id)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	former := w.logs[id]
	if w.logs == nil {
		w.logs = map[string]transcript.Log{}
	}
	if former == nil {
		w.order = append(w.order, id)
	}
	w.logs[id] = log
	var oldest transcript.Log
	if len(w.order) > warmLogs {
		gone = w.order[0]
		oldest = w.logs[gone]
		delete(w.logs, gone)
		w.order = w.order[1:]
	}
	w.mu.Unlock()
	return gone, errors.Join(closeLog(former), closeLog(oldest))
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
	w.logs, w.order = nil, nil
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
