package contextengine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

// coreOwner owns the legacy engine.
const coreOwner = "core"

// A Registry knows the engines that a host can select. The zero value is ready,
// with the legacy engine built in, which cannot be removed. Set the exported
// fields before the first use. A Registry must not be copied; its methods are
// safe for concurrent use.
type Registry struct {
	// Logger gets one line per quarantine and per selection of an engine that is
	// registered for discovery only. nil discards.
	Logger *slog.Logger
	// Health mirrors quarantine records for other processes. nil: none. Its
	// failures are logged and never affect a call.
	Health HealthStore
	// Now is the clock of quarantine records. nil: time.Now.
	Now func() time.Time

	generations atomic.Uint64 // last number given
	failures    atomic.Uint64 // last sequence number of a failure
	mirrored    mirrorQueue   // what the health store has yet to learn

	mu      sync.RWMutex
	engines map[string]*generation // by id; includes ids that were looked for in vain
}

// A generation is one registration of an id, or the lack of one. Its record of
// failure is shared by all Handles that were resolved from it.
type generation struct {
	id, owner string
	number    uint64 // 0: nobody registered the id
	factory   Factory
	discovery bool

	failed atomic.Pointer[failure]
}

// A Factory makes an engine for one [Handle]. Each [Registry.Resolve] calls it
// again: engines that share state keep it behind the factory. It should return
// the context's error when ctx is done.
type Factory func(ctx context.Context, fc FactoryContext) (ContextEngine, error)

// A FactoryContext is what a factory may know, the same on every path, for a
// fallback too.
type FactoryContext struct {
	Config       json.RawMessage // the engine's own plugin configuration; nil: none
	HostConfig   any             // the host's whole configuration, host-private
	AgentDir     string
	WorkspaceDir string
}

// A RegisterOption changes a registration.
type RegisterOption func(*registration)

type registration struct{ discovery bool }

// DiscoveryOnly registers an engine to be listed but not run: selecting it gives
// legacy, with a warning and without a quarantine, until its owner registers it
// without this option.
func DiscoveryOnly() RegisterOption { return func(r *registration) { r.discovery = true } }

// Register makes an engine selectable under id.
//
//   - id must not be blank or have white space around it; owner is trimmed and
//     must not be blank. Owners of plugins are written "plugin:<plugin id>".
//   - An id that another owner holds is refused with a [*ConflictError]. The id
//     "legacy" belongs to owner "core".
//   - Registering again for the same owner replaces the factory and starts a new
//     generation: Handles resolved afterwards are free of earlier failures,
//     Handles resolved before go on with their engine.
//   - A discovery-only registration does not replace a full one and heals
//     nothing.
func (r *Registry) Register(id, owner string, f Factory, opts ...RegisterOption) error {
	owner = trimBlank(owner)
	switch {
	case trimBlank(id) == "":
		return errors.New("registering a context engine: the id is blank")
	case trimBlank(id) != id:
		return fmt.Errorf("registering a context engine: id %q has white space around it and could never be selected", id)
	case owner == "":
		return fmt.Errorf("registering context engine %q: the owner is blank", id)
	case f == nil:
		return fmt.Errorf("registering context engine %q: the factory is nil", id)
	case id == LegacyID && owner != coreOwner:
		return &ConflictError{ID: id, Owner: coreOwner}
	}
	var reg registration
	for _, o := range opts {
		o(&reg)
	}
	g := &generation{id: id, owner: owner, factory: f, discovery: reg.discovery}

	r.mu.Lock()
	old := r.engines[id]
	if registered := old != nil && old.number > 0; registered && old.owner != owner {
		r.mu.Unlock()
		return &ConflictError{ID: id, Owner: old.owner}
	} else if g.discovery && (id == LegacyID || registered && !old.discovery) {
		r.mu.Unlock()
		return nil
	}
	g.number = r.generations.Add(1)
	if g.discovery && old != nil {
		g.failed.Store(old.failed.Load())
	}
	r.put(g)
	r.mu.Unlock()

	if !g.discovery && old != nil && old.failed.Load() != nil {
		r.mirror(id)
	}
	return nil
}

// put stores g under its id. r.mu is held.
func (r *Registry) put(g *generation) {
	if r.engines == nil {
		r.engines = make(map[string]*generation)
	}
	r.engines[g.id] = g
}

