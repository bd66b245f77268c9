package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/transcript"
)

// successorWait is how long a compaction waits for the session that it moved to. Nobody
// is there, unless something is wrong: two sessions that move to each other's place would
// wait for ever.
const successorWait = 5 * time.Second

var errSuccessorBusy = errors.New("another turn or its maintenance is in it")

// move takes the visit to the session that a compaction moved to. After an error it is
// where it was.
func (v *visit) move(ctx context.Context, to string) error {
	ref := ce.SessionRef{SessionID: to, SessionKey: v.ref.SessionKey}
	log, err := v.takeSuccessor(ctx, ref)
	if err != nil {
		return err
	}
	former := v.log
	v.log = share(log)
	v.logLeaving(ctx, former.Close())
	v.ref = ref
	next := v.h.open.get(to)
	next.take(v.session)
	v.session = next
	v.created = false // the successor was not made for this visit: it stays, whatever comes
	v.lend()
	v.checkpoint(ctx) // what was delivered before the move is known there, too
	return nil
}

// takeSuccessor claims a session and opens it, when what runs in it is over.
func (v *visit) takeSuccessor(ctx context.Context, ref ce.SessionRef) (log transcript.Log, err error) {
	name := idName(ref.SessionID)
	held := slices.Contains(v.claim.names, name)
	soon, cancel := context.WithTimeoutCause(ctx, successorWait, errSuccessorBusy)
	defer cancel()
	if err := v.claim.add(soon, name); err != nil {
		return nil, fmt.Errorf("waiting for the successor %q: %w", ref.SessionID, err)
	}
	defer func() {
		if err != nil && !held {
			v.claim.drop(name)
		}
	}()
	if err := v.h.awaitBackground(soon, ref); err != nil {
		return nil, fmt.Errorf("waiting for the successor %q: %w", ref.SessionID, err)
	}
	if log, err = v.h.store.Open(ctx, ref.SessionID); err != nil {
		return nil, fmt.Errorf("opening the successor %q: %w", ref.SessionID, err)
	}
	return log, nil
}

// rejectSuccessor takes notice of a successor that cannot be gone on with: the session stays where
// it is, and the compaction was none.
func (v *visit) rejectSuccessor(ctx context.Context, done *compactOutcome, err error) error {
	if ctx.Err() != nil || v.engine.strict() {
		return err
	}
	v.warn(ctx, "a compaction moved to where nothing is", err)
	d := *done.Result
	d.SessionID, d.SessionTarget, d.TokensAfter = "", nil, nil
	done.Result = &d
	done.Reason, done.Detail = ce.ReasonNoProgress, err.Error()
	done.after = done.before
	return nil
}
