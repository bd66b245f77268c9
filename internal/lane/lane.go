// Package lane runs background work, one piece at a time for each key.
package lane

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// ErrClosed is the cause of the context of work that a closed Lane cuts short.
var ErrClosed = errors.New("background lane closed")

// closeGrace is how long Close waits for work whose context it ended.
const closeGrace = 100 * time.Millisecond

// Work is one piece of background work.
type Work struct {
	// Run does it. Its context ends when a closed Lane has waited long enough.
	Run func(ctx context.Context) error
	// Done is called once, whatever happened: with the error of Run, or with ran false
	// when the work was superseded or the Lane was closed before it started. A panic of
	// Run is a [*PanicError]. Optional.
	Done func(err error, ran bool)
}

func (w *Work) done(err error, ran bool) {
	if w.Done != nil {
		w.Done(err, ran)
	}
}

// A PanicError is a panic of background work.
type PanicError struct {
	Value any
	Stack []byte
}

// Error shows the value, not the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("background work panicked: %v", e.Value) }

// A Lane runs work in the background. Pieces for one key never overlap, and while
// one runs the latest other one waits: many requests become one rerun. Safe for
// concurrent use. Make it with [New].
type Lane struct {
	life context.Context
	end  context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	keys   map[string]*queue
	all    sync.WaitGroup
}

// queue is what runs and waits for one key.
type queue struct {
	next *Work
	idle chan struct{} // closed when nothing runs or waits any more
}

// New returns an empty Lane.
func New() *Lane {
	l := &Lane{keys: map[string]*queue{}}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l
}

// Submit takes work for a key. It reports false, and calls nothing, for a blank
// key and after Close.
func (l *Lane) Submit(key string, w Work) bool {
	if key == "" || w.Run == nil {
		return false
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	q := l.keys[key]
	if q != nil {
		former := q.next
		q.next = &w
		l.mu.Unlock()
		if former != nil {
			former.done(nil, false)
		}
		return true
	}
	q = &queue{idle: make(chan struct{})}
	l.keys[key] = q
	l.all.Add(1)
	l.mu.Unlock()
	go l.serve(key, q, &w)
	return true
}

// serve runs the work of one key until there is no more.
func (l *Lane) serve(key string, q *queue, w *Work) {
	defer l.all.Done()
	for w != nil {
		if l.life.Err() != nil {
			w.done(nil, false)
		} else {
			w.done(l.run(w), true)
		}
		l.mu.Lock()
		w, q.next = q.next, nil
		if w == nil {
			delete(l.keys, key)
			close(q.idle)
		}
		l.mu.Unlock()
	}
}

func (l *Lane) run(w *Work) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return w.Run(l.life)
}

// Wait waits until nothing runs or waits for a key.
func (l *Lane) Wait(ctx context.Context, key string) error {
	l.mu.Lock()
	q := l.keys[key]
	l.mu.Unlock()
	if q == nil {
		return nil
	}
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drain waits until nothing runs or waits at all.
func (l *Lane) drain(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		l.all.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close takes no more work, drops what waits, and lets what runs come to its end
// until ctx is done. Then it ends the context of that work, and waits a moment longer.
// The error tells of work that goes on all the same; its Done is called when it ends.
// It is idempotent.
func (l *Lane) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	var dropped []*Work
	for _, q := range l.keys {
		if q.next != nil {
			dropped = append(dropped, q.next)
			q.next = nil
		}
	}
	l.mu.Unlock()
	for _, w := range dropped {
		w.done(nil, false)
	}
	err := l.drain(ctx)
	l.end(ErrClosed)
	if err == nil {
		return nil
	}
	grace, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), closeGrace, err)
	defer cancel()
	if err := l.drain(grace); err != nil {
		return fmt.Errorf("closing the background lane: %w", err)
	}
	return nil
}
