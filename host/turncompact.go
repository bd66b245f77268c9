package host

import (
	"context"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// compactInTurn compacts within a turn and assembles anew where the history changed.
func (t *Turn) compactInTurn(ctx context.Context, q compactRequest) (compactOutcome, error) {
	assembled, of := false, t.of
	q.measure = func(ctx context.Context) (int, error) {
		assembled = true
		if err := t.assemble(ctx); err != nil {
			return 0, err
		}
		return t.current().Estimated, nil
	}
	q.measured = t.current().Estimated
	if q.current <= 0 {
		q.current = q.measured
	}
	done, err := t.compact(ctx, q)
	if err != nil || !done.counts && of == t.ref.SessionID {
		return done, err // a move is one also where it freed nothing
	}
	if done.counts {
		t.guard.arm()
	}
	return done, t.renew(ctx, done, assembled)
}

// compactedHere stands for the summary of an engine that does not show its own.
const compactedHere = "The history was compacted in this turn."

// renew takes notice of a compaction: the engine is told at the end of the turn,
// and what was assembled before it is out of date.
func (t *Turn) renew(ctx context.Context, done compactOutcome, assembled bool) error {
	view, err := t.log.View(ctx)
	if err != nil {
		return err
	}
	changed := view.Generation != t.generation || t.of != t.ref.SessionID
	t.moveTo(view.Generation, view.Messages)
	t.summary = done.summary(view, changed)
	if t.running && !t.own.awaitsModel() {
		t.stale = true
		return nil
	}
	if assembled && !changed {
		return nil
	}
	return t.assemble(ctx)
}

// summary is what the engine is told of a compaction; changed says that the view did.
func (s compactOutcome) summary(view transcript.View, changed bool) string {
	switch {
	case changed && len(view.Messages) > 0 && view.Messages[0].Role == message.RoleCompactionSummary:
		return view.Messages[0].Summary
	case s.Result != nil && s.Result.Summary != "":
		return s.Result.Summary
	}
	return compactedHere
}
