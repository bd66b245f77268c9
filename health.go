package contextengine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-contextengine/contextengine/internal/healthfile"
)

// A HealthStore mirrors quarantine records where other processes, a doctor for
// example, can see them. It never decides anything: a registry that has a
// failure answers by its own memory. Implementations are safe for concurrent use;
// ctx bounds each call. A registry calls Put and Clear from one goroutine at a
// time, which ends by itself; a store belongs to one registry, since Clear removes
// what any other has put for the id.
type HealthStore interface {
	// Put stores a record of this process, or refreshes it.
	Put(ctx context.Context, q Quarantine) error
	// List returns the records of all live processes, one per engine id, the
	// earliest where there are several.
	List(ctx context.Context) ([]Quarantine, error)
	// Clear removes this process's record of engineID.
	Clear(ctx context.Context, engineID string) error
}

const (
	// healthTimeout bounds a call of the health store, healthPatience how long a
	// call of an engine, a registration or a clearing waits for one.
	healthTimeout  = 2 * time.Second
	healthPatience = 100 * time.Millisecond
	// healthBeat is how often a registry that is in use refreshes its records,
	// well below healthfile.MaxAge.
	healthBeat = time.Minute
)

// FileHealth keeps quarantine records in dir, one file per process, written
// atomically and bounded. Files of processes that ended are ignored, and so are
// files that were not refreshed for an hour: a registry refreshes its own when a
// quarantined engine is resolved or called, at most once a minute. What is a day old
// is removed. The folder is made when needed.
func FileHealth(dir string) HealthStore { return fileHealth{healthfile.New(dir, nil)} }

type fileHealth struct{ dir *healthfile.Dir }

func (h fileHealth) Put(ctx context.Context, q Quarantine) error {
	return h.dir.Put(ctx, healthfile.Record(q))
}

func (h fileHealth) List(ctx context.Context) ([]Quarantine, error) {
	records, err := h.dir.List(ctx)
	out := make([]Quarantine, 0, len(records))
	for _, r := range records {
		out = append(out, Quarantine(r))
	}
	return out, err
}

func (h fileHealth) Clear(ctx context.Context, engineID string) error {
	return h.dir.Clear(ctx, engineID)
}

// A mirrorQueue holds the ids whose records the health store must learn about. At
// most one goroutine works it off; it ends when the queue is empty.
type mirrorQueue struct {
	lastBeat atomic.Int64 // when a record was last refreshed, unix nanoseconds

	mu      sync.Mutex
	ids     []string
	busy    bool
	since   time.Time     // when the worker started; it may hang in the store
	drained chan struct{} // closed when the worker ends
}

// mirror brings the health store to the state that the registry has of id, soon:
// the caller waits for healthPatience at most, so that a store that hangs delays
// no call for long, and one that hangs already delays none.
func (r *Registry) mirror(id string) {
	if r.Health == nil {
		return
	}
	q := &r.mirrored
	q.mu.Lock()
	if !slices.Contains(q.ids, id) {
		q.ids = append(q.ids, id)
	}
	if !q.busy {
		q.busy, q.since, q.drained = true, time.Now(), make(chan struct{})
		go r.drain(q.drained)
	}
	drained, left := q.drained, healthPatience-time.Since(q.since)
	q.mu.Unlock()
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
	}
}

// drain works the queue off. What it writes is the state at that moment, so that
// a failure and a healing that race end with what is true.
func (r *Registry) drain(drained chan<- struct{}) {
	defer close(drained)
	q := &r.mirrored
	for {
		q.mu.Lock()
		if len(q.ids) == 0 {
			q.busy = false
			q.mu.Unlock()
			return
		}
		id := q.ids[0]
		q.ids = q.ids[1:]
		q.mu.Unlock()

		if g := r.lookup(id); g != nil && g.failed.Load() != nil {
			record := g.failed.Load().Quarantine
			r.mirrored.lastBeat.Store(r.now().UnixNano())
			r.health("put", id, func(ctx context.Context) error { return r.Health.Put(ctx, record) })
		} else {
			r.health("clear", id, func(ctx context.Context) error { return r.Health.Clear(ctx, id) })
		}
	}
}

// beat refreshes the mirrored record of a failure that still stands, at most
// once per healthBeat: while the host goes on, the record stays live.
func (r *Registry) beat(g *generation) {
	if r.Health == nil {
		return
	}
	now, last := r.now().UnixNano(), r.mirrored.lastBeat.Load()
	if now-last >= int64(healthBeat) && r.mirrored.lastBeat.CompareAndSwap(last, now) && r.isCurrent(g) {
		r.mirror(g.id)
	}
}

// foreign returns what the health store knows of ids that are not in local. A
// store that does not answer in time knows nothing.
func (r *Registry) foreign(local []Quarantine) []Quarantine {
	if r.Health == nil {
		return nil
	}
	answer := make(chan []Quarantine, 1)
	go func() {
		var all []Quarantine
		r.health("list", "", func(ctx context.Context) (err error) {
			all, err = r.Health.List(ctx)
			return err
		})
		answer <- all
	}()
	timer := time.NewTimer(healthTimeout)
	defer timer.Stop()
	var all []Quarantine
	select {
	case all = <-answer:
	case <-timer.C:
		r.logger().Warn("context engine health store does not answer")
	}
	known := make(map[string]bool, len(local))
	for _, q := range local {
		known[q.EngineID] = true
	}
	var out []Quarantine
	for _, q := range all {
		if !known[q.EngineID] {
			known[q.EngineID] = true
			out = append(out, q)
		}
	}
	return out
}

// health runs one operation of the store; nothing that it does reaches a caller.
func (r *Registry) health(op, id string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	_, err := lend(op, func() (struct{}, error) { return struct{}{}, f(ctx) })
	if err != nil {
		r.logger().LogAttrs(ctx, slog.LevelWarn, "context engine health store failed",
			slog.String("operation", op), slog.String("engine", sanitise(id)), slog.String("error", oneLine(err)))
	}
}
