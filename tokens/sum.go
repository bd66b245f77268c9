package tokens

import "math"

// sum adds counts. A sum beyond the range of int is the largest or least int, so that a
// broken report never turns a full context into an empty one.
func sum(counts ...int) int {
	total := 0
	for _, n := range counts {
		switch {
		case n > 0 && total > math.MaxInt-n:
			total = math.MaxInt
		case n < 0 && total < math.MinInt-n:
			total = math.MinInt
		default:
			total += n
		}
	}
	return total
}

// ceilDiv divides and rounds up; n is not negative.
func ceilDiv(n, d int) int { return (n + d - 1) / d }
