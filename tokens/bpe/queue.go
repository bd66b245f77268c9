package bpe

import (
	"math/bits"
	"slices"
)

// bucketPiece is the length in bytes from which a piece is worth a bucket per rank.
const bucketPiece = 1 << 10

// A pairQueue gives pairs by rank, lowest first, and those of one rank from the left.
//
// Merging a pair nearly always makes pairs of higher rank. So the pairs of each rank
// are collected in a bucket, and a bucket is sorted once, when its turn comes; a pair
// whose turn has passed goes into a heap. That is close to linear, where a heap alone
// spends most of its time on cache misses. Short pieces use the heap alone.
type pairQueue struct {
	heap pairHeap

	turn    uint32   // the rank whose bucket is open; lower ranks have passed
	open    []int32  // what is left of the open bucket
	sorted  []int32  // the positions of the open bucket, in order
	buckets []int32  // by rank: 1 + the index of its newest entry; 0: empty
	filled  []uint64 // a bit for each bucket that holds something
	entries []entry
}

// An entry is a position in a bucket and the entry before it, as in buckets.
type entry struct{ at, before int32 }

// reset empties the queue for a piece of the given length over so many ranks.
func (q *pairQueue) reset(ranks, length int) {
	q.heap, q.open, q.entries = q.heap[:0], nil, q.entries[:0]
	if length < bucketPiece {
		q.turn = noRank
		return
	}
	q.turn = 0
	q.entries = slices.Grow(q.entries, length+length/2)
	if len(q.buckets) < ranks {
		q.buckets = make([]int32, ranks)
		q.filled = make([]uint64, ranks/64+1)
	}
}

func (q *pairQueue) push(rank uint32, at int32) {
	if rank <= q.turn {
		q.heap.push(uint64(rank)<<32 | uint64(at))
		return
	}
	q.entries = append(q.entries, entry{at, q.buckets[rank]})
	q.buckets[rank] = int32(len(q.entries))
	q.filled[rank/64] |= 1 << (rank % 64)
}

func (q *pairQueue) pop() (rank uint32, at int32, ok bool) {
	for {
		if len(q.open) > 0 {
			first := uint64(q.turn)<<32 | uint64(q.open[0])
			if len(q.heap) == 0 || first < q.heap[0] {
				q.open = q.open[1:]
				return q.turn, int32(first & 0x7fffffff), true
			}
		}
		if len(q.heap) > 0 {
			x := q.heap.pop()
			return uint32(x >> 32), int32(x & 0x7fffffff), true
		}
		if !q.openNext() {
			return 0, 0, false
		}
	}
}

// openNext opens the next bucket that holds something.
func (q *pairQueue) openNext() bool {
	if q.turn == noRank {
		return false
	}
	word := int(q.turn / 64)
	for ; word < len(q.filled) && q.filled[word] == 0; word++ {
	}
	if word == len(q.filled) {
		return false
	}
	bit := bits.TrailingZeros64(q.filled[word])
	q.filled[word] &^= 1 << bit
	q.turn = uint32(word*64 + bit)

	q.sorted = q.sorted[:0]
	for i := q.buckets[q.turn]; i != 0; i = q.entries[i-1].before {
		q.sorted = append(q.sorted, q.entries[i-1].at)
	}
	q.buckets[q.turn] = 0
	slices.Sort(q.sorted)
	q.open = q.sorted
	return true
}

// A pairHeap holds pairs as numbers, rank before position, with four children per node.
type pairHeap []uint64

func (h *pairHeap) push(x uint64) {
	s := append(*h, x)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if s[parent] <= x {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = x
	*h = s
}

func (h *pairHeap) pop() uint64 {
	s := *h
	top, last := s[0], len(s)-1
	x := s[last]
	s = s[:last]
	if last > 0 {
		s.sink(x)
	}
	*h = s
	return top
}

// sink puts x in the place of the first pair or below.
func (h pairHeap) sink(x uint64) {
	i := 0
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(h)); c++ {
			if h[c] < h[least] {
				least = c
			}
		}
		if h[least] >= x {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
}
