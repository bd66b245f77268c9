package lane_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/internal/lane"
)

type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *record) work(name string, wait <-chan struct{}) lane.Work {
	return lane.Work{
		Run: func(ctx context.Context) error {
			r.add("%s starts", name)
			select {
			case <-wait:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Done: func(err error, ran bool) { r.add("%s done err=%v ran=%t", name, err, ran) },
	}
}

func TestSpec01_15_11_ManyRequestsBecomeOneRerun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r, first, open := lane.New(), &record{}, make(chan struct{}), make(chan struct{})
		close(open)
		require.True(t, l.Submit("k", r.work("a", first)))
		synctest.Wait()
		for _, name := range []string{"b", "c", "d"} {
			require.True(t, l.Submit("k", r.work(name, open)))
		}
		require.True(t, l.Submit("other", r.work("x", open)))
		require.NoError(t, l.Wait(t.Context(), "other"))
		close(first)
		require.NoError(t, l.Wait(t.Context(), "k"))
		require.NoError(t, l.Close(t.Context()))
		require.Equal(t, []string{
			"a starts", "b done err=<nil> ran=false", "c done err=<nil> ran=false",
			"x starts", "x done err=<nil> ran=true",
			"a done err=<nil> ran=true", "d starts", "d done err=<nil> ran=true",
		}, r.lines)
	})
}

func TestSpec01_15_11_CloseCancelsRerunsAndDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r, first := lane.New(), &record{}, make(chan struct{})
		require.True(t, l.Submit("k", r.work("a", first)))
		synctest.Wait()
		require.True(t, l.Submit("k", r.work("b", nil)))
		time.AfterFunc(time.Second, func() { close(first) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, l.Close(ctx))
		require.NoError(t, l.Close(ctx))
		require.False(t, l.Submit("k", r.work("c", nil)))
		require.Equal(t, []string{"a starts", "b done err=<nil> ran=false", "a done err=<nil> ran=true"}, r.lines)
	})
}

func TestCloseCutsShortAtItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r := lane.New(), &record{}
		require.True(t, l.Submit("k", r.work("a", nil)))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, l.Close(ctx))
		require.Equal(t, []string{"a starts", "a done err=background lane closed ran=true"}, r.lines)
	})
}

func TestCloseDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	l, started, deaf := lane.New(), make(chan struct{}), make(chan struct{})
	require.True(t, l.Submit("k", lane.Work{Run: func(context.Context) error { close(started); <-deaf; return nil }}))
	<-started
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	require.ErrorContains(t, l.Close(ctx), "enough")
	require.ErrorContains(t, l.Wait(ctx, "k"), "enough")
	close(deaf)
	require.NoError(t, l.Wait(t.Context(), "k"))
}

func TestPanicAndBlankKey(t *testing.T) {
	t.Parallel()
	l, r := lane.New(), &record{}
	require.False(t, l.Submit("", r.work("a", nil)))
	require.True(t, l.Submit("k", lane.Work{
		Run:  func(context.Context) error { panic("boom") },
		Done: func(err error, _ bool) { r.add("%v", err) },
	}))
	require.NoError(t, l.Wait(t.Context(), "k"))
	require.NoError(t, l.Close(t.Context()))
	require.Equal(t, []string{"background work panicked: boom"}, r.lines)
}
