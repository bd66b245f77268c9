package transcript

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"github.com/go-contextengine/contextengine/internal/jsonx"
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
// messages of type [HistoryEntryType]; details that have no field stand in Extra. A message that
// does not bring an id gets a hash of its role and content and of everything before it: the same
// list gives the same keys after a restart, and a repeated "ok" another key than the first.
//
// The history is read when a session is opened; what others append to it while the session is
// open is not seen. Headers are not stored: of an opened session only its id and the time of its
// first message are known.
func FromHistory(h History) Store { return NewHistoryStore(h, nil) }

// NewHistoryStore is FromHistory with options; nil means the defaults. NewID is used only for the
// rows that rewrites append again.
func NewHistoryStore(h History, opts *MemoryOptions) Store {
	return &historyStore{settings: opts.settings(), history: h, sessions: registry{open: make(map[string]*openSession)}}
}

type historyStore struct {
	settings
	history History

	mu       sync.Mutex
	sessions registry
}

func (st *historyStore) Create(ctx context.Context, h Header) (Log, error) {
	if err := h.complete(st.now); err != nil {
		return nil, fmt.Errorf("creating session: %w", err)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if _, isOpen := st.sessions.open[h.ID]; isOpen {
		return nil, fmt.Errorf("creating session %q: %w", h.ID, fs.ErrExist)
	}
	ms, err := st.load(ctx, h.ID)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("creating session %q: %w", h.ID, err)
	case len(ms) > 0:
		return nil, fmt.Errorf("creating session %q: %w", h.ID, fs.ErrExist)
	}
	return st.handle(h, nil), nil
}

// load asks the host, which may be slow.
func (st *historyStore) load(ctx context.Context, id string) ([]message.Message, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return st.history.Load(ctx, id)
}

// handle gives out a log on a session that was not open. The caller holds mu.
func (st *historyStore) handle(h Header, ms []message.Message) Log {
	b := &historyBackend{history: st.history, id: h.ID}
	t := newTree(currentVersion)
	b.read(t, ms)
	s := newSession(st.settings, h, t, nil, b)
	s.derive = b.derive
	return st.sessions.lend(&st.mu, h.ID, s)
}

