package compact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

func TestFailover(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	first := compact.Scripted(compact.Reply{Err: &compact.AuthError{}})
	second := compact.Scripted(compact.Reply{Text: "The migration locks tables."})
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: first, Failover: []compact.Summarizer{second}})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted)
	require.NotEmpty(t, second.Requests())
}

// A summariser for which even the newest is too much gives way to one with more room, which
// gets all of it.
func TestFailoverWhenTooLarge(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	ms := view(t, log).Messages
	keep := tokens.Messages(tokens.ScriptAware(), ms[len(ms)-12:])
	first := compact.Scripted(compact.Reply{Err: &compact.TooLargeError{}})
	second := compact.Scripted(compact.Reply{Text: "The migration locks tables."})
	c := compactor(t, store, &compact.Options{KeepRecent: keep, Summarizer: first, Failover: []compact.Summarizer{second}})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	require.Len(t, first.Requests(), 4)
	require.Len(t, second.Requests(), 1)
	require.Equal(t, first.Requests()[0].Source, second.Requests()[0].Source)
	var d compact.Details
	require.NoError(t, json.Unmarshal(res.Result.Details, &d))
	require.Zero(t, d.LeftOut)

	store, log = newLog(t, talk(20)...)
	before := dump(t, log)
	third := compact.Scripted(compact.Reply{Err: &compact.TooLargeError{}})
	c = compactor(t, store, &compact.Options{KeepRecent: keep, Summarizer: first, Failover: []compact.Summarizer{third}})
	res, err = c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.Equal(t, ce.ReasonTooLarge, res.Reason)
	require.Len(t, third.Requests(), 4)
	require.Equal(t, before, dump(t, log))
}

// However few requests are allowed, a summary comes of them, also in the middle of a turn.
func TestFewCallsAreEnough(t *testing.T) {
	t.Parallel()
	ms := append(talk(60), message.User("and now all of them"))
	for i := range 30 {
		id := fmt.Sprintf("z%d", i)
		ms = append(ms, call(id), message.ToolResult(id, "read", message.Text(strings.Repeat("row of data; ", 40))))
	}
	for calls := 1; calls <= 8; calls++ {
		for _, window := range []int{0, 8_000, 12_000} {
			store, _ := newLog(t, ms...)
			p := &probe{Summarizer: brief(), window: window}
			c := compactor(t, store, &compact.Options{KeepRecent: 800, MaxCalls: calls, Summarizer: p})
			res, err := c.CompactSession(t.Context(), manual())
			require.NoError(t, err)
			require.True(t, res.Compacted, "%d calls, window %d: %s", calls, window, res.Detail)
			require.LessOrEqual(t, p.calls, calls)
		}
	}
}

func TestBreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := newLog(t, talk(20)...)
		s := compact.Scripted(
			compact.Reply{Err: &compact.AuthError{}}, compact.Reply{Err: &compact.AuthError{}},
			compact.Reply{Text: "The migration locks tables."},
		)
		c := compactor(t, store, &compact.Options{
			KeepRecent: 800, Summarizer: s, Breaker: compact.Breaker{Failures: 2, Pause: time.Minute},
		})
		again := func() ce.CompactResult {
			// Another turn, so that only the breaker is in the way.
			appendAll(t, log, message.User("next question"))
			res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerBytes})
			require.NoError(t, err)
			return res
		}
		again()
		again()
		require.Len(t, s.Requests(), 2)
		require.Equal(t, ce.ReasonProviderUnavailable, again().Reason)
		require.Len(t, s.Requests(), 2, "the breaker is open")
		time.Sleep(time.Minute)
		require.True(t, again().Compacted)
	})
}

func TestBreakerForced(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	s := compact.Scripted(compact.Reply{Err: &compact.AuthError{}}, compact.Reply{Text: "The migration locks tables."})
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: s, Breaker: compact.Breaker{Failures: 1}})
	_, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerThreshold, Force: true})
	require.NoError(t, err)
	require.True(t, res.Compacted)
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, _ := newLog(t, talk(20)...)
		s := compact.Scripted(
			compact.Reply{Err: errors.New("reset")},
			compact.Reply{Err: &compact.RateLimitError{RetryAfter: 20 * time.Second}},
			compact.Reply{Text: "The migration locks tables."},
		)
		c := compactor(t, store, &compact.Options{
			KeepRecent: 800, Summarizer: s,
			Retry: compact.Retry{Jitter: func() float64 { return 0.5 }},
		})
		start := time.Now()
		res, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
		require.True(t, res.Compacted, res.Detail)
		require.Equal(t, 550*time.Millisecond+20*time.Second, time.Since(start))
	})
}
