package transcript

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// MemoryOptions configure a store in memory.
type MemoryOptions struct {
	// Now is the clock. Optional; if nil, [time.Now].
	Now func() time.Time
	// NewID makes entry ids. Optional; if nil, eight random hexadecimal digits. An id that the
	// log has already is asked for again.
	NewID func() string
	// Redact changes what is stored: every message, summary and custom message passes through it
	// once, before it is stored; what [Store.Fork] and [Store.Rotate] copy has passed already. It
	// must not change its argument in place, nor call the log, which waits for it. Message keys do
	// not depend on what it does. Optional.
	Redact func(message.Message) message.Message
}

func (o *MemoryOptions) settings() settings {
	if o == nil {
		o = &MemoryOptions{}
	}
	return settings{now: o.Now, newID: o.NewID, redact: o.Redact}.withDefaults()
}

// NewMemory returns a store whose sessions live as long as the program.
func NewMemory() Store { return NewMemoryStore(nil) }

// NewMemoryStore is NewMemory with options; nil means the defaults.
func NewMemoryStore(opts *MemoryOptions) Store {
	return &memoryStore{settings: opts.settings(), sessions: make(map[string]*session)}
}

// memoryStore keeps sessions in a map.
type memoryStore struct {
	settings

	mu       sync.Mutex
	sessions map[string]*session
}

// Follows implements [Follower]: nobody else has the sessions.
func (*memoryStore) Follows() bool { return true }

func (st *memoryStore) Create(ctx context.Context, h Header) (Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := h.complete(st.now); err != nil {
		return nil, fmt.Errorf("creating session: %w", err)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if _, ok := st.sessions[h.ID]; ok {
		return nil, fmt.Errorf("creating session %q: %w", h.ID, fs.ErrExist)
	}
	s := newSession(st.settings, h, newTree(currentVersion), nil, memoryBackend{})
	st.sessions[h.ID] = s
	return st.handle(s), nil
}

func (st *memoryStore) handle(s *session) Log {
	return &handle{s: s, release: func() error { return nil }}
}

func (st *memoryStore) Open(ctx context.Context, sessionID string) (Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	s, ok := st.sessions[sessionID]
	if !ok {
		return nil, fmt.Errorf("opening session %q: %w", sessionID, fs.ErrNotExist)
	}
	return st.handle(s), nil
}

func (st *memoryStore) List(ctx context.Context) iter.Seq2[Header, error] {
	return func(yield func(Header, error) bool) {
		for _, h := range st.headers() {
			if ctx.Err() != nil {
				yield(Header{}, context.Cause(ctx))
				return
			}
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (st *memoryStore) headers() []Header {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := make([]Header, 0, len(st.sessions))
	for _, s := range st.sessions {
		out = append(out, s.header)
	}
	sortHeaders(out)
	return out
}

func (st *memoryStore) Fork(ctx context.Context, sessionID, leafEntryID string) (Log, error) {
	return fork(ctx, st, sessionID, leafEntryID)
}

func (st *memoryStore) Rotate(ctx context.Context, sessionID string, successor Header) (Log, error) {
	return rotate(ctx, st, sessionID, successor)
}

func (st *memoryStore) Delete(ctx context.Context, sessionID string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	s, ok := st.sessions[sessionID]
	if !ok {
		return fmt.Errorf("deleting session %q: %w", sessionID, fs.ErrNotExist)
	}
	s.closed.Store(true)
	delete(st.sessions, sessionID)
	return nil
}

// memoryBackend stores nothing: the rows hold their entries.
type memoryBackend struct{}

func (memoryBackend) begin(context.Context, *session) (func(), error) { return func() {}, nil }
func (memoryBackend) mark() any                                       { return nil }
func (memoryBackend) stale(*snapshot) bool                            { return false }
func (memoryBackend) follow(*session) error                           { return nil }
func (memoryBackend) complete(*session, *batch)                       {}
func (memoryBackend) trim(*session) (int64, error)                    { return 0, nil }
func (memoryBackend) close() error                                    { return nil }

func (memoryBackend) write(_ context.Context, s *session, b *batch) error {
	line := int32(len(s.t.rows)) + 2
	for i := range b.entries {
		b.rows[i] = row{held: &b.entries[i], line: line + int32(i)}
	}
	return nil
}
