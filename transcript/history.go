package transcript

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/go-contextengine/contextengine/message"
)

// A History is the least a host with its own database must offer; [FromHistory] makes a Store of
// it. It keeps messages as they are, Extra included; Key need not be kept.
type History interface {
	// Load returns all messages of a session in the order in which they were appended. An unknown
	// session is an error matching [fs.ErrNotExist], or no messages.
	Load(ctx context.Context, sessionID string) ([]message.Message, error)
	// Append stores messages behind the others, all or none.
	Append(ctx context.Context, sessionID string, ms ...message.Message) error
}

// A HistoryLister is a History that knows its sessions. Without it [Store.List] fails with an
// error matching [errors.ErrUnsupported].
type HistoryLister interface {
	Sessions(ctx context.Context) iter.Seq2[string, error]
}

// A HistoryDeleter is a History that can remove a session. Without it [Store.Delete] fails with
// an error matching [errors.ErrUnsupported].
type HistoryDeleter interface {
	DeleteSession(ctx context.Context, sessionID string) error
}

// HistoryEntryType is the customType of the messages that carry what is no message: labels, state
// changes, leaf moves and data of extensions. Hosts that show their history leave them out, as
// they do with all messages that are not to be displayed.
const HistoryEntryType = "contextengine.entry"

// FromHistory makes a Store of a message list that lives in a database of the host.
//
// Messages that the host has already are one branch. What a list of messages cannot say is stored
// in messages too: a compaction as one of role compactionSummary, the other rows as custom
// messages of type [HistoryEntryType]; what has no field stands in one member of Extra,
// "contextengine", which is reserved. A message that does not bring an id gets a hash of its role
// and content and of everything before it: the same list gives the same keys after a restart, and
// a repeated "ok" another key than the first.
//
// The history is read when a session is opened; what others append to it while the session is
// open is not seen, unless an append fails: then it is read again before the next write, because
// the messages may have been stored all the same. Headers are not stored: of an opened session
// only its id and the time of its first message are known.
func FromHistory(h History) Store { return NewHistoryStore(h, nil) }

// NewHistoryStore is FromHistory with options; nil means the defaults. NewID is used only for the
// rows that rewrites append again.
func NewHistoryStore(h History, opts *MemoryOptions) Store {
	return &historyStore{settings: opts.settings(), history: h, sessions: newRegistry()}
}

type historyStore struct {
	settings
	history  History
	sessions *registry
}

func (st *historyStore) Create(ctx context.Context, h Header) (Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := h.complete(st.now); err != nil {
		return nil, fmt.Errorf("creating session: %w", err)
	}
	log, err := st.sessions.create(ctx, h.ID, func() (*session, error) {
		ms, err := st.history.Load(ctx, h.ID)
		if err == nil && len(ms) > 0 {
			err = fs.ErrExist
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return st.session(h, nil), nil
	})
	if err != nil {
		return nil, fmt.Errorf("creating session %q: %w", h.ID, err)
	}
	return log, nil
}

// session makes the state of a session from its messages.
func (st *historyStore) session(h Header, ms []message.Message) *session {
	b := &historyBackend{history: st.history, id: h.ID}
	t := newTree(currentVersion)
	b.read(t, ms)
	s := newSession(st.settings, h, t, nil, b)
	s.derive = b.derive
	return s
}

func (st *historyStore) Open(ctx context.Context, sessionID string) (Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	log, err := st.sessions.open(ctx, sessionID, func() (*session, error) {
		ms, err := st.history.Load(ctx, sessionID)
		if err == nil && len(ms) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
		return st.session(Header{ID: sessionID, Version: currentVersion, Timestamp: ms[0].Timestamp}, ms), nil
	})
	if err != nil {
		return nil, fmt.Errorf("opening session %q: %w", sessionID, err)
	}
	return log, nil
}

func (st *historyStore) List(ctx context.Context) iter.Seq2[Header, error] {
	return func(yield func(Header, error) bool) {
		lister, ok := st.history.(HistoryLister)
		if !ok {
			yield(Header{}, fmt.Errorf("listing sessions: %w", errors.ErrUnsupported))
			return
		}
		var headers []Header
		for id, err := range lister.Sessions(ctx) {
			if err != nil {
				yield(Header{}, fmt.Errorf("listing sessions: %w", err))
				return
			}
			headers = append(headers, Header{ID: id, Version: currentVersion})
		}
		for _, h := range st.withOpen(headers) {
			if !yield(h, nil) {
				return
			}
		}
	}
}

// withOpen puts in what is known of open sessions, and sessions that have no message yet.
func (st *historyStore) withOpen(headers []Header) []Header {
	at := make(map[string]int, len(headers))
	for i, h := range headers {
		at[h.ID] = i
	}
	for _, h := range st.sessions.headers() {
		if i, ok := at[h.ID]; ok {
			headers[i] = h
		} else {
			headers = append(headers, h)
		}
	}
	sortHeaders(headers)
	return headers
}

func (st *historyStore) Fork(ctx context.Context, sessionID, leafEntryID string) (Log, error) {
	return fork(ctx, st, sessionID, leafEntryID)
}

func (st *historyStore) Rotate(ctx context.Context, sessionID string, successor Header) (Log, error) {
	return rotate(ctx, st, sessionID, successor)
}

func (st *historyStore) Delete(ctx context.Context, sessionID string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	deleter, ok := st.history.(HistoryDeleter)
	if !ok {
		return fmt.Errorf("deleting session %q: %w", sessionID, errors.ErrUnsupported)
	}
	err := st.sessions.remove(ctx, sessionID, func(open *session) error {
		if open != nil && len(open.snap.Load().rows) == 0 {
			return nil // never written
		}
		ms, err := st.history.Load(ctx, sessionID)
		if err == nil && len(ms) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return err
		}
		return deleter.DeleteSession(ctx, sessionID)
	})
	if err != nil {
		return fmt.Errorf("deleting session %q: %w", sessionID, err)
	}
	return nil
}
