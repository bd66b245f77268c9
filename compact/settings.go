package compact

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-contextengine/contextengine/tokens"
)

// settings are Options with every default filled in.
type settings struct {
	Options
	counter tokens.Estimator
}

func newSettings(opts *Options) (*settings, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	s := &settings{}
	if opts != nil {
		s.Options = *opts
	}
	s.KeepRecent = cmp.Or(s.KeepRecent, DefaultKeepRecent)
	s.MinSource = cmp.Or(s.MinSource, min(minSourceCap, s.KeepRecent/minSourceShare))
	s.MaxCalls = cmp.Or(s.MaxCalls, DefaultMaxCalls)
	s.Timeout = cmp.Or(s.Timeout, DefaultTimeout)
	s.Retry = s.Retry.withDefaults()
	s.Breaker.Failures = cmp.Or(s.Breaker.Failures, defaultFailures)
	s.Breaker.Pause = cmp.Or(s.Breaker.Pause, defaultPause)
	if s.Extractive == "" {
		s.Extractive = PolicyNever
	}
	if s.Identifiers == "" || s.Identifiers == IdentifiersCustom && strings.TrimSpace(s.IdentifierRule) == "" {
		s.Identifiers = IdentifiersStrict
	}
	if s.Summarizer == nil {
		s.Summarizer = Extractive()
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	s.counter = s.Estimator
	if s.counter == nil {
		s.counter = tokens.ScriptAware()
	}
	return s, nil
}

func (r Retry) withDefaults() Retry {
	r.Attempts = cmp.Or(r.Attempts, defaultAttempts)
	r.MinDelay = cmp.Or(r.MinDelay, defaultMinDelay)
	r.MaxDelay = max(r.MinDelay, cmp.Or(r.MaxDelay, defaultMaxDelay))
	if r.Jitter == nil {
		r.Jitter = func() float64 { return 2*rand.Float64() - 1 }
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	return r
}

// jitterShare is by how much a delay is stretched at most (OpenClaw 2026.7.1).
const jitterShare = 0.2

// delay is how long to wait before attempt n+1, n counting from 1.
func (r Retry) delay(n int, least time.Duration) time.Duration {
	d := r.MinDelay
	for range n - 1 {
		d = min(2*d, r.MaxDelay)
	}
	d = time.Duration(float64(d) * (1 + jitterShare*r.Jitter()))
	return max(least, min(d, r.MaxDelay))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// summaryTokens is how long a summary may get where target tokens may be sent; 0: unknown.
func (s *settings) summaryTokens(target int) int {
	switch {
	case s.MaxSummary > 0:
		return s.MaxSummary
	case target > 0:
		return min(DefaultMaxSummary, max(minSummary, target/summaryShare))
	}
	return DefaultMaxSummary
}

// A summary gets an eighth of what may be sent, and enough for a few sentences.
const (
	summaryShare = 8
	minSummary   = 256
)
