package compact

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/tokens"
)

// Defaults of OpenClaw 2026.7.1 unless said otherwise.
const (
	// DefaultKeepRecent is how much of the end stays as it is, in tokens.
	DefaultKeepRecent = 20_000
	// DefaultMaxSummary bounds a summary, in tokens: four fifths of the default reserve.
	DefaultMaxSummary = 13_107
	// DefaultTimeout bounds the summary of one compaction.
	DefaultTimeout = 180 * time.Second
	// DefaultMaxCalls bounds the requests of one compaction. Ours: a session of a million
	// tokens and a summariser of 32,000 stay below it.
	DefaultMaxCalls = 64
	// DefaultSummarizerWindow is taken for a summariser whose window is unknown, in tokens.
	DefaultSummarizerWindow = 128_000
)

// Defaults of Retry (OpenClaw 2026.7.1) and, our own, of Breaker.
const (
	defaultAttempts = 3
	defaultMinDelay = 500 * time.Millisecond
	defaultMaxDelay = 5 * time.Second

	defaultFailures = 3
	defaultPause    = 5 * time.Minute
)

// minSourceShare of KeepRecent, at most minSourceCap tokens, is the least worth a request.
const (
	minSourceShare = 20
	minSourceCap   = 1_000
)

// Options configure a compactor and a plan. The zero value and nil are all defaults.
type Options struct {
	// Mode switches compaction off for every trigger but manual. Optional. If "", on.
	Mode Mode
	// KeepRecent is how much of the end stays as it is, in tokens. Optional. If zero,
	// DefaultKeepRecent. Never more than half of what may be sent is kept.
	KeepRecent int
	// MinSource is the least source worth a summary, in tokens, while the context fits.
	// Optional. If zero, a twentieth of KeepRecent and at most 1,000.
	MinSource int
	// MaxSummary bounds a summary, in tokens. Optional. If zero, DefaultMaxSummary and
	// at most an eighth of what may be sent.
	MaxSummary int
	// Budget is the model's, the one that the host's own check uses. Optional. If zero,
	// unknown: then only what the params carry limits anything.
	Budget tokens.Budget
	// Estimator counts. Optional. If nil, a Meter over the script-aware estimator.
	Estimator tokens.Estimator

	// Summarizer writes the summary. Optional. If nil, the extractive one.
	Summarizer Summarizer
	// Failover is asked in order when the Summarizer cannot answer. Optional.
	Failover []Summarizer
	// Provider is a plugin that summarises messages in its own way. It is asked first;
	// when it fails or answers nothing, the Summarizer is. Optional.
	Provider Provider
	// Extractive says when a deterministic summary may stand in for one that could not be
	// had. Optional. If "", never.
	Extractive Policy
	// Audit is what a model's summary must hold. Optional.
	Audit Audit
	// Retry is for requests that failed and may succeed later. Optional.
	Retry Retry
	// Breaker stops asking a model that keeps failing. Optional.
	Breaker Breaker
	// Identifiers says what a summariser is told about exact names. Optional. If "", strict.
	Identifiers IdentifierPolicy
	// IdentifierRule is the text of the custom identifier policy.
	IdentifierRule string
	// Focus is what summaries should dwell on when the call itself names nothing. Optional.
	Focus string
	// Redact removes what must reach neither a summariser or Provider nor what is stored. It
	// sees every text of the source whole, then the rendered source, and at last the text
	// that would be stored, so it sees texts again that it has changed. Hooks get the plan
	// as it is. It must return. Optional. Safe for concurrent use.
	Redact func(text string) string
	// MaxCalls bounds the requests of one compaction, retries included. Optional. If zero,
	// DefaultMaxCalls.
	MaxCalls int
	// MaxBytes is the size of a stored session from which Due asks for a compaction.
	// Optional. If zero, the size does not matter.
	MaxBytes int64
	// Timeout bounds the summary of one compaction, and each hook. What ignores the end of
	// its context is left alone soon after, and what it returns is dropped. Optional. If
	// zero, DefaultTimeout.
	Timeout time.Duration
	// ActiveTurn tells MakePlan that a run of the session is waiting for tool results. A
	// Compactor takes it from its params.
	ActiveTurn bool

	// FlushMemory lets a host save what is worth keeping before the history goes. It is
	// called at most once between two compactions of a session, again up to twice when it
	// failed, and again when the caller's ctx ended it. Its error is logged and stops
	// nothing. Optional.
	FlushMemory func(ctx context.Context, c Cycle) error
	// Before is called when a compaction is about to begin, before FlushMemory. An
	// ErrVetoed stops it; any other error is logged. Optional.
	Before func(ctx context.Context, c Cycle) error
	// After is called once when a summary was stored. Optional.
	After func(ctx context.Context, c Cycle, d ce.CompactDetails)

	// Now is the clock. Optional. If nil, time.Now.
	Now func() time.Time
	// Logger gets counts, ids and reasons, never content. Optional. If nil, nothing is logged.
	Logger *slog.Logger
}

// A Size is how large a session is now; 0: unknown.
type Size struct {
	Tokens int   // of the context
	Bytes  int64 // of the stored session
}

