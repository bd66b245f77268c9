package contextengine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// CompactParams are the params of [ContextEngine.Compact] and of
// [Compactor.CompactSession].
type CompactParams struct {
	SessionRef
	Target SessionTarget
	// TokenBudget is what the context may cost afterwards: the host's window
	// less its reserve, the same number that its precheck used. 0: unknown.
	TokenBudget int
	// CurrentTokens is the observed size of the context; 0: unknown.
	CurrentTokens int
	// Force compacts even below the threshold and past a circuit breaker.
	Force   bool
	Trigger CompactionTrigger
	Goal    CompactionGoal // "": [GoalBudget]
	// CustomInstructions is what the operator wants the summary to focus on.
	CustomInstructions string
	// ActiveTurn says that a run of this session is waiting for tool results:
	// its open calls must stay.
	ActiveTurn bool
	Settings   *RuntimeSettings
	Runtime    *RuntimeContext
}

// A CompactResult says what a compaction did.
type CompactResult struct {
	// OK is false when compaction failed. OK without Compacted is "nothing to
	// do". Hosts believe Compacted only with OK, and measure the effect.
	OK, Compacted bool
	Reason        CompactionReason
	Detail        string // a sentence for people
	Result        *CompactDetails
}

// CompactDetails describe what was stored. All fields are optional.
type CompactDetails struct {
	Summary          string
	FirstKeptEntryID string
	TokensBefore     int  // 0: unknown
	TokensAfter      *int // nil: unknown
	// SessionID and SessionTarget name the successor when the compaction moved
	// the session to a new one.
	SessionID     string
	SessionTarget *SessionTarget
	Details       json.RawMessage
}

// Successor returns the id of the session to go on with after the compaction:
// the target's, else the plain one, else "" when the session stays.
func (d *CompactDetails) Successor() string {
	if d == nil {
		return ""
	}
	if d.SessionTarget != nil && d.SessionTarget.SessionID != "" {
		return d.SessionTarget.SessionID
	}
	return d.SessionID
}

// CompactionTrigger says what asked for a compaction.
type CompactionTrigger string

// Compaction triggers. The zero value means unknown.
const (
	TriggerThreshold CompactionTrigger = "threshold"
	TriggerOverflow  CompactionTrigger = "overflow"
	TriggerManual    CompactionTrigger = "manual"
	TriggerTimeout   CompactionTrigger = "timeout"
	TriggerBytes     CompactionTrigger = "bytes"
	TriggerBudget    CompactionTrigger = "budget"
)

// Valid reports whether t is known; "" is.
func (t CompactionTrigger) Valid() bool {
	switch t {
	case "", TriggerThreshold, TriggerOverflow, TriggerManual, TriggerTimeout, TriggerBytes, TriggerBudget:
		return true
	}
	return false
}

// CompactionGoal says how far to compact.
type CompactionGoal string

// Compaction goals. The zero value means [GoalBudget].
const (
	// GoalBudget: below the token budget.
	GoalBudget CompactionGoal = "budget"
	// GoalThreshold: below the point where automatic compaction would start.
	GoalThreshold CompactionGoal = "threshold"
)

// Valid reports whether g is known; "" is.
func (g CompactionGoal) Valid() bool {
	return g == "" || g == GoalBudget || g == GoalThreshold
}

// A CompactionReason says, as a code, how a compaction ended.
type CompactionReason string

// The closed set of reasons.
const (
	ReasonCompacted           CompactionReason = "compacted"
	ReasonNothingToCompact    CompactionReason = "nothing_to_compact"
	ReasonBelowThreshold      CompactionReason = "below_threshold"
	ReasonNoRealConversation  CompactionReason = "no_real_conversation"
	ReasonPendingToolCalls    CompactionReason = "pending_tool_calls"
	ReasonNoProgress          CompactionReason = "no_progress"
	ReasonSummaryEmpty        CompactionReason = "summary_empty"
	ReasonSummaryRejected     CompactionReason = "summary_rejected"
	ReasonTooLarge            CompactionReason = "too_large"
	ReasonProviderUnavailable CompactionReason = "provider_unavailable"
	ReasonSpendLimited        CompactionReason = "spend_limited"
	ReasonDeadline            CompactionReason = "deadline"
	ReasonSuperseded          CompactionReason = "superseded"
	ReasonCancelled           CompactionReason = "cancelled"
	ReasonDeferred            CompactionReason = "deferred"
	ReasonVetoed              CompactionReason = "vetoed"
	ReasonDisabled            CompactionReason = "disabled"
	ReasonNoCompactor         CompactionReason = "no_compactor"
	ReasonTargetNotReached    CompactionReason = "target_not_reached"
)

