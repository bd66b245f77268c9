package bpe

import "math"

// noRank is larger than every id: the pair is no token.
const noRank = math.MaxUint32

// shortPiece is the length in bytes up to which scanning all pairs again after each
// merge is faster than a queue.
const shortPiece = 64

// maxPooledPiece is the longest piece, in bytes, whose scratch space is kept.
const maxPooledPiece = 256 << 10

// scratch is the working memory of merge.
type scratch struct {
	n      int // tokens of a short piece
	starts [shortPiece + 2]uint8
	ranks  [shortPiece + 2]uint32

	nodes []node // when the piece was long
	queue pairQueue
	long  bool
	out   []string
}

func (sc *scratch) large() bool {
	return cap(sc.nodes) > maxPooledPiece+1
}

// merge splits a piece that is no token itself and returns the number of tokens.
func (v *vocabulary) merge(piece string, sc *scratch) int {
	if sc.long = len(piece) > shortPiece; sc.long {
		return v.mergeLong(piece, sc)
	}
	return v.mergeShort(piece, sc)
}

// cuts returns the tokens of the piece that was merged last.
func (sc *scratch) cuts(piece string) []string {
	sc.out = sc.out[:0]
	if sc.long {
		for i := int32(0); int(i) < len(piece); i = sc.nodes[i].next {
			sc.out = append(sc.out, piece[i:sc.nodes[i].next])
		}
		return sc.out
	}
	for i := range sc.n {
		sc.out = append(sc.out, piece[sc.starts[i]:sc.starts[i+1]])
	}
	return sc.out
}

// mergeShort keeps the start of each part and the rank of the pair that starts there,
// and merges the leftmost pair of the lowest rank until no pair is a token.
func (v *vocabulary) mergeShort(p string, sc *scratch) int {
	starts, ranks := &sc.starts, &sc.ranks
	n := len(p)
	for i := range n - 1 {
		starts[i] = uint8(i)
		ranks[i] = v.two[int(p[i])<<8|int(p[i+1])] - 1 // no token wraps around to noRank
	}
	starts[n-1], starts[n], ranks[n-1] = uint8(n-1), uint8(n), noRank
	for {
		best, at := uint32(noRank), 0
		for i, r := range ranks[:n-1] {
			if r < best {
				best, at = r, i
			}
		}
		if best == noRank {
			sc.n = n
			return n
		}
		copy(starts[at+1:n], starts[at+2:n+1])
		copy(ranks[at+1:n-1], ranks[at+2:n])
		n--
		if at+1 < n {
			ranks[at] = v.rank(p[starts[at]:starts[at+2]]) - 1
		}
		if at > 0 {
			ranks[at-1] = v.rank(p[starts[at-1]:starts[at+1]]) - 1
		}
	}
}
