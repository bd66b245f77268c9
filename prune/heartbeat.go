package prune

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// A quietPass removes turns in which a heartbeat asked and the model had nothing to say:
// what the model answered is silence or the heartbeat reply alone. Only turns that another
// has followed go, so nothing changes within a turn. An ask of another kind stays, whatever
// the model answered.
type quietPass struct {
	rewriter rewriter
}

func newQuietPass() *quietPass {
	p := new(quietPass)
	p.rewriter.from = func(ms []message.Message, n int) int { // the turn that changed
		start, _ := turnAround(ms, n-1)
		return start
	}
	return p
}

// Apply implements Pass.
func (p *quietPass) Apply(ms []message.Message, in Input) []message.Message {
	out, _ := p.applyFrom(ms, in, 0)
	return out
}

func (p *quietPass) applyFrom(ms []message.Message, _ Input, known int) ([]message.Message, int) {
	last := max(0, lastTurn(ms))
	start, end, quiet := 0, 0, false
	return p.rewriter.run(ms, known, "", edge{at: last}, func(i int, m *message.Message) (message.Message, verdict) {
		if i >= last {
			return *m, kept
		}
		if i >= end || i < start {
			start, end = turnAround(ms, i)
			quiet = isQuiet(ms, start, end)
		}
		if quiet {
			return *m, dropped
		}
		return *m, kept
	})
}

func isQuiet(ms []message.Message, start, end int) bool {
	if !asksHeartbeat(&ms[start]) {
		return false
	}
	acknowledged := false
	for i := start; i < end; i++ {
		if ms[i].Role != message.RoleAssistant {
			continue
		}
		if message.IsConversation(ms, i) {
			return false
		}
		acknowledged = acknowledged || strings.Contains(ms[i].Text(), message.HeartbeatReply)
	}
	return acknowledged
}

// heartbeat is how hosts mark what a heartbeat asked: as the type of a custom message or
// the kind in its provenance.
const heartbeat = "heartbeat"

// asksHeartbeat reports whether m is the prompt of a heartbeat: marked as one, or nothing
// but texts each of which names the reply that is wanted. Messages that were joined with
// another, and summaries that tell of a heartbeat, are none.
func asksHeartbeat(m *message.Message) bool {
	switch m.Role {
	case message.RoleCustom:
		if m.CustomType() == heartbeat {
			return true
		}
	case message.RoleUser:
		var from struct{ Kind string }
		if raw, ok := m.Extra["provenance"]; ok && json.Unmarshal(raw, &from) == nil && from.Kind == heartbeat {
			return true
		}
	default:
		return false
	}
	return len(m.Content) > 0 && !slices.ContainsFunc(m.Content, func(b message.Block) bool {
		return b.Type != message.BlockText || !isBlank(b.Text) &&
			(!strings.Contains(b.Text, message.HeartbeatReply) || isSummary(b.Text))
	})
}
