package contextengine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

// unwindGraceInTests is the guard's own grace.
const unwindGraceInTests = 50 * time.Millisecond

func everyDeadline(d time.Duration) ce.Deadlines {
	return ce.Deadlines{
		Bootstrap: d, Ingest: d, IngestBatch: d, AfterTurn: d, CommitTurn: d, Assemble: d, Maintain: d, Compact: d,
		PrepareSubagent: d, SubagentEnded: d, SessionEnded: d, Tools: d, Close: d,
	}
}

// hangs blocks every call of op until release is closed, whatever the context says.
func hangs(op string, release <-chan struct{}, then error) func(context.Context, string, any) error {
	return func(_ context.Context, got string, _ any) error {
		if got != op {
			return nil
		}
		<-release
		return then
	}
}

func TestMissedDeadline(t *testing.T) {
	for _, op := range guardedOps() {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				r, f := newRegistry(), newFake(allHooks)
				f.on = hangs(op, release, errBoom)
				h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Second)})
				start := time.Now()
				_, err := callHook(t.Context(), h, op)
				require.LessOrEqual(t, time.Since(start), 2*time.Second)
				var de *ce.DeadlineError
				switch op {
				case "compact":
					require.ErrorAs(t, err, &de)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Empty(t, r.Quarantines(), "a compaction may take its time")
				case "prepareSubagentSpawn":
					require.ErrorAs(t, err, &de)
					require.Equal(t, ce.ClassDeadline, r.Quarantines()[0].Class)
				default:
					require.NoError(t, err)
					require.Equal(t, ce.ClassDeadline, r.Quarantines()[0].Class)
				}
				before := len(r.Quarantines())
				close(release)
				synctest.Wait()
				require.Len(t, r.Quarantines(), before, "a late failure is dropped")
				require.NoError(t, h.Close())
			})
		})
	}
}

func TestWedgedSessionGoesElsewhere(t *testing.T) {
	for _, policy := range []ce.FailurePolicy{ce.Fallback, ce.Strict} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				r, f := newRegistry(), newFake(allHooks)
				f.on = hangs("compact", release, nil)
				h := resolve(t, r, f, ce.Selection{Policy: policy, Deadline: ce.Deadlines{Compact: time.Second}})
				_, err := h.Compact(t.Context(), ce.CompactParams{SessionRef: session("a")})
				require.ErrorIs(t, err, context.DeadlineExceeded)

				res, err := h.Assemble(t.Context(), ce.AssembleParams{SessionRef: ce.SessionRef{SessionID: "other", SessionKey: "key:a"}, Messages: history[:]})
				if policy == ce.Strict {
					require.ErrorIs(t, err, ce.ErrEngineBusy)
				} else {
					require.NoError(t, err)
					require.Zero(t, res.EstimatedTokens, "legacy answered")
				}
				res, err = h.Assemble(t.Context(), ce.AssembleParams{SessionRef: session("b"), Messages: history[:]})
				require.NoError(t, err)
				require.Equal(t, 11, res.EstimatedTokens, "another session is not concerned")
				require.Empty(t, r.Quarantines())

				close(release)
				synctest.Wait()
				res, err = h.Assemble(t.Context(), ce.AssembleParams{SessionRef: session("a"), Messages: history[:]})
				require.NoError(t, err)
				require.Equal(t, 11, res.EstimatedTokens, "the engine is back")
				require.NoError(t, h.Close())
			})
		})
	}
}

func TestCloseReportsWhatNeverCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r, f := newRegistry(), newFake(allHooks)
		f.on = hangs("assemble", release, nil)
		h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Second)})
		_, err := callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
		err = h.Close()
		require.ErrorIs(t, err, ce.ErrEngineBusy)
		require.ErrorContains(t, err, "assemble never came back")
		require.Equal(t, []string{"assemble", "close"}, f.seen(), "the engine is closed all the same")
		close(release)
		synctest.Wait()
	})
}

func TestCloseHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r, f := newRegistry(), newFake(allHooks)
		f.on = hangs("close", release, nil)
		h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Second)})
		var de *ce.DeadlineError
		require.ErrorAs(t, h.Close(), &de)
		require.Equal(t, "close", de.Op)
		close(release)
		synctest.Wait()
	})
}

func TestCancelledCallerLeavesADeafEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, cause := make(chan struct{}), errors.New("operator left")
		r, f := newRegistry(), newFake(allHooks)
		f.on = hangs("assemble", release, errBoom)
		h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Hour)})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		_, err := callHook(ctx, h, "assemble")
		require.ErrorIs(t, err, cause)
		require.Less(t, time.Since(start), 2*time.Second)
		require.Empty(t, r.Quarantines())
		close(release)
		synctest.Wait()
		require.Empty(t, r.Quarantines())
		require.NoError(t, h.Close())
	})
}

func TestCooperativeEngineUnderADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newRegistry(), newFake(allHooks)
		f.on = func(ctx context.Context, op string, _ any) error {
			if op != "compact" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Second)})
		_, err := callHook(t.Context(), h, "compact")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		res, err := callHook(t.Context(), h, "ingest")
		require.NoError(t, err)
		require.Equal(t, ce.IngestResult{Ingested: true}, res, "it came back: nothing is wedged")

		// The caller's own deadline is a cancellation, not a missed one.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = callHook(ctx, h, "compact")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var de *ce.DeadlineError
		require.NotErrorAs(t, err, &de)
		require.NoError(t, h.Close())
	})
}

func TestPanicUnderADeadline(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = func(context.Context, string, any) error { panic("far away") }
	h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Minute)})
	_, err := callHook(t.Context(), h, "assemble")
	require.NoError(t, err)
	require.Equal(t, ce.ClassPanic, r.Quarantines()[0].Class)
}

func TestLegacyIsNeverWedgedByItsCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r ce.Registry
		release := make(chan struct{})
		h, err := r.Resolve(t.Context(), ce.Selection{Deadline: everyDeadline(time.Second)})
		require.NoError(t, err)
		_, err = h.Compact(t.Context(), ce.CompactParams{SessionRef: session("a"), Runtime: &ce.RuntimeContext{Compactor: slowCompactor{release}}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = h.Assemble(t.Context(), ce.AssembleParams{SessionRef: session("a"), Messages: history[:]})
		require.NoError(t, err)
		_, err = h.Compact(t.Context(), ce.CompactParams{SessionRef: session("a")})
		require.ErrorIs(t, err, ce.ErrEngineBusy, "no second compaction beside the first")
		close(release)
		synctest.Wait()
		require.NoError(t, h.Close())
	})
}

type slowCompactor struct{ release <-chan struct{} }

func (s slowCompactor) CompactSession(context.Context, ce.CompactParams) (ce.CompactResult, error) {
	<-s.release
	return ce.CompactResult{OK: true}, nil
}

// A compaction that took too long is held against nobody, however many Handles are
// around the engine.
func TestMissedCompactionOfANestedHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newRegistry(), newFake(allHooks)
		f.on = func(ctx context.Context, _ string, _ any) error { <-ctx.Done(); return ctx.Err() }
		inner := resolve(t, r, f, ce.Selection{Deadline: ce.Deadlines{Compact: time.Second}})
		require.NoError(t, r.Register("outer", "plugin:outer", factoryOf(inner)))
		outer, err := r.Resolve(t.Context(), ce.Selection{Engine: "outer"})
		require.NoError(t, err)
		_, err = callHook(t.Context(), outer, "compact")
		var missed *ce.DeadlineError
		require.ErrorAs(t, err, &missed)
		require.Equal(t, "x", missed.Engine)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, r.Quarantines())
	})
}

