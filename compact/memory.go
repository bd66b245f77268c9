package compact

import (
	"sync"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

// How much a Compactor remembers. The least recently used goes first.
const (
	maxBreakers = 64
	maxSessions = 512
)

// A memory keeps what a Compactor knows of models and sessions between compactions. It is
// bounded and safe for concurrent use.
type memory struct {
	mu       sync.Mutex
	models   recent[breakerState]
	sessions recent[sessionRecord]
}

// A breakerState is that of one model's circuit breaker.
type breakerState struct {
	failures int
	until    time.Time // open until then
}

// A sessionRecord is what happened to a session.
type sessionRecord struct {
	// failed is the result of the last compaction if it failed, in the turn that it names.
	failed     *ce.CompactResult
	failedTurn string
	failedErr  error // why it could not read or store, instead of a result
	// flushed names the cycle whose memory was flushed, attempts counts failures in it.
	flushed, flushing string
	attempts          int
}

func newMemory() *memory {
	return &memory{
		models:   newRecent[breakerState](maxBreakers),
		sessions: newRecent[sessionRecord](maxSessions),
	}
}

// open reports whether a model must not be asked now.
func (m *memory) open(model string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.models.get(model)
	return b != nil && now.Before(b.until)
}

// note records how a model answered: a failure brings its breaker closer to opening.
func (m *memory) note(model string, b Breaker, failed bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !failed {
		m.models.forget(model)
		return
	}
	s := m.models.use(model)
	if s.failures++; s.failures >= b.Failures {
		s.until = now.Add(b.Pause)
	}
}

// failedIn returns what came of a compaction that failed in the same turn: its result or
// its error; neither when none failed.
func (m *memory) failedIn(session, turn string) (*ce.CompactResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.sessions.get(session)
	if r == nil || r.failedTurn != turn {
		return nil, nil
	}
	return r.failed, r.failedErr
}

// ended records how a compaction ended.
func (m *memory) ended(session, turn string, res ce.CompactResult, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.sessions.use(session)
	r.failed, r.failedTurn, r.failedErr = nil, turn, err
	if !res.OK && err == nil {
		r.failed = &res
	}
}

// maxFlushes is how often a failing memory flush is tried in one cycle (OpenClaw 2026.7.1).
const maxFlushes = 3

// beginFlush reports whether the memory of a cycle is still to be flushed, and claims it.
func (m *memory) beginFlush(session, cycle string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.sessions.use(session)
	if r.flushed == cycle || r.flushing == cycle && r.attempts >= maxFlushes {
		return false
	}
	if r.flushing != cycle {
		r.flushing, r.attempts = cycle, 0
	}
	r.flushed = cycle
	return true
}

// A flushEnd is how a memory flush ended.
type flushEnd int

const (
	flushDone flushEnd = iota
	flushFailed
	flushCancelled // by the caller: it says nothing of the flush
)

// endFlush gives the claim on a cycle back unless its memory was flushed, so that it can be
// tried another time. Failures count.
func (m *memory) endFlush(session, cycle string, end flushEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.sessions.use(session)
	if r.flushing != cycle || end == flushDone {
		return
	}
	if end == flushFailed {
		r.attempts++
	}
	if r.attempts < maxFlushes {
		r.flushed = ""
	}
}
