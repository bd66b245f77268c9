package contextengine

import (
	"context"
	"sync/atomic"
)

// A StandIn tells whether the fallback answered a call in the place of the selected
// engine, be it for this call or for good. Safe for concurrent use.
type StandIn struct {
	answered atomic.Bool
	outer    *StandIn // who watched the context before; nil: nobody
}

// Answered reports whether the fallback was asked.
func (s *StandIn) Answered() bool { return s.answered.Load() }

type standInKey struct{}

// WatchStandIn returns a context for a call of a [Handle], and where to see who
// answered it. Neither the answer nor [Handle.Status] tells: a failure of what the
// host lent, or a call that was abandoned, changes who answers for one call only. Who
// watches ctx already is told as well; the new StandIn knows of later calls alone.
func WatchStandIn(ctx context.Context) (context.Context, *StandIn) {
	outer, _ := ctx.Value(standInKey{}).(*StandIn)
	s := &StandIn{outer: outer}
	return context.WithValue(ctx, standInKey{}, s), s
}

func noteStandIn(ctx context.Context) {
	s, _ := ctx.Value(standInKey{}).(*StandIn)
	for ; s != nil; s = s.outer {
		s.answered.Store(true)
	}
}
