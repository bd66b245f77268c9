package transcript

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/go-contextengine/contextengine/internal/jsonx"
	"github.com/go-contextengine/contextengine/message"
)

// historyBackend stores the rows of a session as messages. The rows hold their entries.
type historyBackend struct {
	memoryBackend
	history History
	id      string

	stored  [sha256.Size]byte // chain over the messages as stored: what reading them gives
	placed  [sha256.Size]byte // and as appended, before the redaction: keys do not depend on that
	scratch [sha256.Size]byte // placed, with those about to be stored
	doubt   bool              // the last append failed, and may have stored its messages all the same
	doubted bool              // there was one: from then on ids are stored, whatever they are
}

// begin reads the history again after an append whose answer was lost.
func (b *historyBackend) begin(ctx context.Context, s *session) (func(), error) {
	if b.doubt {
		ms, err := b.history.Load(ctx, b.id)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading session %q again: %w", b.id, err)
		}
		s.t = newTree(currentVersion)
		b.read(s.t, ms)
		b.doubt = false
		s.publish()
	}
	b.scratch = b.placed
	return func() {}, nil
}

// derive gives the next entry of a batch its id.
func (b *historyBackend) derive(e *Entry) string { return advance(&b.scratch, e) }

// write hands the rows to the host.
func (b *historyBackend) write(ctx context.Context, s *session, batch *batch) error {
	stored, placed := b.stored, b.scratch
	unplaced := b.scratch == b.placed // rows that were appended before, and come again
	ms := make([]message.Message, 0, len(batch.entries))
	for i := range batch.entries {
		e := batch.entries[i]
		derived := ""
		if e.Type != EntryLeaf {
			derived = advance(&stored, &e)
			if unplaced {
				advance(&placed, &e)
			}
		}
		if b.doubted {
			derived = ""
		}
		m, err := toHistory(e, batch.lines[i], derived)
		if err != nil {
			return fmt.Errorf("writing session %q: %w", b.id, err)
		}
		ms = append(ms, m)
	}
	if err := b.history.Append(ctx, b.id, ms...); err != nil {
		b.doubt, b.doubted = true, true
		return fmt.Errorf("writing session %q: %w", b.id, err)
	}
	b.stored, b.placed = stored, placed
	return b.memoryBackend.write(ctx, s, batch)
}

// complete puts a leaf row in front of rows that do not go on from the leaf: a list of messages has
// no parents.
func (b *historyBackend) complete(s *session, batch *batch) {
	parent := s.rowID(s.t.canonical(s.t.under))
	for i := 0; i < len(batch.entries); i++ {
		e := batch.entries[i]
		if e.Type != EntryLeaf && e.ParentID != parent {
			parent = e.ParentID
			batch.entries = slices.Insert(batch.entries, i, s.leafRow(parent))
			batch.own = slices.Insert(batch.own, i, rowOwn{})
			i++
		}
		if !e.Side {
			parent = e.ID
		}
	}
	for i := range batch.own { // a list takes all of a batch or nothing
		batch.own[i].batch = batchMark{}
	}
}

// read builds the tree from what the host has.
func (b *historyBackend) read(t *tree, ms []message.Message) {
	b.stored = [sha256.Size]byte{}
	for n, m := range ms {
		own := decodeOwn(m.Extra[fieldOwn])
		own.generation = decodeOwn(jsonx.Get(m.Extra["details"], fieldOwn)).generation
		if own.id == "" {
			own.id = m.Key
		}
		if _, ok := m.Extra[fieldOwn]; ok {
			m = m.WithExtra(fieldOwn, nil)
		}
		for k, e := range fromHistory(m, own) {
			if k > 0 { // what is stored with a message is said of its first row
				own = rowOwn{}
			}
			b.readRow(t, e, own, int32(n)+1)
		}
	}
	b.placed = b.stored
}

func (b *historyBackend) readRow(t *tree, e Entry, own rowOwn, line int32) {
	derived := ""
	if e.Type != EntryLeaf {
		derived = advance(&b.stored, &e)
	}
	e.ID = cmp.Or(own.id, e.ID, derived)
	e.Side = own.side
	if own.extra != nil {
		e.Extra = mergedExtra(e.Extra, own.extra)
	}
	if e.Type != EntryLeaf && t.canonical(t.under) != none {
		e.ParentID = t.rows[t.canonical(t.under)].id
	}
	e.settle(own.key)
	t.add(infoOf(e, own), row{held: &e, line: line}, nil)
}

func mergedExtra(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

// infoOf is readInfo for an entry that is at hand.
func infoOf(e Entry, own rowOwn) rowInfo {
	info := rowInfo{
		typ: e.Type, id: e.ID, hasID: true, parent: e.ParentID, parentKnown: true,
		side: e.Side, own: own,
	}
	info.own.key = ""
	if e.Key != e.ID {
		info.own.key = e.Key
	}
	if e.Message != nil {
		info.role = string(e.Message.Role)
	}
	if e.Compaction != nil {
		info.kept = e.Compaction.FirstKeptEntryID
	}
	if raw, ok := e.Extra["targetId"]; ok {
		info.target, info.targetKnown = rawRef(raw)
	}
	return info
}

// toHistory makes the message that stores e; line is e as a file would store it.
func toHistory(e Entry, line []byte, derived string) (message.Message, error) {
	var own rowOwn
	var m message.Message
	switch e.Type {
	case EntryMessage:
		m = *e.Message
	case EntryCompaction:
		m = compactionMessage(e)
		own.kept = e.Compaction.FirstKeptEntryID
		if e.Compaction.Details != nil {
			m = m.WithExtra("details", e.Compaction.Details)
		}
	case EntryBranchSummary:
		m = branchSummaryMessage(e)
	case EntryCustomMessage:
		m = customMessage(e)
	default:
		m = entryMessage(line)
	}
	m.Key, m.Timestamp = e.ID, orTime(m.Timestamp, e.Timestamp)
	if e.ID != derived {
		own.id = e.ID
	}
	if e.Key != e.ID {
		own.key = e.Key
	}
	own.side = e.Side
	if e.Message != nil || e.Compaction != nil || e.Summary != nil {
		own.extra = e.Extra
	}
	return m.WithExtra(fieldOwn, own.encode()), nil
}

func entryMessage(line []byte) message.Message {
	return message.Message{
		Role:  message.RoleCustom,
		Extra: map[string]json.RawMessage{"customType": encodeString(HistoryEntryType), "display": []byte("false"), "details": line},
	}
}

// fromHistory is the reverse of toHistory; messages of the host's own become message rows.
func fromHistory(m message.Message, own rowOwn) []Entry {
	e := Entry{Type: EntryMessage, Timestamp: m.Timestamp, Message: &m}
	switch {
	case m.Role == message.RoleCustom && m.ExtraString("customType") == HistoryEntryType:
		row, err := decodeRow(m.Details(), currentVersion)
		if err != nil {
			return []Entry{e}
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
		e.Type, e.Message = EntryCompaction, nil
		e.Compaction = &Compaction{Summary: m.Summary, TokensBefore: m.TokensBefore, FirstKeptEntryID: own.kept, Details: m.Extra["details"]}
		return []Entry{e}
	case m.Role == message.RoleBranchSummary:
		from, _ := rawString(m.Extra["fromId"])
		e.Type, e.Message = EntryBranchSummary, nil
		e.Summary = &BranchSummary{FromID: from, Summary: m.Summary}
		return []Entry{e}
	}
	return splitResults(e)
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
		for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
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
