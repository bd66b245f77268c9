package contextengine

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-contextengine/contextengine/internal/healthfile"
)

// A HealthStore mirrors quarantine records where other processes, a doctor for
// example, can see them. It never decides anything: a registry that has a
// failure answers by its own memory. Implementations are safe for concurrent use
// and return soon; ctx bounds each call.
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
	// healthTimeout bounds a call of the health store.
	healthTimeout = 2 * time.Second
	// healthBeat is how often a registry that is in use refreshes its records,
	// well below healthfile.MaxAge.
	healthBeat = time.Minute
)

// FileHealth keeps quarantine records in dir, one file per process, written
// atomically and bounded. Files of processes that ended, or that gave no sign of
// life for an hour, are ignored. The folder is made when needed.
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

// mirror tells the health store of a failure.
func (r *Registry) mirror(ctx context.Context, q Quarantine) {
	if r.Health == nil {
		return
	}
	r.lastBeat.Store(r.now().UnixNano())
	r.health(ctx, "put", q.EngineID, func(ctx context.Context) error { return r.Health.Put(ctx, q) })
}

// unmirror tells the health store that an engine is healed.
func (r *Registry) unmirror(id string) {
	if r.Health == nil {
		return
	}
	r.health(context.Background(), "clear", id, func(ctx context.Context) error { return r.Health.Clear(ctx, id) })
}

// beat refreshes the mirrored record of a failure that still stands, at most
// once per healthBeat: while the host goes on, the record stays live.
func (r *Registry) beat(ctx context.Context, f *failure) {
	if r.Health == nil {
		return
	}
	now, last := r.now().UnixNano(), r.lastBeat.Load()
	if now-last >= int64(healthBeat) && r.lastBeat.CompareAndSwap(last, now) {
		r.health(ctx, "put", f.EngineID, func(ctx context.Context) error { return r.Health.Put(ctx, f.Quarantine) })
	}
}

// foreign returns what the health store knows of ids that are not in local.
func (r *Registry) foreign(local []Quarantine) []Quarantine {
	if r.Health == nil {
		return nil
	}
	known := make(map[string]bool, len(local))
	for _, q := range local {
		known[q.EngineID] = true
	}
	var out []Quarantine
	r.health(context.Background(), "list", "", func(ctx context.Context) error {
		all, err := r.Health.List(ctx)
		for _, q := range all {
			if !known[q.EngineID] {
				known[q.EngineID] = true
				out = append(out, q)
			}
		}
		return err
	})
	return out
}

// health runs one operation of the store. It outlives the caller's cancellation
// and nothing that it does reaches the caller.
func (r *Registry) health(ctx context.Context, op, id string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
	defer cancel()
	_, err := lend(op, func() (struct{}, error) { return struct{}{}, f(ctx) })
	if err != nil {
		r.logger().LogAttrs(ctx, slog.LevelWarn, "context engine health store failed",
			slog.String("operation", op), slog.String("engine", sanitise(id)), slog.String("error", sanitise(errText(err))))
	}
}
