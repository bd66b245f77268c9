package compact

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// ErrNoKeys is what [MakePlan] returns for a view whose messages cannot be named: what
// is kept could not be stored.
var ErrNoKeys = errors.New("no message has a key to keep from")

// A Plan is what a compaction would do: a view cut in three, before any model is asked.
// Its lists are parts of the view and read-only.
type Plan struct {
	// Summarise is replaced by the summary.
	Summarise []message.Message
	// TurnPrefix is the begun part of the turn whose end is kept; it gets a summary of its
	// own. Empty: the cut is between two turns.
	TurnPrefix []message.Message
	// Keep stays as it is. It starts with a whole unit and never with a tool result.
	Keep []message.Message
	// FirstKept is the key of the first message of Keep.
	FirstKept string
	// Previous is the summary of an earlier compaction, which the new one updates; "": none.
	Previous string

	// Before is the size of the view, Source that of Summarise and TurnPrefix, Kept that of
	// Keep. Tokens.
	Before, Source, Kept int
	// Target is what may be sent, in tokens; 0: unknown. Pressure says that the view, or
	// what was observed, does not fit it.
	Target   int
	Pressure bool

	// Reason is set when there is nothing to do, and says why. Then Summarise and
	// TurnPrefix are empty.
	Reason ce.CompactionReason
}

// MakePlan decides what to summarise and what to keep, without a model. It reads v only.
//
//   - The kept tail is the longest run of whole units whose tokens do not pass
//     Options.KeepRecent, and at least one unit. Where the budget is known, the tail
//     leaves room in it for a summary.
//   - A unit, a call with its results, is never parted. Results without a call are not
//     kept at the front.
//   - With Options.ActiveTurn the calls that still wait for results are kept.
//   - Nothing to do is a Reason, not an error: no message, no conversation, everything
//     recent, or too little to be worth a summary.
//
// It returns [ErrNoKeys] when no message can be kept from, and an error for bad options.
func MakePlan(v transcript.View, opts *Options) (Plan, error) {
	s, err := newSettings(opts)
	if err != nil {
		return Plan{}, err
	}
	w := want{active: s.ActiveTurn}
	if s.Budget.Known() {
		w.target = s.Budget.Prompt()
	}
	return s.plan(v, w)
}

// A want is what one compaction is asked for.
type want struct {
	active   bool // calls at the end still wait for results
	overflow bool // a provider said that the context does not fit
	target   int  // tokens; 0: unknown
	current  int  // observed; 0: unknown
}

func (s *settings) plan(v transcript.View, w want) (Plan, error) {
	p := Plan{Before: tokens.Messages(s.counter, v.Messages), Target: w.target}
	p.Pressure = w.overflow || w.target > 0 && max(p.Before, w.current) > w.target
	body, carried := v.Messages, 0
	if len(body) > 0 && body[0].Role == message.RoleCompactionSummary {
		p.Previous, carried = body[0].Summary, s.counter.Message(body[0])
		body = body[1:]
	}
	if len(body) == 0 {
		return p.nothing(body, ce.ReasonNothingToCompact), nil
	}
	if !hasConversation(body, len(body)) {
		return p.nothing(body, ce.ReasonNoRealConversation), nil
	}
	c := cutter{s: s, body: body, units: slices.Collect(message.Units(body))}
	cut, err := c.cut(s.tailBudget(&p, w), w.active)
	if err != nil {
		return Plan{}, err
	}
	p.Kept = cut.kept
	p.Source = max(0, p.Before-carried-cut.kept)
	if reason := s.refuse(&p, body, cut); reason != "" {
		return p.nothing(body, reason), nil
	}
	turn := turnStart(body, cut.at)
	p.Summarise = slices.Clip(body[:turn])
	p.TurnPrefix = slices.Clip(body[turn:cut.at])
	p.Keep = slices.Clip(body[cut.at:])
	p.FirstKept = body[cut.at].Key
	return p, nil
}

// nothing turns p into a plan that keeps everything.
func (p Plan) nothing(body []message.Message, reason ce.CompactionReason) Plan {
	p.Reason, p.Keep = reason, slices.Clip(body)
	p.Summarise, p.TurnPrefix, p.FirstKept = nil, nil, ""
	p.Kept, p.Source = p.Before, 0
	if len(body) > 0 {
		p.FirstKept = body[0].Key
	}
	return p
}

