package tokens_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

func at(m message.Message, second int64) message.Message {
	m.Timestamp = time.Unix(second, 0)
	return m
}

func answered(second int64, u message.Usage) message.Message {
	m := at(message.Assistant(message.Text("ok")), second)
	m.Usage = &u
	return m
}

func TestAnchoredUsesTheLastReport(t *testing.T) {
	t.Parallel()
	e := bytesEstimator()
	tail := message.User("12345")
	failed := answered(4, message.Usage{Total: 9_999})
	failed.StopReason = message.StopError
	aborted := answered(4, message.Usage{Total: 9_999})
	aborted.StopReason = message.StopAborted
	for _, tt := range []struct {
		name string
		ms   []message.Message
		want tokens.ContextEstimate
	}{
		{"empty", nil, tokens.ContextEstimate{Anchor: -1}},
		{"none", []message.Message{tail}, tokens.ContextEstimate{Tokens: 9, Trailing: 9, Anchor: -1}},
		{"total", []message.Message{tail, answered(1, message.Usage{Input: 1, Total: 1_200}), tail}, tokens.ContextEstimate{Tokens: 1_209, Usage: 1_200, Trailing: 9, Anchor: 1}},
		{"sum of parts", []message.Message{answered(1, message.Usage{Input: 10, Output: 5, CacheRead: 100, CacheWrite: 7})}, tokens.ContextEstimate{Tokens: 122, Usage: 122, Anchor: 0}},
		{"zeros are unknown", []message.Message{tail, answered(1, message.Usage{})}, tokens.ContextEstimate{Tokens: 9 + 6, Trailing: 9 + 6, Anchor: -1}},
		{"zeros after a report", []message.Message{answered(1, message.Usage{Total: 50}), answered(2, message.Usage{})}, tokens.ContextEstimate{Tokens: 56, Usage: 50, Trailing: 6, Anchor: 0}},
		{"measured context", []message.Message{answered(1, message.Usage{Total: 50, Extra: contextUsage(`{"state":"available","promptTokens":60,"totalTokens":70}`)})}, tokens.ContextEstimate{Tokens: 70, Usage: 70, Anchor: 0}},
		{"unavailable is unknown", []message.Message{answered(1, message.Usage{Total: 50, Extra: contextUsage(`{"state":"unavailable"}`)})}, tokens.ContextEstimate{Tokens: 6, Trailing: 6, Anchor: -1}},
		{"failed and aborted", []message.Message{answered(1, message.Usage{Total: 50}), failed, aborted}, tokens.ContextEstimate{Tokens: 62, Usage: 50, Trailing: 12, Anchor: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tokens.Anchored(e, tt.ms))
		})
	}
}

// After a compaction the size of the context is unknown until the provider reports
// again: a kept message still carries the report of the long context.
func TestX10_UsageBeforeACompactionIsUnknown(t *testing.T) {
	t.Parallel()
	e := bytesEstimator()
	summary := message.CompactionSummary("what happened", 180_000, time.Unix(100, 0))
	kept := answered(50, message.Usage{Total: 180_000})
	list := []message.Message{summary, at(message.User("kept"), 49), kept}

	got := tokens.Anchored(e, list)
	require.Equal(t, -1, got.Anchor)
	require.Equal(t, tokens.Messages(e, list), got.Tokens)
	require.Less(t, got.Tokens, 1_000)

	sameInstant := []message.Message{summary, answered(100, message.Usage{Total: 180_000})}
	require.Equal(t, -1, tokens.Anchored(e, sameInstant).Anchor)
	unknownTime := []message.Message{summary, message.Assistant()}
	unknownTime[1].Usage = &message.Usage{Total: 180_000}
	require.Equal(t, -1, tokens.Anchored(e, unknownTime).Anchor)
	before := []message.Message{answered(150, message.Usage{Total: 180_000}), summary}
	require.Equal(t, -1, tokens.Anchored(e, before).Anchor)

	list = append(list, at(message.User("next"), 101), answered(102, message.Usage{Total: 700}))
	got = tokens.Anchored(e, list)
	require.Equal(t, tokens.ContextEstimate{Tokens: 700, Usage: 700, Anchor: 4}, got)
}

// A report that cannot be true makes a context full, never empty.
func TestAnchoredNeverWrapsAround(t *testing.T) {
	t.Parallel()
	e := bytesEstimator()
	for _, u := range []message.Usage{
		{Total: math.MaxInt},
		{Input: math.MaxInt, CacheRead: 5},
		{Output: math.MaxInt, CacheWrite: math.MaxInt, CacheRead: math.MinInt},
	} {
		list := []message.Message{answered(1, u), message.User("hello")}
		got := tokens.Anchored(e, list)
		require.Equal(t, math.MaxInt, got.Tokens)
		require.Positive(t, tokens.NewBudget(100_000, nil).Overflow(got.Tokens))
		require.Equal(t, math.MaxInt, tokens.ContextTokens(u))
	}
	require.Equal(t, math.MaxInt, tokens.PromptTokens(message.Usage{Input: math.MaxInt, CacheWrite: 1}))
	total := tokens.CumulativeUsage{}.Add(message.Usage{Input: math.MaxInt}).Add(message.Usage{Input: 7, Output: 1})
	require.Equal(t, math.MaxInt, total.Input)
	require.Equal(t, math.MaxInt, total.Total())
	var c tokens.Calibration
	c.Observe("p", "m", 10, message.Usage{Input: math.MaxInt, CacheRead: math.MaxInt})
	require.InDelta(t, 3, c.Factor("p", "m"), 0)
	require.Equal(t, math.MaxInt, tokens.Breakdown{System: math.MaxInt, History: 4, Reserve: 9}.Total())
}
