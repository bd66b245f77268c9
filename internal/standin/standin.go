// Package standin lets a driver learn that somebody else answered a call for the selected
// engine, which the answer itself does not tell: the guard notes it where the driver watches.
package standin

import (
	"context"
	"sync/atomic"
)

type key struct{}

// A Mark says whether a stand-in answered. Safe for concurrent use.
type Mark struct{ noted atomic.Bool }

// Noted reports whether one did.
func (m *Mark) Noted() bool { return m.noted.Load() }

// Watch returns a context for a call, and its mark. A context that is watched already
// keeps its mark.
func Watch(ctx context.Context) (context.Context, *Mark) {
	if m, ok := ctx.Value(key{}).(*Mark); ok {
		return ctx, m
	}
	m := &Mark{}
	return context.WithValue(ctx, key{}, m), m
}

// Note marks the call as answered by a stand-in.
func Note(ctx context.Context) {
	if m, ok := ctx.Value(key{}).(*Mark); ok {
		m.noted.Store(true)
	}
}
