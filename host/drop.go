package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// recoverByDropping leaves out the oldest messages of what is sent. Each time at least
// one unit more goes, until only the last one of the user and what follows it are left.
func (t *Turn) recoverByDropping(ctx context.Context, err error) (string, error) {
	sent := t.current()
	observed := t.observed(err)
	// What the list may cost: as much less as the provider found too much, and half of
	// that when it told nothing that helps.
	limit := t.messageBudget(nil)
	if cost := t.h.meter.Messages(sent.Messages); observed > 0 && sent.Estimated > 0 {
		limit = min(limit, int(float64(cost)*float64(t.promptBudget())/float64(max(observed, sent.Estimated))))
		if limit >= cost || limit <= 0 {
			limit = cost / 2
		}
	}
	before := t.fitting()
	if t.limit > 0 {
		limit = min(limit, t.limit/2)
	}
	limit = max(limit, 1)
	after, gone := dropOldest(before, summaries(before), limit, t.h.meter)
	if gone == 0 {
		return "nothing is left but the last message of the user", nil
	}
	t.limit, t.request = limit, nil
	t.observe(ctx, Event{
		Operation: OpDropOldest, Outcome: OutcomeOK, Reason: fmt.Sprintf("%d messages", gone),
		TokensBefore: t.h.meter.Messages(before), TokensAfter: t.h.meter.Messages(after),
	}, nil)
	return "", nil
}

// dropOldest leaves out whole units from the front until the rest costs no more than
// limit tokens, begins with the user, or is the last message of the user and what
// follows it. A summary in front goes last.
func dropOldest(ms []message.Message, head, limit int, meter *tokens.Meter) (kept []message.Message, gone int) {
	cost := meter.Messages(ms)
	if cost <= limit {
		return ms, 0
	}
	last := lastOfUser(ms)
	head = min(head, last)
	at := head
	for u := range message.Units(ms) {
		if u.Start < head {
			continue
		}
		fits := cost <= limit && ms[u.Start].Role == message.RoleUser
		if fits || u.End > last {
			break
		}
		cost -= meter.Messages(ms[u.Start:u.End])
		at = u.End
	}
	if cost > limit {
		head = 0
	}
	return slices.Concat(ms[:head], ms[at:]), at - head
}

func isSummary(m message.Message) bool {
	return m.Role == message.RoleCompactionSummary || m.Role == message.RoleBranchSummary
}

// lastOfUser is the index of the last message of the user; 0: there is none.
func lastOfUser(ms []message.Message) int {
	for i := len(ms) - 1; i > 0; i-- {
		if ms[i].Role == message.RoleUser {
			return i
		}
	}
	return 0
}
