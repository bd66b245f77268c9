package bpe

// A node is a part of a long piece, named by the index of its first byte.
type node struct {
	prev, next int32
	rank       uint32 // of the pair with the next part
}

// mergeLong does what mergeShort does with a queue of pairs. A queued pair whose node
// has another rank by now is stale and skipped.
func (v *vocabulary) mergeLong(p string, sc *scratch) int {
	v.queueBytes(p, sc)
	nodes := sc.nodes
	end := int32(len(p))
	n := len(p)
	for {
		rank, at, ok := sc.queue.pop()
		if !ok {
			return n
		}
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
}

// queueBytes makes every byte a part and queues the pairs that are tokens.
func (v *vocabulary) queueBytes(p string, sc *scratch) {
	if cap(sc.nodes) <= len(p) {
		sc.nodes = make([]node, len(p)+1)
	}
	sc.nodes = sc.nodes[:len(p)+1]
	sc.queue.reset(len(v.start), len(p))
	for i := range sc.nodes {
		n := node{int32(i) - 1, int32(i) + 1, noRank}
		if i+1 < len(p) {
			n.rank = v.two[int(p[i])<<8|int(p[i+1])] - 1
		}
		if n.rank != noRank {
			sc.queue.push(n.rank, int32(i))
		}
		sc.nodes[i] = n
	}
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
		sc.queue.push(n.rank, i)
	}
}
