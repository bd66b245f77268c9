package compact

import (
	"context"
	"runtime"
	"time"
)

// grace is what a call gets to notice that its time is over, before it is left alone.
const grace = time.Second

// An outcome is how a call of foreign code ended. A call that neither returned nor
// panicked ended its goroutine.
type outcome[T any] struct {
	value    T
	err      error
	returned bool
	panicked any
}

// bounded calls code of the host, which may ignore its context, and stops waiting for it
// once ctx has ended. A panic goes on in the caller's goroutine.
func bounded[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	done := make(chan outcome[T], 1)
	go func() {
		var o outcome[T]
		defer func() {
			if !o.returned {
				o.panicked = recover()
			}
			done <- o
		}()
		o.value, o.err = call(ctx)
		o.returned = true
	}()
	var o outcome[T]
	select {
	case o = <-done:
	case <-ctx.Done():
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case o = <-done:
		case <-late.C:
			return o.value, context.Cause(ctx)
		}
	}
	switch {
	case o.panicked != nil:
		panic(o.panicked)
	case !o.returned:
		runtime.Goexit()
	}
	return o.value, o.err
}

// hook is bounded for a hook, which may take as long as a compaction.
func (s *settings) hook(ctx context.Context, call func(context.Context) error) error {
	timed, cancel := context.WithTimeoutCause(ctx, s.Timeout, errDeadline)
	defer cancel()
	_, err := bounded(timed, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}
