package tokens

import (
	"encoding/json"
	"hash/maphash"

	"github.com/go-contextengine/contextengine/message"
)

const (
	// defaultMeterEntries remembers every message of several long sessions at about
	// 30 bytes each.
	defaultMeterEntries = 65_536
	// meterShards spreads concurrent sessions over locks; a power of two.
	meterShards = 32
	// memoTextLength is the length in bytes from which bare text is worth hashing.
	memoTextLength = 512
)

// A Meter is an Estimator that memoises counts by content. Safe for concurrent use.
//
//   - A count is found by a hash over every field that can count, never by
//     [message.Message.Key]: a message changed under an old key is counted anew.
//     Not hashed are Key, Timestamp, Usage, TokensBefore, API, Provider and Model;
//     the Estimator must not look at them.
//   - Memory is bounded: the least recently used half is forgotten at a time.
//   - A remembered count costs one hash over the message and no allocation.
//
// Make one with [NewMeter]; the zero Meter is not usable.
type Meter struct {
	e    Estimator
	hash hasher

	shards [meterShards]meterShard
}

var _ Estimator = (*Meter)(nil)

// MeterOptions bound a Meter. Nil is all defaults.
type MeterOptions struct {
	// Entries is the most counts remembered. Optional. If zero or less, 65,536. A
	// working set of half that never misses.
	Entries int
}

// NewMeter returns a Meter over e; nil means [ScriptAware]. A Meter given as e is
// returned as it is when opts is nil: two layers of memory help nobody.
func NewMeter(e Estimator, opts *MeterOptions) *Meter {
	if e == nil {
		e = ScriptAware()
	}
	if m, ok := e.(*Meter); ok && opts == nil {
		return m
	}
	entries := defaultMeterEntries
	if opts != nil && opts.Entries > 0 {
		entries = opts.Entries
	}
	m := &Meter{e: e, hash: newHasher()}
	perGeneration := max(1, entries/(2*meterShards))
	for i := range m.shards {
		m.shards[i].limit = perGeneration
	}
	return m
}

// Text counts bare text; long text is remembered.
func (m *Meter) Text(s string) int {
	if len(s) < memoTextLength {
		return m.e.Text(s)
	}
	key := m.hash.long(m.hash.key, tagText, s)
	if n, ok := m.shard(key).get(key); ok {
		return n
	}
	n := m.e.Text(s)
	m.shard(key).put(key, n)
	return n
}

// Message counts one message and remembers it.
func (m *Meter) Message(x message.Message) int { return m.message(&x) }

// Schema counts one tool definition and remembers it.
func (m *Meter) Schema(tool json.RawMessage) int {
	key := mix(m.hash.key^tagSchema, maphash.Bytes(m.hash.seed, tool))
	if n, ok := m.shard(key).get(key); ok {
		return n
	}
	n := m.e.Schema(tool)
	m.shard(key).put(key, n)
	return n
}

// Messages counts a list: the sum of Message.
func (m *Meter) Messages(xs []message.Message) int {
	n := 0
	for i := range xs {
		n = sum(n, m.message(&xs[i]))
	}
	return n
}

func (m *Meter) message(x *message.Message) int {
	key := m.hash.message(x)
	if n, ok := m.shard(key).get(key); ok {
		return n
	}
	n := m.e.Message(*x)
	m.shard(key).put(key, n)
	return n
}

func (m *Meter) shard(key uint64) *meterShard { return &m.shards[key&(meterShards-1)] }
