package compact_test

import (
	"context"
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

// What a model says before it calls a tool, or before it breaks off, is no summary.
func TestC10_AnswersThatEndOtherwise(t *testing.T) {
	t.Parallel()
	for stop, reason := range map[string]ce.CompactionReason{
		message.StopToolUse: ce.ReasonSummaryEmpty,
		message.StopError:   ce.ReasonProviderUnavailable,
		message.StopAborted: ce.ReasonProviderUnavailable,
	} {
		store, log := newLog(t, talk(20)...)
		before := dump(t, log)
		calls, prompts := 0, []string{}
		model := limited{stop: stop, output: func(int) int { return 5 }, calls: &calls, whole: 1 << 20, prompt: &prompts}
		c := compactor(t, store, &compact.Options{
			KeepRecent: 800, Summarizer: compact.WithCompleter(model),
			Retry: compact.Retry{Sleep: func(context.Context, time.Duration) error { return nil }},
		})
		res, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
		require.Equal(t, reason, res.Reason, "%s: %s", stop, res.Detail)
		require.LessOrEqual(t, calls, 3)
		require.Equal(t, before, dump(t, log))
	}
}

func TestAnswerCutOffAtItsLimitIsNoSummary(t *testing.T) {
	t.Parallel()
	all, some := func(n int) int { return n }, func(int) int { return 5 }
	for name, tt := range map[string]struct {
		stop    string
		output  func(int) int
		whole   int
		want    ce.CompactionReason
		summary string
		calls   int
	}{
		"said so":               {stop: message.StopLength, output: some, whole: 99, want: ce.ReasonSummaryRejected, calls: 2},
		"by its usage":          {output: all, whole: 99, want: ce.ReasonSummaryRejected, calls: 2},
		"second answer whole":   {stop: message.StopLength, output: some, whole: 2, want: ce.ReasonCompacted, summary: "locks tables", calls: 2},
		"ended at the limit":    {stop: message.StopEnd, output: all, whole: 99, want: ce.ReasonCompacted, summary: "we will nev", calls: 1},
		"unknown, but far away": {output: some, whole: 99, want: ce.ReasonCompacted, summary: "we will nev", calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, log := newLog(t, talk(20)...)
			before := dump(t, log)
			calls, prompts := 0, []string(nil)
			s := compact.WithCompleter(limited{tt.stop, tt.output, &calls, tt.whole, &prompts})
			// A tail of whole turns, so that there is one summary to ask for.
			ms := view(t, log).Messages
			keep := tokens.Messages(tokens.ScriptAware(), ms[len(ms)-12:])
			res, err := compactor(t, store, &compact.Options{KeepRecent: keep, Summarizer: s}).CompactSession(t.Context(), manual())
			require.NoError(t, err)
			require.Equal(t, tt.want, res.Reason, res.Detail)
			require.Equal(t, tt.calls, calls)
			if tt.summary == "" {
				require.Equal(t, before, dump(t, log))
				require.Contains(t, res.Detail, "cut off")
			} else {
				require.Contains(t, view(t, log).Messages[0].Summary, tt.summary)
			}
			if calls > 1 {
				require.Contains(t, prompts[1], "clearly shorter")
				require.False(t, strings.HasSuffix(prompts[0], "clearly shorter than it."))
			}
		})
	}
}

