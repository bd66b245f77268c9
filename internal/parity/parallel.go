package main

import (
	"context"
	"sync"
)

// A parallelGroup runs things at once and yet in a known order: each goes up to its first
// request to a script; when all have, they go on in turn, the next one when the one before is
// over or waits.
type parallelGroup struct {
	mu      sync.Mutex
	cond    *sync.Cond
	arrived []bool // at a script, or over
	passed  []bool // over, or waiting
}

// A groupMember is one of the things that run at once.
type groupMember struct {
	g     *parallelGroup
	index int
}

type groupKey struct{}

// runParallel runs n functions in that way and waits for them.
func runParallel(ctx context.Context, n int, f func(ctx context.Context, i int)) {
	g := &parallelGroup{arrived: make([]bool, n), passed: make([]bool, n)}
	g.cond = sync.NewCond(&g.mu)
	var wg sync.WaitGroup
	for i := range n {
		m := &groupMember{g: g, index: i}
		wg.Go(func() {
			defer m.pass()
			f(context.WithValue(ctx, groupKey{}, m), i)
		})
		g.await(func() bool { return g.arrived[i] })
	}
	wg.Wait()
}

func (g *parallelGroup) await(ready func() bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !ready() {
		g.cond.Wait()
	}
}

// pass says that the member is over or waits: the next may go on.
func (m *groupMember) pass() {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	m.g.arrived[m.index], m.g.passed[m.index] = true, true
	m.g.cond.Broadcast()
}

// mayGoOn reports whether all have arrived and those before have passed.
func (m *groupMember) mayGoOn() bool {
	for i := range m.g.arrived {
		if !m.g.arrived[i] || i < m.index && !m.g.passed[i] {
			return false
		}
	}
	return true
}

// meet waits for the others of the group, if ctx belongs to one.
func meet(ctx context.Context) {
	m, ok := ctx.Value(groupKey{}).(*groupMember)
	if !ok {
		return
	}
	m.g.mu.Lock()
	m.g.arrived[m.index] = true
	m.g.cond.Broadcast()
	m.g.mu.Unlock()
	m.g.await(m.mayGoOn)
}
