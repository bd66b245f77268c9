package compact

import (
	"errors"
	"fmt"
	"time"
)

// ErrSpendLimited is what a [Summarizer] returns, wrapped or as it is, when the host
// refuses to spend more. The compaction ends with that reason and nothing is written.
var ErrSpendLimited = errors.New("spend limit reached")

// ErrVetoed is what [Options.Before] returns, wrapped or as it is, to stop a
// compaction. The text of the error becomes the detail of the result.
var ErrVetoed = errors.New("vetoed")

// errDeadline is the cause of a context whose compaction took too long.
var errDeadline = errors.New("compaction deadline exceeded")

// An AuthError says that the summariser's credentials were refused. It is not retried;
// the next summariser of the failover list is asked.
type AuthError struct{ Err error }

// Error implements error.
func (e *AuthError) Error() string { return describe("authentication failed", e.Err) }

// Unwrap returns the provider's error.
func (e *AuthError) Unwrap() error { return e.Err }

// A RateLimitError says that the summariser is asked too often. It is retried, not
// before RetryAfter has passed.
type RateLimitError struct {
	RetryAfter time.Duration // 0: unknown
	Err        error
}

// Error implements error.
func (e *RateLimitError) Error() string { return describe("rate limited", e.Err) }

// Unwrap returns the provider's error.
func (e *RateLimitError) Unwrap() error { return e.Err }

// A TooLargeError says that the request did not fit the summariser's window. It is
// sent again without its oldest part.
type TooLargeError struct {
	Observed int // tokens that the provider counted; 0: unknown
	Err      error
}

// Error implements error.
func (e *TooLargeError) Error() string {
	if e.Observed > 0 {
		return describe(fmt.Sprintf("request of %d tokens is too large", e.Observed), e.Err)
	}
	return describe("request is too large", e.Err)
}

// Unwrap returns the provider's error.
func (e *TooLargeError) Unwrap() error { return e.Err }

// A RefusedError says that the model would not summarise the source. It is not
// retried; the next summariser of the failover list is asked.
type RefusedError struct{ Err error }

// Error implements error.
func (e *RefusedError) Error() string { return describe("the model refused", e.Err) }

// Unwrap returns the provider's error.
func (e *RefusedError) Unwrap() error { return e.Err }

func describe(what string, err error) string {
	if err == nil {
		return what
	}
	return what + ": " + err.Error()
}