// A summary that does not come leaves the log as it was, byte for byte.
func TestC10_NoUsableSummary(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		replies []compact.Reply
		want    ce.CompactionReason
		calls   int
	}{
		{name: "a reasoning only", replies: []compact.Reply{{Text: "<think>The user wants…</think>\n"}}, want: ce.ReasonSummaryEmpty, calls: 2},
		{name: "a reasoning without an end", replies: []compact.Reply{{Text: "<thinking>Let me see"}}, want: ce.ReasonSummaryEmpty, calls: 2},
		{name: "b blank", replies: []compact.Reply{{Text: " \n\t"}}, want: ce.ReasonSummaryEmpty, calls: 2},
		{name: "c tool call", replies: []compact.Reply{{Text: `{"name":"read","arguments":{"path":"x"}}`}}, want: ce.ReasonSummaryEmpty, calls: 2},
		{name: "c tool call tag", replies: []compact.Reply{{Text: "<tool_call>read</tool_call>"}}, want: ce.ReasonSummaryEmpty, calls: 2},
		{name: "d rate limited", replies: []compact.Reply{{Err: &compact.RateLimitError{}}}, want: ce.ReasonProviderUnavailable, calls: 3},
		{name: "d broken connection", replies: []compact.Reply{{Err: errors.New("connection reset")}}, want: ce.ReasonProviderUnavailable, calls: 3},
		{name: "e longer than its source", replies: []compact.Reply{{Text: strings.Repeat("Everything is important and was said at length. ", 2000)}}, want: ce.ReasonNoProgress, calls: 2},
		{name: "gave up waiting", replies: []compact.Reply{{Err: context.DeadlineExceeded}}, want: ce.ReasonDeadline, calls: 1},
		{name: "cancelled on its own", replies: []compact.Reply{{Err: context.Canceled}}, want: ce.ReasonProviderUnavailable, calls: 3},
		{name: "credentials", replies: []compact.Reply{{Err: &compact.AuthError{Err: errors.New("bad key")}}}, want: ce.ReasonProviderUnavailable, calls: 1},
		{name: "refusal", replies: []compact.Reply{{Text: "I'm sorry, but I can't help with that."}}, want: ce.ReasonSummaryRejected, calls: 1},
		{name: "typed refusal", replies: []compact.Reply{{Err: &compact.RefusedError{}}}, want: ce.ReasonSummaryRejected, calls: 1},
		{name: "spend limit", replies: []compact.Reply{{Err: fmt.Errorf("budget: %w", compact.ErrSpendLimited)}}, want: ce.ReasonSpendLimited, calls: 1},
		{name: "too large for ever", replies: []compact.Reply{{Err: &compact.TooLargeError{}}}, want: ce.ReasonTooLarge, calls: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, log := newLog(t, talk(20)...)
				before := dump(t, log)
				s := compact.Scripted(tt.replies...)
				c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: s})
				p := ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerTimeout}
				res, err := c.CompactSession(t.Context(), p)
				require.NoError(t, err)
				require.False(t, res.OK)
				require.False(t, res.Compacted)
				require.Equal(t, tt.want, res.Reason)
				require.Contains(t, res.Detail, tt.want.Sentence())
				require.Equal(t, before, dump(t, log))
				require.Len(t, s.Requests(), tt.calls)

				// In the same turn no summariser is asked again unless somebody insists.
				res, err = c.CompactSession(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, tt.want, res.Reason)
				require.Len(t, s.Requests(), tt.calls)
				p.Force = true
				_, err = c.CompactSession(t.Context(), p)
				require.NoError(t, err)
				require.Greater(t, len(s.Requests()), tt.calls)
				require.Equal(t, before, dump(t, log))
			})
		})
	}
}

func TestC10_SecondAnswerCounts(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	s := compact.Scripted(compact.Reply{Text: "<think>hm</think>"}, compact.Reply{Text: "The migration locks tables."})
	res, err := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: s}).CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted)
	require.False(t, s.Requests()[0].Aggressive)
	require.True(t, s.Requests()[1].Aggressive)
}

func TestC10_ExtractStandsInWhereAllowed(t *testing.T) {
	t.Parallel()
	for _, policy := range []compact.Policy{compact.PolicyNever, compact.PolicyPressure, compact.PolicyAlways} {
		for _, budget := range []int{0, 2_000} {
			t.Run(fmt.Sprintf("%s/%d", policy, budget), func(t *testing.T) {
				t.Parallel()
				store, log := newLog(t, talk(20)...)
				c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: compact.Scripted(), Extractive: policy})
				p := manual()
				p.TokenBudget = budget
				res, err := c.CompactSession(t.Context(), p)
				require.NoError(t, err)
				want := policy == compact.PolicyAlways || policy == compact.PolicyPressure && budget > 0
				require.Equal(t, want, res.Compacted, res.Detail)
				if want {
					require.Contains(t, view(t, log).Messages[0].Summary, "without a model")
					var d compact.Details
					require.NoError(t, json.Unmarshal(res.Result.Details, &d))
					require.Equal(t, ce.ReasonSummaryEmpty, d.Fallback)
				}
			})
		}
	}
}

// A model that only ever repeats at length is asked twice about the first part, and other
// sessions may go on asking it.
func TestC10_PartsThatGetNoShorter(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(200)...)
	before := dump(t, log)
	verbose := &probe{Summarizer: compact.Scripted(compact.Reply{Text: strings.Repeat("It went on and on, step by step. ", 4_000)}), window: 16_000}
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: verbose, Breaker: compact.Breaker{Failures: 1}})
	p := manual()
	p.Force = false
	for range 2 {
		res, err := c.CompactSession(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, ce.ReasonNoProgress, res.Reason, res.Detail)
		require.Equal(t, before, dump(t, log))
		require.Equal(t, 2, verbose.calls)
		verbose.calls = 0
		appendAll(t, log, message.User("and another turn"))
		before = dump(t, log)
	}
}

// limited answers as providers do, half a sentence at first where cut says so.
type limited struct {
	stop   string
	output func(limit int) int
	calls  *int
	whole  int // from which call on the answer is whole
	prompt *[]string
}

func (l limited) Complete(_ context.Context, r ce.CompletionRequest) (ce.Completion, error) {
	*l.calls++
	*l.prompt = append(*l.prompt, r.Messages[0].Text())
	if *l.calls >= l.whole {
		return ce.Completion{Text: "The migration locks tables.", StopReason: message.StopEnd}, nil
	}
	return ce.Completion{
		Text: "## Decisions\n- we will nev", StopReason: l.stop,
		Usage: &message.Usage{Input: 10, Output: l.output(r.MaxTokens)},
	}, nil
}
