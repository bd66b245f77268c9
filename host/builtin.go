package host

import (
	"context"
	"sync/atomic"

	ce "github.com/go-contextengine/contextengine"
)

// builtin is the host's compaction as it is lent to engines. For an engine that
// does not own compaction the events around it come from here: the driver cannot
// know whether such an engine uses it.
type builtin struct {
	inner ce.Compactor
	runs  *atomic.Int32
	notifier
}

// CompactSession implements [ce.Compactor].
func (b builtin) CompactSession(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	b.runs.Add(1)
	ctx = context.WithValue(ctx, payerKey{}, &b.notifier)
	if b.engine.Info().OwnsCompaction {
		return b.inner.CompactSession(ctx, p)
	}
	b.observe(ctx, Event{Operation: OpBeforeCompaction, Outcome: OutcomeOK, TokensBefore: p.CurrentTokens}, nil)
	res, err := b.inner.CompactSession(ctx, p)
	if err == nil && res.OK && res.Compacted {
		e := Event{Operation: OpAfterCompaction, Outcome: OutcomeOK, TokensBefore: p.CurrentTokens}
		if res.Result != nil && res.Result.TokensAfter != nil {
			e.TokensAfter = *res.Result.TokensAfter
		}
		b.observe(ctx, e, nil)
	}
	return res, err
}
