package contextengine

import (
	"context"
	"sync/atomic"
)

// A StandIn tells whether the fallback answered a call in the place of the selected
// engine, be it for this call or for good. Safe for concurrent use.
type StandIn struct{ answered atomic.Bool }

// Answered reports whether the fallback was asked.
func (s *StandIn) Answered() bool { return s.answered.Load() }

type standInKey struct{}

// WatchStandIn returns a context for a call of a [Handle], and where to see who
// answered it. Neither the answer nor [Handle.Status] tells: a failure of what the
// host lent, or a call that was abandoned, changes who answers for one call only. A
// context that is watched already keeps its StandIn.
func WatchStandIn(ctx context.Context) (context.Context, *StandIn) {
	if s, ok := ctx.Value(standInKey{}).(*StandIn); ok {
		return ctx, s
	}
	s := &StandIn{}
	return context.WithValue(ctx, standInKey{}, s), s
}

func noteStandIn(ctx context.Context) {
	if s, ok := ctx.Value(standInKey{}).(*StandIn); ok {
		s.answered.Store(true)
	}
}
