package contextengine

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// A Quarantine is the record of the failure that took an engine out of service:
// the first one of its registration.
type Quarantine struct {
	EngineID string // the registered id
	Owner    string // "": nobody registered the id
	// Operation that failed: resolve, factory, contract-validation, tool, or a
	// hook in lower camel case, such as assemble or afterTurn.
	Operation string
	// Reason is the error's text as it came, cut to 500 code points. It may hold
	// control characters: show what String makes of it.
	Reason     string
	Class      string // error, panic, contract or deadline
	Generation uint64 // of the registration that failed; 0: nobody registered the id
	FailedAt   time.Time
}

// String is one line for people, without control characters: the engine, what
// failed, how and why.
func (q Quarantine) String() string {
	return sanitise(fmt.Sprintf("engine %q failed: %s (%s): %s", q.EngineID, q.Operation, q.Class, q.Reason))
}

// Classes of failure.
const (
	ClassError    = "error"
	ClassPanic    = "panic"
	ClassContract = "contract"
	ClassDeadline = "deadline"
)

// reasonLimit bounds a stored reason, in code points.
const reasonLimit = 500

// a failure is a quarantine record with the error behind it.
type failure struct {
	Quarantine
	err error
	seq uint64 // order of failures in a registry
}

// unavailable is what Strict answers. The text depends on the record alone.
func (f *failure) unavailable() error {
	return &EngineUnavailableError{
		Engine: f.EngineID, Op: f.Operation, Reason: sanitise(f.Reason), Err: f.err,
	}
}

// fail records that the engine of g failed, unless one of its calls did before,
// and returns the record that counts.
func (r *Registry) fail(ctx context.Context, g *generation, op string, cause fault) *failure {
	f := &failure{err: cause.err, Quarantine: Quarantine{
		EngineID: g.id, Owner: g.owner, Operation: op,
		Reason: cutRunes(cause.text, reasonLimit), Class: cause.class,
		Generation: g.number, FailedAt: r.now(),
	}}
	f.seq = r.failures.Add(1)
	if !g.failed.CompareAndSwap(nil, f) {
		if first := g.failed.Load(); first != nil {
			return first
		}
		return f // cleared in between: the call still failed
	}
	r.logger().LogAttrs(ctx, slog.LevelError, "context engine quarantined",
		slog.String("engine", sanitise(g.id)), slog.String("owner", sanitise(g.owner)),
		slog.String("operation", op), slog.String("class", f.Class),
		slog.Uint64("generation", g.number), slog.String("reason", sanitise(f.Reason)))
	r.mirror(g.id)
	return f
}
