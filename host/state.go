package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"sync"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// A StateStore keeps small named values per session: what a host knows of a
// session and its log does not say. Values of one session are written one at a
// time. The zero SessionRef holds what belongs to no session. Safe for concurrent use.
type StateStore interface {
	// Load returns a value. One that was never saved is an error matching
	// [fs.ErrNotExist]; one that cannot be trusted is another error.
	Load(ctx context.Context, ref ce.SessionRef, name string) ([]byte, error)
	// Save replaces a value, all of it or nothing. It does not keep value.
	Save(ctx context.Context, ref ce.SessionRef, name string, value []byte) error
	// Delete removes every value of a session. It is no error when there is none.
	Delete(ctx context.Context, ref ce.SessionRef) error
}

// Names of stored values.
const (
	stateRecord = "status"
	statePass   = "pass-" // and the number of the pass
)

// A record is what is stored of a session's standing.
type record struct {
	Compactions    int               `json:"compactions,omitempty"`
	Used           int               `json:"used,omitempty"` // by the provider's count; 0: unknown
	LastPrecheck   string            `json:"lastPrecheck,omitempty"`
	LastNoProgress string            `json:"lastNoProgress,omitempty"`
	Settings       map[string]string `json:"settings,omitempty"`
	Model          string            `json:"model,omitempty"` // the name that the last turn asked for
	Window         int               `json:"window,omitempty"`
	LastCall       *message.Usage    `json:"lastCall,omitempty"`  // nil: unknown
	CacheTouch     time.Time         `json:"cacheTouch,omitzero"` // when a call last read or wrote the provider's cache
	Reserve        int               `json:"reserve,omitempty"`
	Precheck       *Precheck         `json:"precheck,omitempty"`
	Spent          Spending          `json:"spent,omitzero"`
	Left           *leftover         `json:"left,omitempty"` // nil: the last turn is finished
}

// reported takes up what the provider counted for a call.
func (r *record) reported(u message.Usage, at time.Time) {
	r.Used, r.LastCall = tokens.ContextTokens(u), &u
	if u.CacheRead > 0 || u.CacheWrite > 0 {
		r.CacheTouch = at
	}
}

// compacted forgets what the provider counted before a compaction.
func (r *record) compacted() {
	r.Compactions++
	r.Used, r.LastCall, r.LastNoProgress = 0, nil, ""
}

// promptCache is what engines are told of the provider's cache; nil: nothing is known.
func (r *record) promptCache() *ce.PromptCacheInfo {
	if r.LastCall == nil && r.CacheTouch.IsZero() {
		return nil
	}
	return &ce.PromptCacheInfo{LastCall: r.LastCall, LastTouchAt: r.CacheTouch}
}

// recall reads the session's stored state, once. What is missing or torn starts
// anew, and the latter is told.
func (v *visit) recall(ctx context.Context) {
	if v.session.known() {
		return
	}
	r, err := v.h.stored(ctx, v.ref)
	if err != nil {
		v.startsClean(ctx, stateRecord, err)
		return
	}
	v.session.update(func(own *record) { *own = r })
}

// stored is what the state store has of a session's standing.
func (h *Host) stored(ctx context.Context, ref ce.SessionRef) (record, error) {
	var r record
	raw, err := h.opts.State.Load(ctx, ref, stateRecord)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return record{}, err
	}
	return r, nil
}

// standing is what is known of a session; of one that had no turn yet, what the state store
// has, which does not take long.
func (h *Host) standing(ref ce.SessionRef) record {
	if s := h.open.peek(ref.SessionID); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.recalled {
			return s.record
		}
	}
	if ref.SessionID == "" {
		return record{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.life), leaveWithin)
	defer cancel()
	r, err := h.stored(ctx, ref)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "reading a session's state failed",
			slog.String("session", ref.SessionID), slog.Any("error", err))
	}
	return r
}

// startsClean tells that a stored value is not used; one that never was is normal.
func (v *visit) startsClean(ctx context.Context, name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	v.warn(ctx, "stored state starts anew", fmt.Errorf("state %q: %w", name, err))
	v.observe(ctx, Event{Operation: OpState}, fmt.Errorf("state %q starts anew: %w", name, err))
}

// remember stores the session's state and what was learnt, whether ctx ended or not, and
// does not take long. A failure is logged: the turn is worth more.
func (v *visit) remember(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	defer v.h.calibrator.save(ctx)
	v.saveRecord(ctx)
	for i, pass := range v.session.passes {
		stateful, ok := pass.(prune.Stateful)
		if !ok {
			continue
		}
		snapshot := stateful.Snapshot()
		if len(snapshot) == 0 {
			continue
		}
		if err := v.h.opts.State.Save(ctx, v.ref, statePass+strconv.Itoa(i), snapshot); err != nil {
			v.warn(ctx, "saving a pass's state failed", err)
		}
	}
}

// checkpoint stores the session's standing before the end of the visit, for a host that
// continues after a crash.
func (v *visit) checkpoint(ctx context.Context) {
	v.unsaved = v.unsaved || !v.saveRecord(ctx)
}

// saveRecord stores the session's standing, and reports whether that went well.
func (v *visit) saveRecord(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	raw, err := json.Marshal(v.session.snapshot())
	if err == nil {
		err = v.h.opts.State.Save(ctx, v.ref, stateRecord, raw)
	}
	if err != nil {
		v.warn(ctx, "saving the session's state failed", err)
	}
	return err == nil
}

// passes are those of the session, with the state they had.
func (v *visit) passes(ctx context.Context) []prune.Pass {
	if v.session.hasPasses {
		return v.session.passes
	}
	v.session.passes, v.session.hasPasses = v.h.opts.Passes(v.ref), true
	for i, pass := range v.session.passes {
		stateful, ok := pass.(prune.Stateful)
		if !ok {
			continue
		}
		name := statePass + strconv.Itoa(i)
		raw, err := v.h.opts.State.Load(ctx, v.ref, name)
		if err == nil {
			err = stateful.Restore(raw)
		}
		if err != nil {
			v.startsClean(ctx, name, err)
		}
	}
	return v.session.passes
}

// memoryState keeps state as long as the program runs.
type memoryState struct {
	mu     sync.Mutex
	values map[string]map[string][]byte
}

func newMemoryState() *memoryState { return &memoryState{values: map[string]map[string][]byte{}} }

func (s *memoryState) Load(_ context.Context, ref ce.SessionRef, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[ref.SessionID][name]
	if !ok {
		return nil, fmt.Errorf("state %q of session %q: %w", name, ref.SessionID, fs.ErrNotExist)
	}
	return bytes.Clone(value), nil
}

func (s *memoryState) Save(_ context.Context, ref ce.SessionRef, name string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[ref.SessionID] == nil {
		s.values[ref.SessionID] = map[string][]byte{}
	}
	s.values[ref.SessionID][name] = bytes.Clone(value)
	return nil
}

func (s *memoryState) Delete(_ context.Context, ref ce.SessionRef) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, ref.SessionID)
	return nil
}
