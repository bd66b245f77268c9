package contextengine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

var (
	// ErrDeclined, returned as itself by an optional hook, means: behave as if
	// the hook were absent this time. Compared with ==; wrapped, or returned by
	// a required method, it is an ordinary failure.
	ErrDeclined = errors.New("declined")
	// ErrNotRegistered says that no engine has the selected id.
	ErrNotRegistered = errors.New("not registered")
	// ErrDiscoveryOnly says that the selected id was registered to be listed,
	// not to be run.
	ErrDiscoveryOnly = errors.New("registered for discovery only")
	// ErrEngineBusy says that an earlier call for the session was abandoned at
	// its deadline and still runs, so that no other may start, and that no
	// fallback is allowed to answer.
	ErrEngineBusy = errors.New("engine still busy with an abandoned call")
	// ErrClosed says that the [Handle], or the host that drives it, was closed.
	ErrClosed = errors.New("closed")
)

// An OpError is any failure that leaves a [Handle]. Engine is the selected id.
// Its text has control characters removed; unwrap it for the engine's own error.
type OpError struct {
	Engine, Op string
	Err        error
}

// Error names the engine, the operation and the cause on one line.
func (e *OpError) Error() string {
	return fmt.Sprintf("contextengine: engine %q: %s: %s", e.Engine, e.Op, sanitise(errText(e.Err)))
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// A PanicError is a recovered panic of an engine, a factory, a tool, or
// something that a host lent.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the panicking goroutine
}

// Error shows the value, not the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A ContractError says how an engine broke the contract; all issues at once.
type ContractError struct {
	Engine string
	Issues []string
}

// Error lists the issues.
func (e *ContractError) Error() string {
	return fmt.Sprintf("engine %q breaks the contract: %s", e.Engine, strings.Join(e.Issues, "; "))
}

// A DeadlineError says that a call was abandoned at its deadline. The engine may
// still be running it. It matches [context.DeadlineExceeded].
type DeadlineError struct {
	Engine, Op string
	After      time.Duration // the deadline that was missed
}

// Error names the call and the deadline.
func (e *DeadlineError) Error() string {
	return fmt.Sprintf("engine %q: %s did not return within %v", e.Engine, e.Op, e.After)
}

// Is makes a missed deadline match [context.DeadlineExceeded].
func (e *DeadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// A HostError marks a failure of what the host lent: a reader, a compactor, a
// completer, a memory section. An engine that returns one, wrapped or not, is
// not to blame.
type HostError struct {
	Op  string // what was asked of the host, as a verb: "compact session"
	Err error
}

// Error names the operation and the cause.
func (e *HostError) Error() string { return fmt.Sprintf("host failed to %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *HostError) Unwrap() error { return e.Err }

// A ConflictError says that an id belongs to another owner.
type ConflictError struct {
	ID, Owner string // Owner holds ID already
}

// Error names the id and who holds it.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("engine id %q belongs to owner %q", e.ID, e.Owner)
}

// An EngineUnavailableError is what [Strict] answers instead of falling back, and
// what the tools of a quarantined engine answer under either policy.
// While the same failure stands its text stays the same, and every call returns
// it without trying the engine again.
type EngineUnavailableError struct {
	Engine string // the selected id
	Op     string // the operation that failed first
	Reason string // sanitised, one line
	Err    error  // the first failure
}

// Error names the engine and the first failure.
func (e *EngineUnavailableError) Error() string {
	return fmt.Sprintf("contextengine: engine %q is unavailable since %s failed: %s", e.Engine, e.Op, e.Reason)
}

// Unwrap returns the first failure.
func (e *EngineUnavailableError) Unwrap() error { return e.Err }

// An UnknownParamError is what an engine behind a strict schema returns for
// host-added fields that it rejects. The fields are zeroed and the call is
// repeated, at most once per field; see [Info.AcceptedHostParams] for the
// declared form, which costs no failed call.
type UnknownParamError struct {
	Params []HostParam
	Err    error // optional: what the schema said
}

// Error names the fields.
func (e *UnknownParamError) Error() string {
	names := make([]string, len(e.Params))
	for i, p := range e.Params {
		names[i] = fmt.Sprintf("%q", string(p))
	}
	text := "rejected host fields: " + strings.Join(names, ", ")
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what the schema said.
func (e *UnknownParamError) Unwrap() error { return e.Err }

func newPanicError(v any) *PanicError { return &PanicError{Value: v, Stack: debug.Stack()} }