// Due says which automatic trigger asks for a compaction of a session of that size; "":
// none. More tokens than may be sent are the threshold, where the window is known; bytes
// are it from MaxBytes on. It is the rule by which a [Compactor] accepts the threshold,
// so a host that asks it first gets no useless call. With ModeOff nothing is due.
func (o *Options) Due(s Size) ce.CompactionTrigger {
	switch {
	case o == nil || o.Mode == ModeOff:
		return ""
	case o.Budget.Overflow(s.Tokens) > 0:
		return ce.TriggerThreshold
	case o.MaxBytes > 0 && s.Bytes >= o.MaxBytes:
		return ce.TriggerBytes
	}
	return ""
}

// A Cycle is one compaction as hooks see it. The plan's messages are read-only.
type Cycle struct {
	Session ce.SessionRef
	Trigger ce.CompactionTrigger
	Plan    Plan
}

// Mode switches compaction on or off. The zero value is on.
type Mode string

// The modes.
const (
	ModeOn  Mode = "on"
	ModeOff Mode = "off"
)

// Valid reports whether m is known; "" is.
func (m Mode) Valid() bool { return m == "" || m == ModeOn || m == ModeOff }

// Policy says when the extractive summary may stand in. The zero value is never.
type Policy string

// The policies.
const (
	PolicyNever Policy = "never"
	// PolicyPressure allows it when the context does not fit.
	PolicyPressure Policy = "pressure"
	PolicyAlways   Policy = "always"
)

// Valid reports whether p is known; "" is.
func (p Policy) Valid() bool {
	return p == "" || p == PolicyNever || p == PolicyPressure || p == PolicyAlways
}

// IdentifierPolicy says what summarisers are told about names, ids, paths and numbers.
// The zero value is strict.
type IdentifierPolicy string

// The identifier policies.
const (
	// IdentifiersStrict: they are repeated exactly; those that are missing are added to
	// the stored text and the audit looks for them.
	IdentifiersStrict IdentifierPolicy = "strict"
	// IdentifiersOff: nothing is said and nothing is checked.
	IdentifiersOff IdentifierPolicy = "off"
	// IdentifiersCustom: Options.IdentifierRule is said, nothing is checked. A blank rule
	// is strict.
	IdentifiersCustom IdentifierPolicy = "custom"
)

// Valid reports whether p is known; "" is.
func (p IdentifierPolicy) Valid() bool {
	return p == "" || p == IdentifiersStrict || p == IdentifiersOff || p == IdentifiersCustom
}

// Audit is what a summary of a model must hold: the required sections, the asks that are
// still open and the exact identifiers. It looks at the text that would be stored. A
// summary that fails it is not stored. The zero value audits nothing.
type Audit struct {
	// Attempts is how often a failed summary is asked for again, with what was missing.
	// Zero: no audit. Negative: an audit without another attempt.
	Attempts int
}

// Retry says how often and when a request that failed is sent again.
type Retry struct {
	// Attempts counts the first request, too. Optional. If zero, 3.
	Attempts int
	// MinDelay doubles up to MaxDelay. Optional. If zero, 500 ms and 5 s.
	MinDelay, MaxDelay time.Duration
	// Jitter returns a number in [-1, 1), by a fifth of which a delay is stretched.
	// Optional. If nil, random.
	Jitter func() float64
	// Sleep waits and returns the context's error when it ends first. Optional. If nil, a
	// timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Breaker stops asking a model, told apart by provider and name, that keeps failing.
// Forced compactions ask it all the same.
type Breaker struct {
	// Failures in a row open the breaker. Optional. If zero, 3.
	Failures int
	// Pause is how long it stays open. Optional. If zero, 5 minutes.
	Pause time.Duration
}

// Validate lists everything in o that contradicts itself.
func (o *Options) Validate() error {
	if o == nil {
		return nil
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !o.Mode.Valid() {
		bad("unknown mode %q", o.Mode)
	}
	if !o.Extractive.Valid() {
		bad("unknown extractive policy %q", o.Extractive)
	}
	if !o.Identifiers.Valid() {
		bad("unknown identifier policy %q", o.Identifiers)
	}
	for _, n := range [...]struct {
		name  string
		value int64 // an int is too small for a duration where it has 32 bits
	}{
		{"keep recent", int64(o.KeepRecent)},
		{"min source", int64(o.MinSource)},
		{"max summary", int64(o.MaxSummary)},
		{"max calls", int64(o.MaxCalls)},
		{"max bytes", int64(o.MaxBytes)},
		{"retry attempts", int64(o.Retry.Attempts)},
		{"breaker failures", int64(o.Breaker.Failures)},
		{"timeout", int64(o.Timeout)},
		{"retry delay", int64(min(o.Retry.MinDelay, o.Retry.MaxDelay))},
		{"breaker pause", int64(o.Breaker.Pause)},
	} {
		if n.value < 0 {
			bad("%s is negative", n.name)
		}
	}
	if o.Retry.MaxDelay > 0 && o.Retry.MinDelay > o.Retry.MaxDelay {
		bad("retry delay %v is above its maximum %v", o.Retry.MinDelay, o.Retry.MaxDelay)
	}
	for i, s := range o.Failover {
		if s == nil {
			bad("failover summariser %d is nil", i)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("compact options: %w", errors.Join(errs...))
}
