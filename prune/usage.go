package prune

import (
	"strconv"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// ForgetStaleUsage removes the usage of assistant messages that are not newer than the last
// compaction: it counted what the summary replaced, so an estimate may not start from it.
// It returns ms itself when nothing changes.
func ForgetStaleUsage(ms []message.Message) []message.Message {
	return new(usagePass).Apply(ms, Input{})
}

// A usagePass is ForgetStaleUsage with a memory.
type usagePass struct {
	rewriter rewriter
}

// Apply implements Pass.
func (p *usagePass) Apply(ms []message.Message, in Input) []message.Message {
	out, _ := p.applyFrom(ms, in, 0)
	return out
}

func (p *usagePass) applyFrom(ms []message.Message, _ Input, known int) ([]message.Message, int) {
	last, at := -1, time.Time{}
	for i := len(ms) - 1; i >= 0 && last < 0; i-- {
		if ms[i].Role == message.RoleCompactionSummary {
			last = i
		}
	}
	if last >= 0 {
		at = ms[last].Timestamp
	}
	variant := strconv.Itoa(last) + " " + strconv.FormatInt(at.UnixMilli(), 10)
	return p.rewriter.run(ms, known, variant, edge{}, func(i int, m *message.Message) (message.Message, verdict) {
		old := i < last || last >= 0 && !at.IsZero() && !m.Timestamp.IsZero() && !m.Timestamp.After(at)
		if m.Role != message.RoleAssistant || m.Usage == nil || !old {
			return *m, kept
		}
		out := *m
		out.Usage = nil
		return out, replaced
	})
}
