package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

// stepLimit bounds one step: scripts that wait for a signal that never comes end with it.
const stepLimit = 30 * time.Second

// A world is the fresh process state that one scenario runs in.
type world struct {
	sc       *scenario
	reg      *ce.Registry
	stateDir string // shared with other processes; "" when no step needs one
	texts    *messageTexts
	ctx      context.Context // ends with the scenario
	cancel   context.CancelFunc

	mu           sync.Mutex
	types        map[string]*engineType
	factoryCalls map[string]int
	meaning      string // why the scenario has no meaning here
	differs      map[string]bool
	initialised  bool
	hasDefault   bool              // whether the reference has a default engine now
	registered   map[string]int    // how often each id was registered or cleared
	owners       map[string]string // of each id
	resolved     map[string]*resolvedEngine

	// What happened in the step at hand.
	received         []any
	runtimeCompactor []any
	log              []any
	hostWarnings     int
	thrown           []error

	// What steps named for later ones. Only steps touch these.
	values     map[string]any
	rolledBack map[*ce.SubagentPreparation]bool
	pending    map[string]chan callResult
	held       map[string]heldMethod
	children   []*childProcess
	theirs     map[string]bool // ids that another process records without a reason
	lent       *scriptedCompactor
	memory     *scriptedMemory
}

// A resolvedEngine is a handle under the name that a step gave it.
type resolvedEngine struct {
	name     string
	handle   *ce.Handle
	selected string // the id asked for
	// registrations counts those of the selected id when it was resolved.
	registrations int
	// bare says that the reference holds the default engine itself, without a guard.
	bare bool

	mu sync.Mutex
	// closed says that a step has disposed of it.
	closed bool
	// learned are the fields that the handle was seen to hold back.
	learned map[string]bool
}

// close notes that a step disposes of the engine; it reports whether one has before.
func (r *resolvedEngine) close(now bool) (before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.closed
	r.closed = before || now
	return before
}

// noteStale notes a failure after which an engine was registered again or cleared: it holds
// for that registration, whereas the reference forgets it or holds it against all engines of
// the id.
func (w *world) noteStale(r *resolvedEngine) {
	if r.bare || w.registrations(r.selected) == r.registrations {
		return
	}
	failed := func(q ce.Quarantine) bool { return q.EngineID == r.selected }
	if slices.ContainsFunc(w.reg.Quarantines(), failed) || r.handle.Status().Quarantine != nil {
		w.differ(differStale)
	}
}

// noteStaleOf is noteStale for the engine that a step asks for something that depends on it.
func (w *world) noteStaleOf(s step) {
	if slices.Contains([]string{"members", "same", "rollback", "callDetached"}, s.op) {
		return
	}
	if r, err := w.engine(s.text("on")); err == nil {
		w.noteStale(r)
	}
}

// runScenario runs one scenario and says what came of it.
func runScenario(ctx context.Context, sc *scenario) (outcome, error) {
	if word := sc.strange(); word != "" {
		return outcome{Scenario: sc.ID, Skipped: "not known to this runner: " + word}, nil
	}
	w, err := newWorld(ctx, sc)
	if err != nil {
		return outcome{}, err
	}
	defer w.close()
	o := outcome{Scenario: sc.ID}
	ops := operations()
	for i, s := range sc.Steps {
		so, err := w.step(ctx, ops, i, s)
		if err != nil {
			return outcome{}, fmt.Errorf("scenario %q, step %d (%s): %w", sc.ID, i, s.op, err)
		}
		if reason := w.withoutMeaning(); reason != "" {
			return outcome{Scenario: sc.ID, Skipped: reason}, nil
		}
		o.Steps = append(o.Steps, so)
	}
	return w.weigh(o)
}

// weigh ends a scenario that met a rule which differs on purpose: the outcome cannot be the
// recorded one, and is none to compare, unless the scenario is listed with its reason.
func (w *world) weigh(o outcome) (outcome, error) {
	o.Differs = slices.Sorted(maps.Keys(w.differs))
	listed, err := deliberateScenarios()
	if err != nil {
		return o, err
	}
	if _, ok := listed[o.Scenario]; len(o.Differs) > 0 && !ok {
		o.Skipped = "differs on purpose: " + strings.Join(o.Differs, "; ")
	}
	return o, nil
}