// minUseful is the least source that is worth a summary when the context does not fit, in
// tokens.
const minUseful = 64

// refuse says why a cut is not worth a summary; "" when it is.
func (s *settings) refuse(p *Plan, body []message.Message, cut cutPlace) ce.CompactionReason {
	least := s.MinSource
	if p.Pressure {
		least = min(least, minUseful)
	}
	switch {
	case (cut.at == 0 || p.Source < least) && cut.held:
		return ce.ReasonPendingToolCalls
	case cut.at == 0 || p.Source < least:
		return ce.ReasonNothingToCompact
	case !p.Pressure && !hasConversation(body, cut.at):
		return ce.ReasonNoRealConversation
	}
	return ""
}

// tailBudget is how many tokens of the end may stay.
func (s *settings) tailBudget(p *Plan, w want) int {
	keep := s.KeepRecent
	if w.target > 0 {
		keep = min(keep, w.target/2)
	}
	if current := max(p.Before, w.current); p.Pressure && w.target > 0 && current > w.target {
		// What has to go counts from what was observed: system prompt and tools stay.
		keep = min(keep, p.Before-(current-w.target)-s.summaryTokens(w.target))
	}
	if w.overflow {
		keep = min(keep, p.Before/2) // the provider knows better than the estimate
	}
	return max(0, keep)
}

// hasConversation looks for real conversation before ms[end].
func hasConversation(ms []message.Message, end int) bool {
	for i := range end {
		if message.IsConversation(ms, i) {
			return true
		}
	}
	return false
}

// turnStart returns where the turn begins that goes on at ms[cut]; cut itself when a turn
// begins there, or when there is no beginning before it.
func turnStart(ms []message.Message, cut int) int {
	for i := cut; i >= 0; i-- {
		if startsTurn(&ms[i]) {
			if i < cut {
				return message.SafeCut(ms[:cut], i)
			}
			return i
		}
	}
	return cut
}

// startsTurn reports whether m is something that an assistant answers.
func startsTurn(m *message.Message) bool {
	switch m.Role {
	case message.RoleUser, message.RoleCustom, message.RoleBashExecution,
		message.RoleBranchSummary, message.RoleCompactionSummary:
		return true
	}
	return false
}

// Explain tells the plan in a few lines of text, without any content of the session.
func (p Plan) Explain() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("view: %d tokens%s", p.Before, targetNote(p))
	if p.Reason != "" {
		line("nothing to do (%s): %s", p.Reason, p.Reason.Sentence())
		return b.String()
	}
	switch {
	case p.Previous != "":
		line("update the previous summary of %d bytes", len(p.Previous))
	default:
		line("first summary")
	}
	line("summarise: %s", rolesOf(p.Summarise))
	if len(p.TurnPrefix) > 0 {
		line("begun turn, summarised apart: %s", rolesOf(p.TurnPrefix))
	}
	line("source: %d tokens", p.Source)
	line("keep: %s, %d tokens, from %q", rolesOf(p.Keep), p.Kept, p.FirstKept)
	return b.String()
}

func targetNote(p Plan) string {
	switch {
	case p.Target > 0 && p.Pressure:
		return fmt.Sprintf(", above the %d that may be sent", p.Target)
	case p.Target > 0:
		return fmt.Sprintf(" of %d that may be sent", p.Target)
	}
	return ""
}

// rolesOf counts the messages of a list by role.
func rolesOf(ms []message.Message) string {
	if len(ms) == 0 {
		return "no messages"
	}
	var roles []message.Role
	counts := map[message.Role]int{}
	for i := range ms {
		if counts[ms[i].Role] == 0 {
			roles = append(roles, ms[i].Role)
		}
		counts[ms[i].Role]++
	}
	parts := make([]string, len(roles))
	for i, r := range roles {
		parts[i] = fmt.Sprintf("%d %s", counts[r], r)
	}
	return fmt.Sprintf("%d messages (%s)", len(ms), strings.Join(parts, ", "))
}
