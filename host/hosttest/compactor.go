package hosttest

import (
	"cmp"
	"context"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A Compactor is a built-in compaction without a model: it keeps the last messages and
// puts the summary "SUM" in front. It records its calls on a tape.
type Compactor struct {
	Store transcript.Store
	Tape  *Tape
	Keep  int  // messages
	Off   bool // it works by hand only
}

var _ ce.Compactor = (*Compactor)(nil)

// CompactSession implements [ce.Compactor].
func (c *Compactor) CompactSession(ctx context.Context, p ce.CompactParams) (_ ce.CompactResult, err error) {
	c.Tape.Add("built-in compact trigger=%s current=%d budget=%d active=%t", p.Trigger, p.CurrentTokens, p.TokenBudget, p.ActiveTurn)
	if c.Off && p.Trigger != ce.TriggerManual {
		return ce.CompactResult{OK: true, Reason: ce.ReasonDisabled}, nil
	}
	log, err := c.Store.Open(ctx, p.SessionID)
	if err != nil {
		return ce.CompactResult{}, err
	}
	defer func() { err = cmp.Or(err, log.Close()) }()
	v, err := log.View(ctx)
	if err != nil {
		return ce.CompactResult{}, err
	}
	kept := message.Tail(v.Messages, c.Keep)
	if len(kept) == len(v.Messages) || kept[0].Key == "" {
		return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
	}
	_, err = log.CommitCompaction(ctx, v.Generation, transcript.Compaction{Summary: "SUM", FirstKeptEntryID: kept[0].Key})
	if err != nil {
		return ce.CompactResult{}, err
	}
	return ce.CompactResult{OK: true, Compacted: true, Reason: ce.ReasonCompacted, Result: &ce.CompactDetails{Summary: "SUM"}}, nil
}
