package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// The passes go with a session that moves in the middle of a turn.
func TestPassesAfterARotation(t *testing.T) {
	t.Parallel()
	st := transcript.NewMemory()
	p := newProbe("alpha", 0, &tape{})
	p.OnCompact = rotatesTo(st, "s2")
	reg := &ce.Registry{}
	register(t, reg, p)
	m := hosttest.NewModel(hosttest.Fail(errTooLong), hosttest.Reply("ok"))
	h := hostOver(t, st, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: m, Models: windowOf(8000),
		Passes: passes(passFunc{apply: func(ms []message.Message) []message.Message {
			return append(ms[:len(ms):len(ms)], message.User("PASS"))
		}}),
	})
	out, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
	require.NoError(t, err)
	require.Equal(t, "s2", out.Session.SessionID)
	require.Equal(t, "[u:one | u:PASS]", saidAll(m.Requests()[1].Messages))
}

// A compaction that moved to a session which does not exist freed nothing: the session stays
// where it is, and the turn goes on.
func TestSuccessorThatDoesNotExist(t *testing.T) {
	t.Parallel()
	p := newProbe("alpha", 0, &tape{})
	p.About.OwnsCompaction = true
	p.OnCompact = movesTo("nowhere")
	p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
		return ce.AssembleResult{Messages: q.Messages, EstimatedTokens: 100000, PromptAuthority: ce.AuthorityPreassembly}
	}
	reg := &ce.Registry{}
	register(t, reg, p)
	opts := &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.Always(hosttest.Reply("ok")), Models: windowOf(8000),
	}
	h := newHost(t, opts)
	out, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, ref("s"), out.Session)
	require.Contains(t, h.Status(ref("s")).LastNoProgress, `no_progress: opening the successor "nowhere"`)

	res, err := h.Compact(t.Context(), ref("s"), "")
	require.NoError(t, err)
	require.False(t, res.Compacted)
	require.Equal(t, ce.ReasonNoProgress, res.Reason)
	require.Empty(t, res.Result.Successor())

	h.Select(ce.Selection{Engine: "alpha", Policy: ce.Strict})
	_, err = h.Compact(t.Context(), ref("s"), "")
	require.ErrorContains(t, err, "nowhere")
	_, err = h.Run(t.Context(), ref("nowhere"), message.User("free"), nil)
	require.NoError(t, err, "nobody holds the session of that name")
}

// Two sessions that move to each other's place do not wait for each other for ever.
func TestSuccessorsThatAreBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbe("alpha", 0, &tape{})
		p.About.OwnsCompaction = true
		reg := &ce.Registry{}
		register(t, reg, p)
		h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: hosttest.Always(hosttest.Reply("ok"))})
		other := map[string]string{"a": "b", "b": "a"}
		var both sync.WaitGroup
		both.Add(2)
		p.OnCompact = func(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
			both.Done()
			both.Wait()
			return movesTo(other[q.SessionID])(ctx, q)
		}
		var calls sync.WaitGroup
		results := make(chan ce.CompactResult, 2)
		for id := range other {
			_, err := h.Run(t.Context(), ref(id), message.User("hi"), nil)
			require.NoError(t, err)
		}
		for id := range other {
			calls.Go(func() {
				r, err := h.Compact(t.Context(), ref(id), "")
				if err == nil {
					results <- r
				}
			})
		}
		calls.Wait()
		require.Len(t, results, 2)
		idle := 0
		for range 2 {
			if r := <-results; strings.Contains(r.Detail, "another turn or its maintenance is in it") {
				idle++
			}
		}
		require.NotZero(t, idle)
		require.NoError(t, h.Close(t.Context()))
	})
}

// The successor of a session is taken with it: its own turns wait.
func TestSuccessorIsClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := transcript.NewMemory()
		p := newProbe("alpha", 0, &tape{})
		p.OnCompact = rotatesTo(st, "s2")
		reg := &ce.Registry{}
		register(t, reg, p)
		h := hostOver(t, st, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Models: windowOf(8000)})
		tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), nil)
		require.NoError(t, err)
		again, err := tn.Recover(t.Context(), errTooLong)
		require.NoError(t, err)
		require.True(t, again)
		entered := make(chan struct{})
		go func() {
			defer close(entered)
			if _, err := h.Compact(t.Context(), ref("s2"), ""); err != nil {
				t.Log(err)
			}
		}()
		synctest.Wait()
		select {
		case <-entered:
			t.Error("two turns are in one session")
		default:
		}
		_, err = tn.End(t.Context(), nil)
		require.NoError(t, err)
		<-entered
		require.NoError(t, h.Close(t.Context()))
	})
}

// The id that a session gets with its first turn is claimed with it.
func TestNewIDIsClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, &host.Options{Model: hosttest.Always(hosttest.Reply("ok"))})
		tn, err := h.Begin(t.Context(), ce.SessionRef{}, message.User("one"), nil)
		require.NoError(t, err)
		id := tn.Session()
		require.NotEmpty(t, id.SessionID)
		done := make(chan error, 1)
		go func() {
			_, err := h.Run(t.Context(), id, message.User("two"), nil)
			done <- err
		}()
		synctest.Wait()
		require.Empty(t, done, "two turns are in one session")
		out, err := tn.End(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, id, out.Session)
		require.NoError(t, <-done)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A successor may have another history altogether: that is what the turn goes on with.