func (st *historyStore) Open(ctx context.Context, sessionID string) (Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if o, ok := st.sessions.open[sessionID]; ok {
		return st.sessions.lend(&st.mu, sessionID, o.s), nil
	}
	ms, err := st.load(ctx, sessionID)
	if err == nil && len(ms) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("opening session %q: %w", sessionID, err)
	}
	return st.handle(Header{ID: sessionID, Version: currentVersion, Timestamp: ms[0].Timestamp}, ms), nil
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
	st.mu.Lock()
	defer st.mu.Unlock()
	at := make(map[string]int, len(headers))
	for i, h := range headers {
		at[h.ID] = i
	}
	for id, o := range st.sessions.open {
		if i, ok := at[id]; ok {
			headers[i] = o.s.header
		} else {
			headers = append(headers, o.s.header)
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
	deleter, ok := st.history.(HistoryDeleter)
	if !ok {
		return fmt.Errorf("deleting session %q: %w", sessionID, errors.ErrUnsupported)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	o, isOpen := st.sessions.open[sessionID]
	stored := !isOpen || len(o.s.snap.Load().rows) > 0
	if stored {
		if ms, err := st.load(ctx, sessionID); err != nil || len(ms) == 0 {
			return fmt.Errorf("deleting session %q: %w", sessionID, cmpErr(err, fs.ErrNotExist))
		}
		if err := deleter.DeleteSession(ctx, sessionID); err != nil {
			return fmt.Errorf("deleting session %q: %w", sessionID, err)
		}
	}
	if isOpen {
		o.s.closed.Store(true)
		delete(st.sessions.open, sessionID)
	}
	return nil
}

// cmpErr returns the first error that is one.
func cmpErr(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	return errs[i]
}

// historyBackend stores the rows of a session as messages. The rows hold their entries.
type historyBackend struct {
	memoryBackend
	history History
	id      string

	chain   [sha256.Size]byte // over the messages stored
	scratch [sha256.Size]byte // and those about to be
}

// Members of Extra that say what a list of messages cannot.
const (
	historyID   = "entryId"          // when it is not the hash
	historySide = "appendMode"       // side
	historyKept = "firstKeptEntryId" // of a compaction
)

func (b *historyBackend) begin(context.Context, *session) (func(), error) {
	b.scratch = b.chain
	return func() {}, nil
}

// derive gives the next entry of a batch its id.
func (b *historyBackend) derive(e *Entry) string { return advance(&b.scratch, e) }

// write hands the rows to the host.
func (b *historyBackend) write(ctx context.Context, s *session, batch *batch) error {
	chain := b.chain
	b.control(s, batch)
	ms := make([]message.Message, 0, len(batch.entries))
	for i := range batch.entries {
		e := batch.entries[i]
		derived := e.ID
		if e.Type != EntryLeaf {
			derived = advance(&chain, &e)
		}
		m, err := toHistory(e, batch.own[i], derived)
		if err != nil {
			return fmt.Errorf("writing session %q: %w", b.id, err)
		}
		ms = append(ms, m)
	}
	if err := b.history.Append(ctx, b.id, ms...); err != nil {
		return fmt.Errorf("writing session %q: %w", b.id, err)
	}
	b.chain = chain
	return b.memoryBackend.write(ctx, s, batch)
}

// control puts a leaf row in front of rows that do not go on from the leaf: a list of messages has
// no parents.
func (b *historyBackend) control(s *session, batch *batch) {
	parent := s.rowID(s.t.canonical(s.t.under))
	for i := 0; i < len(batch.entries); i++ {
		e := batch.entries[i]
		if e.Type != EntryLeaf && e.ParentID != parent {
			parent = e.ParentID
			batch.entries = slices.Insert(batch.entries, i, s.leafRow(parent))
			batch.own = slices.Insert(batch.own, i, rowOwn{})
			batch.rows = append(batch.rows, row{})
			i++
		}
		if !e.Side {
			parent = e.ID
		}
	}
}

// read builds the tree from what the host has.
func (b *historyBackend) read(t *tree, ms []message.Message) {
	for n, m := range ms {
		for _, e := range fromHistory(m) {
			b.readRow(t, e, int32(n)+1)
		}
	}
}

func (b *historyBackend) readRow(t *tree, e Entry, line int32) {
	derived := ""
	if e.Type != EntryLeaf {
		derived = advance(&b.chain, &e)
	}
	own, key := rowOwn{}, e.Field(fieldKey)
	if id := e.Field(historyID); id != "" {
		e.ID = id
	} else if e.ID == "" {
		e.ID = derived
	}
	if _, ok := e.Extra[fieldGeneration]; ok {
		n, _ := rawInt(e.Extra[fieldGeneration])
		own.generation = Generation(n)
	}
	e.Side = e.Field(historySide) == "side"
	e.Extra = withoutFields(e.Extra, fieldKey, historyID, historySide)
	if e.Type != EntryLeaf && t.canonical(t.under) != none {
		e.ParentID = t.rows[t.canonical(t.under)].id
	}
	e.settle(key)
	t.add(infoOf(e, own), row{held: &e, line: line}, nil)
}

// toHistory makes the message that stores e.
func toHistory(e Entry, own rowOwn, derived string) (message.Message, error) {
	var m message.Message
	switch e.Type {
	case EntryMessage:
		m = *e.Message
	case EntryCompaction:
		m = compactionMessage(e)
		m = m.WithExtra(historyKept, encodeString(e.Compaction.FirstKeptEntryID))
		if e.Compaction.Details != nil {
			m = m.WithExtra("details", e.Compaction.Details)
		}
	case EntryBranchSummary:
		m = branchSummaryMessage(e)
	case EntryCustomMessage:
		m = customMessage(e)
	default:
		line, err := encodeRow(e, own)
		if err != nil {
			return message.Message{}, err
		}
		m = entryMessage(line)
	}
	m.Key, m.Timestamp = e.ID, orTime(m.Timestamp, e.Timestamp)
	if e.ID != derived {
		m = m.WithExtra(historyID, encodeString(e.ID))
	}
	if e.Key != e.ID {
		m = m.WithExtra(fieldKey, encodeString(e.Key))
	}
	if e.Side {
		m = m.WithExtra(historySide, encodeString("side"))
	}
	return m, nil
}

func entryMessage(line []byte) message.Message {
	return message.Message{
		Role:  message.RoleCustom,
		Extra: map[string]json.RawMessage{"customType": encodeString(HistoryEntryType), "display": []byte("false"), "details": line},
	}
}

// fromHistory is the reverse of toHistory; messages of the host's own become message rows.
func fromHistory(m message.Message) []Entry {
	names := []string{fieldKey, historyID, historySide}
	own := pick(m.Extra, names...)
	m.Extra = withoutFields(m.Extra, names...)
	if m.Key != "" && own[historyID] == nil {
		own[historyID] = encodeString(m.Key)
	}
	e := Entry{Type: EntryMessage, Timestamp: m.Timestamp, Message: &m, Extra: own}
	switch {
	case m.Role == message.RoleCustom && m.ExtraString("customType") == HistoryEntryType:
		row, err := decodeRow(m.Details(), currentVersion)
		if err != nil {
			return []Entry{e}
		}
		if row.Extra == nil {
			row.Extra = own
		}
		for name, raw := range own {
			row.Extra[name] = raw
		}
		return []Entry{row}
	case m.Role == message.RoleCustom:
		row, err := customRow(e, m)
		if err != nil {
			return []Entry{e}
		}
		row.Type = EntryCustomMessage
		return []Entry{row}
	case m.Role == message.RoleCompactionSummary:
		kept, _ := rawString(m.Extra[historyKept])
		e.Type, e.Message = EntryCompaction, nil
		e.Compaction = &Compaction{Summary: m.Summary, TokensBefore: m.TokensBefore, FirstKeptEntryID: kept, Details: m.Extra["details"]}
		return []Entry{e}
	case m.Role == message.RoleBranchSummary:
		from, _ := rawString(m.Extra["fromId"])
		e.Type, e.Message = EntryBranchSummary, nil
		e.Summary = &BranchSummary{FromID: from, Summary: m.Summary}
		return []Entry{e}
	}
	return splitResults(e)
}

func pick(m map[string]json.RawMessage, names ...string) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	for _, name := range names {
		if raw, ok := m[name]; ok {
			out[name] = raw
		}
	}
	return out
}

// advance adds an entry to a chain of hashes and returns its own.
func advance(chain *[sha256.Size]byte, e *Entry) string {
	h := sha256.New()
	h.Write(chain[:])
	part := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	part([]byte(e.Type))
	m, ok := e.InView()
	if ok {
		part([]byte(m.Role))
		part([]byte(m.ToolCallID))
		part([]byte(m.Summary))
		for _, b := range m.Content {
			part([]byte(b.Type))
			part([]byte(b.Text))
			part([]byte(b.ID))
			part([]byte(b.Name))
			part(canonicalJSON(b.Arguments))
			part([]byte(b.Data))
		}
	} else {
		for _, name := range sortedNames(e.Extra) {
			part([]byte(name))
			part(canonicalJSON(e.Extra[name]))
		}
	}
	h.Sum(chain[:0])
	return hex.EncodeToString(chain[:keyBytes])
}

// canonicalJSON writes a value with sorted members and no white space, so that a database that
// stores JSON as values does not change what it means here.
func canonicalJSON(raw []byte) []byte {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return raw
	}
	out, err := jsonx.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}