func newWorld(ctx context.Context, sc *scenario) (*world, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &world{
		sc: sc, ctx: ctx, cancel: cancel, texts: &messageTexts{},
		types: map[string]*engineType{}, factoryCalls: map[string]int{}, differs: map[string]bool{},
		resolved: map[string]*resolvedEngine{}, values: map[string]any{},
		theirs:     map[string]bool{},
		rolledBack: map[*ce.SubagentPreparation]bool{},
		pending:    map[string]chan callResult{}, held: map[string]heldMethod{},
		registered: map[string]int{}, owners: map[string]string{},
	}
	w.reg = &ce.Registry{Logger: slog.New(&lineHandler{w: w})}
	if err := w.openState(); err != nil {
		cancel()
		return nil, err
	}
	return w, nil
}

// An opFunc does one operation. A *noMeaning error ends the scenario as skipped; any other is
// the error of the step.
type opFunc func(ctx context.Context, w *world, s step) (any, error)

// step runs one step. Its error is a fault of the scenario file, not an outcome.
func (w *world) step(ctx context.Context, ops map[string]opFunc, n int, s step) (stepOutcome, error) {
	do, ok := ops[s.op]
	if !ok {
		return stepOutcome{}, fmt.Errorf("unknown operation %q", s.op)
	}
	w.mu.Lock()
	w.received, w.runtimeCompactor, w.log, w.thrown, w.hostWarnings = nil, nil, nil, nil, 0
	w.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	w.noteStaleOf(s)
	v, err := do(ctx, w, s)
	w.noteStaleOf(s)
	if inspects(s.op) && w.requests() > 0 {
		w.differ(differFull) // the reference asks nobody
	}
	var none *noMeaning
	if errors.As(err, &none) {
		_ = w.skip(none.reason)
	}

	so := stepOutcome{N: n, Op: s.op}
	if err != nil {
		so.Error = w.errorOutcome(err)
	} else {
		so.OK = plain(orUndefined(v))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	so.Received, so.Log, so.HostWarnings = w.received, w.log, w.hostWarnings
	so.RuntimeCompactor = w.runtimeCompactor
	return so, nil
}

// inspects reports whether an operation only looks at what is there.
func inspects(op string) bool {
	return slices.Contains([]string{"info", "isActive", "get", "members", "ownerPlugin", "same", "hostSupport"}, op)
}

func orUndefined(v any) any {
	if v == nil {
		return undefinedValue{}
	}
	return v
}

// skip notes that the scenario has no meaning here; the first reason counts.
func (w *world) skip(reason string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.meaning == "" {
		w.meaning = reason
	}
	return &noMeaning{reason}
}

func (w *world) withoutMeaning() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meaning
}

// differ notes that a rule was met that is another one here on purpose.
func (w *world) differ(rule string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.differs[rule] = true
}

// record notes one request that an engine or factory received.
func (w *world) record(entry object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received = append(w.received, entry)
}

// throw makes a scripted error and remembers that it was raised in this step.
func (w *world) throw(v any, f filler) error {
	made, err := newScriptError(v, f)
	if err != nil {
		return w.skip(err.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thrown = append(w.thrown, made)
	return made
}

// close ends what the scenario left running.
func (w *world) close() {
	w.cancel()
	for _, c := range w.children {
		c.stop()
	}
	for _, r := range w.resolved {
		_ = r.handle.Close() // what a script says on closing is no outcome
	}
	w.removeState()
}

// note adds a log line.
func (w *world) note(level, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, object{"level": level, "text": text})
}

// warn counts a warning of the host.
func (w *world) warn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hostWarnings++
}

// A lineHandler counts log lines by level, as the outcomes do.
type lineHandler struct{ w *world }

func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	level := "log"
	switch {
	case r.Level >= slog.LevelError:
		level = "error"
	case r.Level >= slog.LevelWarn:
		level = "warn"
	}
	h.w.note(level, renderLine(r))
	return nil
}

func (h *lineHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *lineHandler) WithGroup(string) slog.Handler      { return h }

// renderLine gives a log record as one line of text.
func renderLine(r slog.Record) string {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	})
	return b.String()
}

// raised reports whether err is or wraps what a script failed with in this step.
func (w *world) raised(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.thrown, func(t error) bool { return errors.Is(err, t) })
}

// errorOutcome writes an error: one that an engine raised in this step with its own text, any
// other as the library's.
func (w *world) errorOutcome(err error) object {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, raised := range w.thrown {
		var s *scriptError
		if !errors.Is(err, raised) || !errors.As(raised, &s) {
			continue
		}
		o := fieldSet{"identity": "engine", "message": s.message, "name": "Error"}
		return object(o.text("name", s.name).text("code", s.code))
	}
	return object{"identity": "new", "name": "Error", "message": err.Error()}
}
