package tokens

import (
	"encoding/json"
	"hash/maphash"
	"math/bits"

	"github.com/go-contextengine/contextengine/message"
)

// Tags keep fields apart: a field that is not empty is mixed in with its tag and its
// length, so that text moved over the border of a field or block gives another hash.
const (
	tagMessage uint64 = iota + 1
	tagText
	tagSchema
	tagRole
	tagToolCallID
	tagToolName
	tagIsError
	tagStopReason
	tagErrorMessage
	tagSummary
	tagBlock
	tagSignature
	tagID
	tagName
	tagArguments
	tagData
	tagMIMEType
	tagExtra
)

// A hasher hashes what can count under a key of its own, so that nobody can make up
// two messages of one hash.
type hasher struct {
	seed maphash.Seed
	key  uint64
}

func newHasher() hasher {
	seed := maphash.MakeSeed()
	return hasher{seed: seed, key: maphash.String(seed, "tokens")}
}

// message covers every field that an Estimator may look at: all but the key, the
// time, the usage, and who answered.
func (k hasher) message(m *message.Message) uint64 {
	h := mix(k.key^tagMessage, uint64(len(m.Content)))
	h = k.short(h, tagRole, string(m.Role))
	h = k.short(h, tagToolCallID, m.ToolCallID)
	h = k.short(h, tagToolName, m.ToolName)
	h = k.short(h, tagStopReason, m.StopReason)
	h = k.long(h, tagErrorMessage, m.ErrorMessage)
	h = k.long(h, tagSummary, m.Summary)
	if m.IsError {
		h = mix(h, tagIsError)
	}
	for i := range m.Content {
		h = k.block(h, &m.Content[i])
	}
	return k.extra(h, m.Extra)
}

func (k hasher) block(h uint64, b *message.Block) uint64 {
	h = k.short(h^tagBlock<<32, tagBlock, string(b.Type))
	h = k.long(h, tagText, b.Text)
	h = k.long(h, tagSignature, b.Signature)
	h = k.short(h, tagID, b.ID)
	h = k.short(h, tagName, b.Name)
	h = k.long(h, tagData, b.Data)
	h = k.short(h, tagMIMEType, b.MIMEType)
	if len(b.Arguments) > 0 {
		h = mix(h^tagArguments, maphash.Bytes(k.seed, b.Arguments)^uint64(len(b.Arguments)))
	}
	return k.extra(h, b.Extra)
}

// extra mixes in a sum, because a map has no order.
func (k hasher) extra(h uint64, extra map[string]json.RawMessage) uint64 {
	if len(extra) == 0 {
		return h
	}
	sum := uint64(len(extra))
	for key, value := range extra {
		sum += mix(maphash.String(k.seed, key), maphash.Bytes(k.seed, value))
	}
	return mix(h^tagExtra, sum)
}

// long mixes in a field of any length.
func (k hasher) long(h, tag uint64, s string) uint64 {
	if s == "" {
		return h
	}
	return mix(h^tag, maphash.String(k.seed, s)^uint64(len(s)))
}

// short is long for fields that seldom pass 16 bytes: names, roles, types.
func (k hasher) short(h, tag uint64, s string) uint64 {
	n := len(s)
	if n == 0 {
		return h
	}
	if n > 16 {
		return k.long(h, tag, s)
	}
	var first, last uint64
	switch {
	case n >= 8:
		first, last = le64(s), le64(s[n-8:])
	case n >= 4:
		first = le32(s) | le32(s[n-4:])<<32
	default:
		first = uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	return mix(h^first, last^(tag<<8|uint64(n))^k.key)
}

// mix combines two hashes; the order matters. The constants are those of wyhash.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}

// le64 and le32 read words from a string; the compiler makes one load of each.
func le64(s string) uint64 {
	_ = s[7]
	return le32(s) | le32(s[4:])<<32
}

func le32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}
