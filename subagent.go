package contextengine

import (
	"context"
	"time"
)

// SubagentSpawnParams are the params of [SubagentPreparer].
type SubagentSpawnParams struct {
	ParentSessionKey, ChildSessionKey string
	Mode                              SubagentMode // "": [SubagentIsolated]
	// Parent and Child name the sessions where they are known. A child forked
	// from its parent's transcript already exists.
	Parent, Child SessionRef
	// TTL is how long the child may run, not how long its context is kept. 0: no
	// limit.
	TTL time.Duration
}

// A SubagentPreparation undoes a preparation when the child could not be
// dispatched. A [Handle] calls Rollback at most once and recovers its panics.
type SubagentPreparation struct {
	Rollback func(context.Context) error // nil: nothing to undo
}

// SubagentEndedParams are the params of [SubagentEndObserver].
type SubagentEndedParams struct {
	ChildSessionKey string
	Reason          SubagentEndReason
}

// SubagentMode says what a child session starts from.
type SubagentMode string

// Subagent modes. The zero value means [SubagentIsolated].
const (
	// SubagentIsolated: an empty transcript.
	SubagentIsolated SubagentMode = "isolated"
	// SubagentFork: a copy of the parent's branch.
	SubagentFork SubagentMode = "fork"
)

// Valid reports whether m is known; "" is.
func (m SubagentMode) Valid() bool {
	return m == "" || m == SubagentIsolated || m == SubagentFork
}

// SubagentEndReason says why a child session ended.
type SubagentEndReason string

// Reasons for the end of a child session. More than one may come for one child.
const (
	SubagentDeleted   SubagentEndReason = "deleted"
	SubagentCompleted SubagentEndReason = "completed"
	SubagentSwept     SubagentEndReason = "swept"
	SubagentReleased  SubagentEndReason = "released"
)

// Valid reports whether r is known.
func (r SubagentEndReason) Valid() bool {
	switch r {
	case SubagentDeleted, SubagentCompleted, SubagentSwept, SubagentReleased:
		return true
	}
	return false
}
