package bpe

import "math/bits"

// longestToken is the length in bytes of the longest entry of both vocabularies.
const longestToken = 128

// A vocabulary finds the rank of a byte string. It holds no pointers into itself, so
// that the garbage collector has nothing to scan.
type vocabulary struct {
	packed string   // the bytes of all tokens
	start  []uint32 // by id, into packed
	length []uint8  // by id
	one    [256]uint32
	two    []uint32 // by both bytes
	table  []slot   // open addressing, for longer tokens
	mask   uint64
}

// A slot holds the upper half of the token's hash and id+1; 0 is free.
type slot struct{ tag, rank uint32 }

func unpack(packed string) *vocabulary {
	v := &vocabulary{packed: packed, two: make([]uint32, 1<<16)}
	for i := 0; i < len(packed); {
		n, width := uvarint(packed[i:])
		i += width
		v.start = append(v.start, uint32(i))
		v.length = append(v.length, uint8(n))
		i += n
	}
	size := uint64(1) << bits.Len(uint(2*len(v.start)))
	if half := size / 2; uint64(len(v.start))*3 < half*2 {
		size = half
	}
	v.table, v.mask = make([]slot, size), size-1
	for id := range v.start {
		v.insert(uint32(id))
	}
	return v
}

// uvarint is binary.Uvarint for the one or two bytes that lengths take.
func uvarint(s string) (n, width int) {
	if s[0] < 0x80 {
		return int(s[0]), 1
	}
	return int(s[0]&0x7f) | int(s[1])<<7, 2
}

func (v *vocabulary) token(id uint32) string {
	return v.packed[v.start[id] : v.start[id]+uint32(v.length[id])]
}

func (v *vocabulary) insert(id uint32) {
	t := v.token(id)
	switch len(t) {
	case 0:
	case 1:
		v.one[t[0]] = id + 1
	case 2:
		v.two[int(t[0])<<8|int(t[1])] = id + 1
	default:
		h := hash(t)
		i := h & v.mask
		for v.table[i].rank != 0 {
			i = (i + 1) & v.mask
		}
		v.table[i] = slot{uint32(h >> 32), id + 1}
	}
}

// rank returns the id of t plus one; 0 when t, which is not empty, is no token.
func (v *vocabulary) rank(t string) uint32 {
	switch {
	case len(t) == 2:
		return v.two[int(t[0])<<8|int(t[1])]
	case len(t) == 1:
		return v.one[t[0]]
	case len(t) > longestToken:
		return 0
	}
	h := hash(t)
	tag := uint32(h >> 32)
	for i := h & v.mask; ; i = (i + 1) & v.mask {
		s := v.table[i]
		if s.rank == 0 || s.tag == tag && v.token(s.rank-1) == t {
			return s.rank
		}
	}
}

// hash is a multiply-and-fold hash over words of eight bytes; t has three or more.
func hash(t string) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xa0761d6478bd642f
	h := uint64(len(t)) * k0
	for ; len(t) > 8; t = t[8:] {
		h = fold(h^le64(t), k1)
	}
	switch {
	case len(t) == 8:
		h = fold(h^le64(t), k1)
	case len(t) >= 4:
		h = fold(h^(uint64(le32(t))|uint64(le32(t[len(t)-4:]))<<32), k1)
	default:
		h = fold(h^(uint64(t[0])|uint64(t[len(t)>>1])<<8|uint64(t[len(t)-1])<<16), k1)
	}
	return h ^ h>>32
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// le64 and le32 read words from a string; the compiler makes one load of each.
func le64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func le32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