func TestSuccessorWithAnotherHistory(t *testing.T) {
	t.Parallel()
	st := transcript.NewMemory()
	var tp tape
	p := newProbe("alpha", ce.HookAfterTurn, &tp)
	p.OnCompact = func(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
		log, err := st.Create(ctx, transcript.Header{ID: "s2", Boundary: "rotated"})
		if err != nil {
			return ce.CompactResult{}, err
		}
		_, err = log.Append(ctx, transcript.MessageEntry(message.User("in short")))
		if err := errors.Join(err, log.Close()); err != nil {
			return ce.CompactResult{}, err
		}
		return movesTo("s2")(ctx, q)
	}
	reg := &ce.Registry{}
	register(t, reg, p)
	m := hosttest.Always(hosttest.Reply("ok"))
	h := hostOver(t, st, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: m, Models: windowOf(8000), Estimator: byteCount{},
	})
	_, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("x", 6000)), nil)
	require.NoError(t, err)
	tp.Take()
	out, err := h.Run(t.Context(), ref("s"), message.User(strings.Repeat("y", 2000)), nil)
	require.NoError(t, err)
	require.Equal(t, "s2", out.Session.SessionID)
	require.Equal(t, "[u:in short | u:yyyyyyyyyyyy…2000]", saidAll(m.Requests()[1].Messages))
	require.Contains(t, lineWith(&tp, "alpha afterTurn"), "[u:in short | u:yyyyyyyyyyyy…2000 | a:ok] new=[u:yyyyyyyyyyyy…2000 | a:ok]")
}

// A compaction that moved counts for nothing when its numbers say so, but the turn is in the
// successor: what is sent and what the engine is given are of that.
func TestSuccessorWithoutProgress(t *testing.T) {
	t.Parallel()
	for name, owns := range map[string]bool{"owner": true, "other": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := transcript.NewMemory()
			var tp tape
			p := newProbe("alpha", ce.HookAfterTurn, &tp)
			p.About.OwnsCompaction = owns
			p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
				return ce.AssembleResult{Messages: q.Messages, EstimatedTokens: 9000, PromptAuthority: ce.AuthorityPreassembly}
			}
			p.OnCompact = func(ctx context.Context, _ ce.CompactParams) (ce.CompactResult, error) {
				p.OnAssemble = nil
				log, err := st.Create(ctx, transcript.Header{ID: "s2", Boundary: "rotated"})
				if err != nil {
					return ce.CompactResult{}, err
				}
				_, err = log.Append(ctx, transcript.MessageEntry(message.User("in short")))
				same := 5
				return ce.CompactResult{
					OK: true, Compacted: true, Result: &ce.CompactDetails{SessionID: "s2", TokensBefore: same, TokensAfter: &same},
				}, errors.Join(err, log.Close())
			}
			reg := &ce.Registry{}
			register(t, reg, p)
			m := hosttest.NewModel(hosttest.Reply("one"), hosttest.Calls(call("c1", "read")), hosttest.Reply("two"))
			h := hostOver(t, st, &host.Options{
				Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: m, Models: windowOf(8000),
				Estimator: byteCount{}, Tools: []ce.Tool{readTool("data")},
			})
			onAssemble := p.OnAssemble
			p.OnAssemble = nil
			_, err := h.Run(t.Context(), ref("s"), message.User("old"), nil)
			require.NoError(t, err)
			p.OnAssemble = onAssemble
			tp.Take()
			out, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
			require.NoError(t, err)
			require.Equal(t, "s2", out.Session.SessionID)
			require.Contains(t, h.Status(ref("s2")).LastNoProgress, "no_progress")
			require.Equal(t, "[u:in short | u:hi]", saidAll(m.Requests()[1].Messages))
			require.Contains(t, lineWith(&tp, "alpha afterTurn"), "[u:in short | u:hi | a:@c1 | r:c1=data")
		})
	}
}

// While a turn goes on without the successor that does not exist, that id is free. A caller
// who does not wait any longer is told so, and not that the compaction freed nothing.
func TestSuccessorIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbe("alpha", 0, &tape{})
		p.About.OwnsCompaction = true
		p.OnCompact = movesTo("nowhere")
		reg := &ce.Registry{}
		register(t, reg, p)
		h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}})
		tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), nil)
		require.NoError(t, err)
		again, err := tn.Recover(t.Context(), errTooLong)
		require.False(t, again)
		var over *host.OverflowError
		require.ErrorAs(t, err, &over)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		other, err := h.Begin(ctx, ref("nowhere"), message.User("free"), nil)
		require.NoError(t, err)
		_, err = tn.End(t.Context(), over)
		require.NoError(t, err)

		_, err = h.Compact(ctx, ref("s"), "")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = other.End(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A turn that made its session and moved to another one before it began leaves that one alone
// when it then fails.
func TestSuccessorOutlivesTheTurnThatNeverBegan(t *testing.T) {
	t.Parallel()
	st := newFaultStore(transcript.NewMemory())
	log, err := st.Create(t.Context(), transcript.Header{ID: "s2"})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), transcript.MessageEntry(message.User("precious")))
	require.NoError(t, errors.Join(err, log.Close()))
	p := newProbe("alpha", 0, &tape{})
	p.OnCompact = movesTo("s2")
	reg := &ce.Registry{}
	register(t, reg, p)
	h := hostOver(t, st, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Models: windowOf(8000), Estimator: byteCount{}, SoftThreshold: 500,
	})
	st.fail("append", 1)
	_, err = h.Begin(t.Context(), ref("s"), message.User(strings.Repeat("x", 9000)), nil)
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, `session "s2"`)
	log, err = st.Open(t.Context(), "s2")
	require.NoError(t, err)
	view, err := log.View(t.Context())
	require.NoError(t, errors.Join(err, log.Close()))
	require.Equal(t, "[u:precious]", saidAll(view.Messages))
}
