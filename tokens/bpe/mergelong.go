package bpe

// A node is a part of a long piece, named by the index of its first byte.
type node struct {
	prev, next int32
	rank       uint32 // of the pair with the next part
}

// mergeLong does what mergeShort does with a queue of pairs, in n log n. A queued pair
// whose node has another rank by now is stale and skipped.
func (v *vocabulary) mergeLong(p string, sc *scratch) int {
	v.queueBytes(p, sc)
	nodes := sc.nodes
	end := int32(len(p))
	n := len(p)
	for len(sc.queue) > 0 {
		rank, at := sc.queue.pop()
		if nodes[at].rank != rank {
			continue
		}
		n--
		gone := nodes[at].next
		after := nodes[gone].next
		nodes[gone].rank = noRank
		nodes[at].next = after
		nodes[after].prev = at
		v.queuePair(p, sc, at, end)
		if before := nodes[at].prev; before >= 0 {
			v.queuePair(p, sc, before, end)
		}
	}
	return n
}

// queueBytes makes every byte a part and queues the pairs that are tokens.
func (v *vocabulary) queueBytes(p string, sc *scratch) {
	if cap(sc.nodes) <= len(p) {
		sc.nodes = make([]node, len(p)+1)
		sc.queue = make(pairQueue, 0, len(p)+len(p)/2)
	}
	sc.nodes, sc.queue = sc.nodes[:len(p)+1], sc.queue[:0]
	for i := range sc.nodes {
		n := node{int32(i) - 1, int32(i) + 1, noRank}
		if i+1 < len(p) {
			n.rank = v.two[int(p[i])<<8|int(p[i+1])] - 1
		}
		if n.rank != noRank {
			sc.queue = append(sc.queue, pair(n.rank, int32(i)))
		}
		sc.nodes[i] = n
	}
	sc.queue.order()
}

// queuePair ranks the pair that starts at i and queues it if it is a token.
func (v *vocabulary) queuePair(p string, sc *scratch, i, end int32) {
	n := &sc.nodes[i]
	n.rank = noRank
	if n.next == end {
		return
	}
	if r := v.rank(p[i:sc.nodes[n.next].next]); r != 0 {
		n.rank = r - 1
		sc.queue.push(pair(n.rank, i))
	}
}

// A pairQueue is a heap of four children per node: lowest rank first, then leftmost.
type pairQueue []uint64

// pair puts rank before position, so that comparing two pairs is comparing numbers.
func pair(rank uint32, at int32) uint64 { return uint64(rank)<<32 | uint64(at) }

func (q *pairQueue) push(x uint64) {
	h := append(*q, x)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if h[parent] <= x {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
	*q = h
}

func (q *pairQueue) pop() (rank uint32, at int32) {
	h := *q
	top, last := h[0], len(h)-1
	x := h[last]
	*q = h[:last]
	if last > 0 {
		h[:last].sink(0, x)
	}
	return uint32(top >> 32), int32(top & 0x7fffffff)
}

func (q pairQueue) order() {
	for i := (len(q) - 2) / 4; i >= 0 && len(q) > 1; i-- {
		q.sink(i, q[i])
	}
}

// sink puts x at i or below.
func (q pairQueue) sink(i int, x uint64) {
	for {
		child := 4*i + 1
		if child >= len(q) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(q)); c++ {
			if q[c] < q[least] {
				least = c
			}
		}
		if q[least] >= x {
			break
		}
		q[i] = q[least]
		i = least
	}
	q[i] = x
}
