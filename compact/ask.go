package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/tokens"
)

// A job is one compaction at work. It belongs to one goroutine.
type job struct {
	s      *settings
	memory *memory
	// session names the model that the session uses, for summarisers that do not say.
	session Model
	force   bool
	focus   string
	room    int // tokens of a summary
	source  int // tokens of what it replaces

	calls, left int   // requests made; pieces left out
	drops       int   // times that source was dropped for the present summariser
	asked       int   // index of the summariser that was asked last
	small       []int // indexes of those for which everything is too large
	spent       tokens.CumulativeUsage
	answered    string // model that gave the last answer
	extract     bool   // the text was made without a model
}

// errBreakerOpen stands for a model that is not asked for now.
var errBreakerOpen = errors.New("not asked: it failed too often just now")

// errCalls ends a compaction that makes too many requests.
var errCalls = fmt.Errorf("%w: too many requests in one compaction", ErrSpendLimited)

// A flawError is an answer that is no summary.
type flawError struct{ flaw flaw }

func (e *flawError) Error() string { return "the answer is no summary: " + string(e.flaw) }

// A candidate is one summariser of the failover list.
type candidate struct {
	Summarizer
	model Model
	key   string
	label string // provider and model as they are stored; "": unknown
	exact bool   // its answers are not judged by their form
}

// candidates lists the summarisers in the order in which they are asked.
func (j *job) candidates() []candidate {
	list := append([]Summarizer{j.s.Summarizer}, j.s.Failover...)
	out := make([]candidate, len(list))
	for i, sum := range list {
		c := candidate{Summarizer: sum}
		if d, ok := sum.(Describer); ok {
			c.model = d.Describe()
		}
		_, c.exact = sum.(extractive)
		named := c.model
		if named.Name == "" && named.Provider == "" {
			named = j.session
		}
		if named.Name != "" {
			c.label = named.Provider + "/" + named.Name
		}
		c.key = c.label
		if c.model.Name == "" { // several may be over the same unnamed model
			c.key = fmt.Sprintf("%s#%d", c.label, i)
		}
		out[i] = c
	}
	return out
}

// ask sends a request to the first summariser that answers it. original is the text that
// an answer must not copy; "": it may, because the source are summaries already.
func (j *job) ask(ctx context.Context, r Request, original string) (string, error) {
	var last error
	for i, c := range j.candidates() {
		if slices.Contains(j.small, i) {
			continue
		}
		j.asked = i
		if !j.force && j.memory.open(c.key, j.s.Now()) {
			last = cmp.Or(last, fmt.Errorf("model %q: %w", c.key, errBreakerOpen)) // what a model said tells more
			continue
		}
		text, err := j.askOne(ctx, c, r, original)
		switch {
		case err == nil:
			j.memory.note(c.key, j.s.Breaker, false, j.s.Now())
			j.answered, j.extract = c.label, c.exact
			return text, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case isTooLarge(err), errors.Is(err, ErrSpendLimited):
			return "", err
		}
		if !isTooLong(err) {
			j.memory.note(c.key, j.s.Breaker, true, j.s.Now())
		}
		last = err
	}
	return "", last
}

// askOne asks one summariser, again after failures that may pass and once more when the
// answer is no summary.
func (j *job) askOne(ctx context.Context, c candidate, r Request, original string) (string, error) {
	for attempt := 1; ; attempt++ {
		if j.calls >= j.s.MaxCalls {
			return "", errCalls
		}
		j.calls++
		answer, err := bounded(ctx, func(ctx context.Context) (Summary, error) { return c.Summarize(ctx, r) })
		if err == nil {
			if answer.Usage != nil {
				j.spent = j.spent.Add(*answer.Usage)
			}
			text, f := j.judge(c, answer, r, original)
			if f == "" {
				return text, nil
			}
			if f == flawRefusal {
				return "", &RefusedError{Err: &flawError{f}}
			}
			if r.Aggressive {
				return "", &flawError{f}
			}
			r.Aggressive = true
			attempt--
			continue
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		err = classify(ctx, err)
		wait, again := transient(err)
		if !again || attempt >= j.s.Retry.Attempts {
			return "", err
		}
		if err := j.s.Retry.Sleep(ctx, j.s.Retry.delay(attempt, wait)); err != nil {
			return "", err
		}
	}
}

// judge looks at an answer's form and length.
func (j *job) judge(c candidate, answer Summary, r Request, original string) (string, flaw) {
	if c.exact {
		return answer.Text, ""
	}
	text, f := judge(answer.Text, original)
	switch {
	case f != "":
	case answer.CalledTool:
		f = flawToolCall
	case answer.CutOff:
		f = flawCut
	case j.s.counter.Text(text) >= j.s.counter.Text(r.Source)+j.s.counter.Text(r.Previous):
		f = flawLength
	}
	if f != "" {
		return "", f
	}
	return text, ""
}

// transient reports whether an error may pass, and how long to wait at least. What took
// too long once is not waited for again.
func transient(err error) (time.Duration, bool) {
	var slow interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() {
		return 0, false
	}
	if rl := (*RateLimitError)(nil); errors.As(err, &rl) {
		return rl.RetryAfter, true
	}
	return 0, !isTyped(err)
}

func isTooLarge(err error) bool {
	var tl *TooLargeError
	return errors.As(err, &tl)
}

// isTooLong recognises a summary that is no shorter than its source. The source may be to
// blame, so it does not count against the model.
func isTooLong(err error) bool {
	var f *flawError
	return errors.As(err, &f) && f.flaw == flawLength
}

// failureOf gives an error of a summary the code with which the compaction ends.
func failureOf(err error) ce.CompactionReason {
	var (
		unusable *flawError
		refused  *RefusedError
		rejected *auditError
	)
	switch {
	case errors.Is(err, errDeadline), errors.Is(err, context.DeadlineExceeded):
		return ce.ReasonDeadline
	case errors.As(err, &rejected):
		return ce.ReasonSummaryRejected
	case errors.As(err, &refused):
		return ce.ReasonSummaryRejected
	case errors.As(err, &unusable):
		return unusable.flaw.reason()
	case isTooLarge(err):
		return ce.ReasonTooLarge
	case errors.Is(err, ErrSpendLimited):
		return ce.ReasonSpendLimited
	}
	return ce.ReasonProviderUnavailable
}
