package tokens

import (
	"encoding/json"
	"hash/maphash"
	"math/bits"

	"github.com/go-contextengine/contextengine/message"
)

// Kinds keep the hashes of unlike things apart.
const (
	kindMessage uint64 = iota + 1
	kindBlock
	kindText
	kindSchema
)

// hashMessage covers every field an Estimator may look at. Each field is hashed on
// its own and mixed in at its place, so that text moved over a field's or a block's
// border gives another hash.
func hashMessage(seed maphash.Seed, m *message.Message) uint64 {
	h := mix(kindMessage, uint64(len(m.Content)))
	h = mixString(seed, h, string(m.Role))
	h = mixString(seed, h, m.ToolCallID)
	h = mixString(seed, h, m.ToolName)
	h = mixString(seed, h, m.StopReason)
	h = mixString(seed, h, m.ErrorMessage)
	h = mixString(seed, h, m.Summary)
	if m.IsError {
		h = mix(h, 1)
	}
	for i := range m.Content {
		h = mix(h, hashBlock(seed, &m.Content[i]))
	}
	return mix(h, hashExtra(seed, m.Extra))
}

func hashBlock(seed maphash.Seed, b *message.Block) uint64 {
	h := mixString(seed, kindBlock, string(b.Type))
	h = mixString(seed, h, b.Text)
	h = mixString(seed, h, b.Signature)
	h = mixString(seed, h, b.ID)
	h = mixString(seed, h, b.Name)
	h = mix(h, maphash.Bytes(seed, b.Arguments))
	h = mixString(seed, h, b.Data)
	h = mixString(seed, h, b.MIMEType)
	return mix(h, hashExtra(seed, b.Extra))
}

// hashExtra is a sum, because a map has no order.
func hashExtra(seed maphash.Seed, extra map[string]json.RawMessage) uint64 {
	sum := uint64(len(extra))
	for key, value := range extra {
		sum += mix(maphash.String(seed, key), maphash.Bytes(seed, value))
	}
	return sum
}

// mixString skips the hash of an empty field, which most are.
func mixString(seed maphash.Seed, h uint64, s string) uint64 {
	if s == "" {
		return mix(h, 0)
	}
	return mix(h, maphash.String(seed, s))
}

// mix combines two hashes; the order matters. The constants are those of wyhash.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}