// The built-in engine misses no deadline because the machine is busy.
func TestLegacyNeedsNoDeadline(t *testing.T) {
	var d ce.Deadlines
	d.Assemble, d.CommitTurn, d.AfterTurn = 1, 1, 1
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("assemble", errBoom)
	require.NoError(t, r.Register("x", "plugin:x", factoryOf(f)))
	for _, engine := range []string{"legacy", "x"} {
		h, err := r.Resolve(t.Context(), ce.Selection{Engine: engine, Deadline: d})
		require.NoError(t, err)
		for _, op := range []string{"assemble", "commitTurn", "afterTurn"} {
			_, err := callHook(t.Context(), h, op)
			require.NoError(t, err, "%s %s", engine, op)
		}
	}
}

func TestDefaultDeadlines(t *testing.T) {
	d := ce.DefaultDeadlines()
	require.Equal(t, 30*time.Second, d.Bootstrap)
	require.Equal(t, 10*time.Second, d.EndOfTurn)
	require.Equal(t, 15*time.Second, d.Assemble)
	require.Equal(t, 30*time.Second, d.Maintain)
	require.Equal(t, 180*time.Second, d.Compact)
	require.Equal(t, 10*time.Second, d.PrepareSubagent)
	require.Equal(t, 5*time.Second, d.SubagentEnded)
	require.Equal(t, 10*time.Second, d.Close)
}

func TestWedgeIsKeyedByWhatTheHostSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r, f := newRegistry(), newFake(allHooks)
		f.info.AcceptedHostParams = []ce.HostParam{}
		f.on = hangs("compact", release, nil)
		h := resolve(t, r, f, ce.Selection{Deadline: ce.Deadlines{Compact: time.Second}})
		_, err := h.Compact(t.Context(), ce.CompactParams{SessionRef: session("a")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1, h.Status().Busy)
		require.Len(t, r.out.lines(), 1, "an abandoned call is told")
		require.NoError(t, h.OnSubagentEnded(t.Context(), ce.SubagentEndedParams{ChildSessionKey: "key:a"}))
		_, err = h.PrepareSubagentSpawn(t.Context(), ce.SubagentSpawnParams{ParentSessionKey: "key:a"})
		require.NoError(t, err)
		require.Equal(t, []string{"compact"}, f.seen())
		close(release)
		synctest.Wait()
		require.Zero(t, h.Status().Busy)
		require.NoError(t, h.Close())
	})
}

func TestLateSuccessIsDropped(t *testing.T) {
	for _, op := range guardedOps() {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			r, f := newRegistry(), newFake(allHooks)
			f.on = hangs(op, release, nil)
			h := resolve(t, r, f, ce.Selection{Policy: ce.Strict, Deadline: everyDeadline(time.Second)})
			_, err := callHook(t.Context(), h, op)
			require.ErrorIs(t, err, context.DeadlineExceeded, op)
			close(release)
			synctest.Wait()
			require.NoError(t, h.Close())
		})
	}
}

func TestCloseWaitsAsLongAsItsDeadlineSaysAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r, f := newRegistry(), newFake(allHooks)
		f.on = hangs("assemble", release, nil)
		h := resolve(t, r, f, ce.Selection{Deadline: ce.Deadlines{Assemble: time.Second, Close: 10 * time.Second}})
		_, err := callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
		time.AfterFunc(5*time.Second, func() { close(release) })
		require.NoError(t, h.Close(), "it came back in time")

		release = make(chan struct{})
		f.on = func(_ context.Context, op string, _ any) error { <-release; return nil }
		h = resolve(t, r, f, ce.Selection{Deadline: ce.Deadlines{Assemble: time.Second, Close: 10 * time.Second}})
		_, err = callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
		start := time.Now()
		require.Error(t, h.Close())
		require.Less(t, time.Since(start), 11*time.Second, "the deadline is for the whole")
		close(release)
		synctest.Wait()
	})
}
