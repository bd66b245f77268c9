package transcript

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-contextengine/contextengine/internal/jsonx"
	"github.com/go-contextengine/contextengine/message"
)

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