// CompactionReasons returns the closed set of reasons in a fixed order.
func CompactionReasons() []CompactionReason {
	return []CompactionReason{
		ReasonCompacted, ReasonNothingToCompact, ReasonBelowThreshold, ReasonNoRealConversation,
		ReasonPendingToolCalls, ReasonNoProgress, ReasonSummaryEmpty, ReasonSummaryRejected,
		ReasonTooLarge, ReasonProviderUnavailable, ReasonSpendLimited, ReasonDeadline,
		ReasonSuperseded, ReasonCancelled, ReasonDeferred, ReasonVetoed, ReasonDisabled,
		ReasonNoCompactor, ReasonTargetNotReached,
	}
}

// Valid reports whether r is in the closed set; "" is (unknown). Engines may
// answer with other values; they survive.
func (r CompactionReason) Valid() bool {
	return r == "" || slices.Contains(CompactionReasons(), r)
}

// DelegateCompaction runs the host's built-in compaction for an engine that has
// none of its own. Call it from Compact and return what it returns.
//
//   - p.Runtime.Compactor does the work; without one the result is OK=false with
//     [ReasonNoCompactor].
//   - CurrentTokens defaults to p.Runtime.CurrentTokens. Goal and Settings are
//     not passed on: the compactor has its own.
//   - A target that names another session than p is a [*HostError] before
//     anything starts: who called the engine mixed up the two.
//   - When the compactor moved the session, the result's SessionTarget names the
//     successor in full: agent, key, store and thread come from p.
//
// An error of the compactor comes back as a [*HostError]: it is not the
// engine's fault.
func DelegateCompaction(ctx context.Context, p CompactParams) (CompactResult, error) {
	if err := checkIdentity(p); err != nil {
		return CompactResult{}, &HostError{Op: "delegate compaction", Err: err}
	}
	rt := p.Runtime
	if rt == nil || rt.Compactor == nil {
		return CompactResult{Reason: ReasonNoCompactor, Detail: "the host lent no built-in compaction"}, nil
	}
	if p.CurrentTokens <= 0 && rt.CurrentTokens > 0 {
		p.CurrentTokens = rt.CurrentTokens
	}
	p.Goal, p.Settings = "", nil
	res, err := lendCompactor(rt.Compactor).CompactSession(ctx, p)
	if err != nil {
		return CompactResult{}, err
	}
	res.Result = completeSuccessor(res.Result, p)
	return res, nil
}

// checkIdentity refuses a target that contradicts the session it stands beside.
func checkIdentity(p CompactParams) error {
	conflict := func(field, a, b string) error {
		if a == "" || b == "" || a == b {
			return nil
		}
		return fmt.Errorf("session target names %s %q, the session is %q", field, a, b)
	}
	if err := conflict("session", p.Target.SessionID, p.SessionID); err != nil {
		return err
	}
	return conflict("session key", p.Target.SessionKey, p.SessionKey)
}

// completeSuccessor fills the identity of a successor session from the call.
func completeSuccessor(d *CompactDetails, p CompactParams) *CompactDetails {
	id := d.Successor()
	if id == "" {
		return d
	}
	t := SessionTarget{SessionID: id}
	if d.SessionTarget != nil {
		t = *d.SessionTarget
		t.SessionID = id
	}
	var agent string
	if p.Runtime != nil {
		agent = p.Runtime.AgentID
	}
	t.AgentID = cmp.Or(t.AgentID, p.Target.AgentID, agent)
	t.SessionKey = cmp.Or(t.SessionKey, p.Target.SessionKey, p.SessionKey)
	t.StorePath = cmp.Or(t.StorePath, p.Target.StorePath)
	t.ThreadID = cmp.Or(t.ThreadID, p.Target.ThreadID)
	out := *d
	out.SessionID, out.SessionTarget = id, &t
	return &out
}