// UnregisterOwner removes every engine of owner and the records of their
// failures, as on the unloading of a plugin. Handles go on with their engines.
// The legacy engine stays; if core had replaced it, the built-in one is back. A
// blank owner is a no-op.
func (r *Registry) UnregisterOwner(owner string) {
	if owner = trimBlank(owner); owner == "" {
		return
	}
	var failed []string
	r.mu.Lock()
	for id, g := range r.engines {
		if g.number == 0 || g.owner != owner {
			continue
		}
		delete(r.engines, id)
		if g.failed.Load() != nil {
			failed = append(failed, id)
		}
	}
	r.mu.Unlock()
	for _, id := range failed {
		r.mirror(id)
	}
}

// IDs returns the registered ids, legacy included, sorted.
func (r *Registry) IDs() []string {
	r.mu.RLock()
	ids := []string{LegacyID}
	for id, g := range r.engines {
		if g.number > 0 && id != LegacyID {
			ids = append(ids, id)
		}
	}
	r.mu.RUnlock()
	slices.Sort(ids)
	return ids
}

// A Registration says who registered an id and how.
type Registration struct {
	ID, Owner     string
	DiscoveryOnly bool
	Generation    uint64 // 0: the built-in legacy engine
}

// Lookup returns the current registration of id.
func (r *Registry) Lookup(id string) (Registration, bool) {
	g := r.lookup(id)
	if g == nil || g.number == 0 && id != LegacyID {
		return Registration{}, false
	}
	return Registration{ID: g.id, Owner: g.owner, DiscoveryOnly: g.discovery, Generation: g.number}, true
}

// lookup returns the current generation of id, nil when nobody asked for the id
// or registered it. Legacy is always there.
func (r *Registry) lookup(id string) *generation {
	r.mu.RLock()
	g := r.engines[id]
	r.mu.RUnlock()
	if g == nil && id == LegacyID {
		return r.builtin()
	}
	return g
}

// builtin stores and returns the built-in legacy registration.
func (r *Registry) builtin() *generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.engines[LegacyID]; g != nil {
		return g
	}
	g := &generation{id: LegacyID, owner: coreOwner, factory: func(context.Context, FactoryContext) (ContextEngine, error) {
		return Legacy(), nil
	}}
	r.put(g)
	return g
}

// absent returns the generation that stands for an id nobody registered.
func (r *Registry) absent(id string) *generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.engines[id]; g != nil {
		return g
	}
	r.evictAbsent()
	g := &generation{id: id}
	r.put(g)
	return g
}

// maxAbsent bounds how many ids that nobody registered are remembered.
const maxAbsent = 1000

// evictAbsent makes room for one more absent id: the one that failed first goes.
// r.mu is held.
func (r *Registry) evictAbsent() {
	if len(r.engines) < maxAbsent {
		return
	}
	var (
		oldest *generation
		seq    uint64
		absent int
	)
	for _, g := range r.engines {
		if g.number > 0 || g.id == LegacyID {
			continue
		}
		absent++
		failedAt := uint64(0) // cleared: first to go
		if f := g.failed.Load(); f != nil {
			failedAt = f.seq
		}
		if oldest == nil || failedAt < seq {
			oldest, seq = g, failedAt
		}
	}
	if absent >= maxAbsent {
		delete(r.engines, oldest.id)
	}
}

func (r *Registry) isCurrent(g *generation) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.engines[g.id] == g
}

// Quarantines returns the records of the current registrations, in the order in
// which they failed, then those that the health store knows from other
// processes for other ids.
func (r *Registry) Quarantines() []Quarantine {
	var local []*failure
	r.mu.RLock()
	for _, g := range r.engines {
		if f := g.failed.Load(); f != nil {
			local = append(local, f)
		}
	}
	r.mu.RUnlock()
	slices.SortFunc(local, func(a, b *failure) int { return cmp.Compare(a.seq, b.seq) })
	out := make([]Quarantine, 0, len(local))
	for _, f := range local {
		out = append(out, f.Quarantine)
	}
	return append(out, r.foreign(out)...)
}

// ClearQuarantine forgets the failure of the current registration of id: its
// engine answers again, in Handles that have it at once, in others when they
// are resolved again (see [Handle.Stale]).
func (r *Registry) ClearQuarantine(id string) {
	g := r.lookup(trimBlank(id))
	if g == nil || g.failed.Swap(nil) == nil {
		return
	}
	r.mirror(g.id)
}

func (r *Registry) logger() *slog.Logger {
	if r.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.Logger
}

func (r *Registry) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// trimBlank removes white space as ECMAScript defines it: slot values and owners
// come from configuration that programs in that language share.
func trimBlank(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r)
	})
}
