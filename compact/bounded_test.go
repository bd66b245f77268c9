package compact_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/transcript"
)

// A deaf summariser and plugin does not see that its context has ended.
type deaf struct{ release <-chan struct{} }

func (d deaf) Summarize(context.Context, compact.Request) (compact.Summary, error) {
	<-d.release
	return compact.Summary{Text: "late"}, nil
}

func (d deaf) SummarizeMessages(context.Context, compact.ProviderRequest) (string, error) {
	<-d.release
	return "late", nil
}

// What ignores its context holds a compaction no longer than its time and a moment.
func TestTimeoutBoundsWhatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(o *compact.Options, release <-chan struct{}){
		"summariser": func(o *compact.Options, release <-chan struct{}) { o.Summarizer = deaf{release} },
		"provider":   func(o *compact.Options, release <-chan struct{}) { o.Provider = deaf{release} },
		"before": func(o *compact.Options, release <-chan struct{}) {
			o.Before = func(context.Context, compact.Cycle) error { <-release; return compact.ErrVetoed }
		},
		"flush": func(o *compact.Options, release <-chan struct{}) {
			o.FlushMemory = func(context.Context, compact.Cycle) error { <-release; return nil }
		},
		"after": func(o *compact.Options, release <-chan struct{}) {
			o.After = func(context.Context, compact.Cycle, ce.CompactDetails) { <-release }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, log := newLog(t, talk(20)...)
				before := dump(t, log)
				release := make(chan struct{})
				opts := &compact.Options{KeepRecent: 800, Timeout: time.Minute, Summarizer: brief()}
				set(opts, release)
				start := time.Now()
				res, err := compactor(t, store, opts).CompactSession(t.Context(), manual())
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(start), time.Minute+2*time.Second)
				if name == "summariser" || name == "provider" {
					require.Equal(t, ce.ReasonDeadline, res.Reason)
					require.Equal(t, before, dump(t, log))
				} else {
					require.True(t, res.Compacted, "a hook stops nothing")
				}
				after := dump(t, log)
				close(release)
				synctest.Wait()
				require.Equal(t, after, dump(t, log), "what comes late is dropped")
			})
		})
	}
}

// A flush that the caller ended has saved nothing, so it is called again, and it is not
// one of the failures after which it is given up.
func TestX4_CancelledFlushIsRepeated(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	const cancelled = 5
	flushes := 0
	var cancel context.CancelFunc
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800, Summarizer: brief(),
		FlushMemory: func(ctx context.Context, _ compact.Cycle) error {
			if flushes++; flushes <= cancelled {
				cancel()
				return ctx.Err()
			}
			return nil
		},
	})
	for range cancelled {
		ctx, stop := context.WithCancel(t.Context())
		cancel = stop
		res, err := c.CompactSession(ctx, manual())
		stop()
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, ce.ReasonCancelled, res.Reason)
	}
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted)
	require.Equal(t, cancelled+1, flushes)
}

// faulty is a store that counts open logs and fails to commit.
type faulty struct {
	transcript.Store
	open   *atomic.Int32
	commit error
}

func (s faulty) Open(ctx context.Context, id string) (transcript.Log, error) {
	log, err := s.Store.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return faultyLog{log, s}, nil
}

type faultyLog struct {
	transcript.Log
	s faulty
}

func (l faultyLog) Close() error {
	l.s.open.Add(-1)
	return l.Log.Close()
}

func (l faultyLog) CommitCompaction(ctx context.Context, gen transcript.Generation, c transcript.Compaction) (transcript.Entry, error) {
	if l.s.commit != nil {
		return transcript.Entry{}, l.s.commit
	}
	return l.Log.CommitCompaction(ctx, gen, c)
}

type panicking struct{}

func (panicking) Summarize(context.Context, compact.Request) (compact.Summary, error) { panic("boom") }

type leaving struct{}

func (leaving) Summarize(context.Context, compact.Request) (compact.Summary, error) {
	runtime.Goexit()
	return compact.Summary{}, nil
}

// A panic of the host's code goes to the caller; the log is closed and as it was.
func TestPanicsOfTheHostLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]compact.Options{
		"summariser": {Summarizer: panicking{}},
		"redact":     {Redact: func(string) string { panic("boom") }},
		"before":     {Before: func(context.Context, compact.Cycle) error { panic("boom") }},
		"flush":      {FlushMemory: func(context.Context, compact.Cycle) error { panic("boom") }},
		"goroutine":  {Summarizer: leaving{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, log := newLog(t, talk(20)...)
			before := dump(t, log)
			open := &atomic.Int32{}
			opts.KeepRecent = 800
			c := compactor(t, faulty{Store: store, open: open}, &opts)
			var got any
			returned := false
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { got = recover() }()
				_, _ = c.CompactSession(t.Context(), manual())
				returned = true
			}()
			<-done
			require.False(t, returned)
			if name != "goroutine" {
				require.Equal(t, "boom", got)
			}
			require.Zero(t, open.Load())
			require.Equal(t, before, dump(t, log))
		})
	}
}

func TestFailingCommitLeavesTheLogAsItWas(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	store, log := newLog(t, talk(20)...)
	before := dump(t, log)
	open := &atomic.Int32{}
	after := false
	script := compact.Scripted(compact.Reply{Text: "The migration locks tables."})
	c := compactor(t, faulty{store, open, broken}, &compact.Options{
		KeepRecent: 800, Summarizer: script,
		After: func(context.Context, compact.Cycle, ce.CompactDetails) { after = true },
	})
	p := manual()
	p.Force = false
	for range 3 {
		res, err := c.CompactSession(t.Context(), p)
		require.ErrorIs(t, err, broken)
		require.False(t, res.OK || res.Compacted || after)
		require.Zero(t, open.Load())
		require.Equal(t, before, dump(t, log))
		require.Equal(t, 2, len(script.Requests()), "no other summary is paid for in the same turn")
	}
	_, err := c.CompactSession(t.Context(), manual())
	require.ErrorIs(t, err, broken)
	require.Equal(t, 4, len(script.Requests()))
}
