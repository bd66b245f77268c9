package message

import "iter"

// A Unit is a run of messages that is kept or dropped whole: one message, or an assistant
// message with the results of its calls and whatever stands between them.
type Unit struct {
	// Start and End are the half-open range in the list.
	Start, End int
	// Open reports that a call of the unit has no result yet.
	Open bool
}

// Units yields the units of ms in order; they cover the list without gaps. The list need
// not be well formed: a result that stands apart from its call stretches the unit as far
// as it takes, a result without a call is a unit of its own. One pass, and for a well
// formed list without allocation.
func Units(ms []Message) iter.Seq[Unit] {
	return func(yield func(Unit) bool) {
		if inspect(ms) == untidy {
			yieldMerged(ms, yield)
			return
		}
		for i := 0; i < len(ms); {
			calls, _ := countCalls(&ms[i])
			end, answered := runOf(ms, i, calls)
			if !yield(Unit{Start: i, End: end, Open: answered < calls}) {
				return
			}
			i = end
		}
	}
}

// yieldMerged yields the units of a list in which results may stand anywhere.
func yieldMerged(ms []Message, yield func(Unit) bool) {
	p := match(ms)
	reach := make([]int, len(ms)) // from here to where a group goes, -1: nowhere
	open := make([]bool, len(ms))
	for _, g := range p.groups {
		first, last := g.at, g.at
		for _, c := range g.calls {
			if c.result == unanswered {
				open[g.at] = true
				continue
			}
			first = min(first, p.results[c.result].at)
			last = max(last, p.results[c.result].at)
		}
		reach[first] = max(reach[first], last)
	}
	for i := 0; i < len(ms); {
		u := Unit{Start: i, End: i + 1}
		for j := i; j < u.End; j++ {
			u.End = max(u.End, reach[j]+1)
			u.Open = u.Open || open[j]
		}
		if !yield(u) {
			return
		}
		i = u.End
	}
}

// Tail returns the shortest end of ms that has at least n messages and starts with a
// whole unit, so it may be longer than n. It is ms itself when that has no more than n
// messages, and empty for n ≤ 0. The result is a part of ms.
func Tail(ms []Message, n int) []Message {
	return ms[SafeCut(ms, len(ms)-max(n, 0)):]
}

// SafeCut moves a cut before ms[i] back to the start of a unit: it returns the largest
// index ≤ i at which ms can be cut without parting a call from its results. An index
// outside the list is first moved to its nearer end. Each call looks through the list; to
// weigh many cuts walk [Units] once.
func SafeCut(ms []Message, i int) int {
	if i >= len(ms) {
		return len(ms)
	}
	cut := 0
	for u := range Units(ms) {
		if u.Start > i {
			break
		}
		cut = u.Start
	}
	return cut
}

// SafeCutAfter is SafeCut in the other direction: it returns the smallest index ≥ i.
func SafeCutAfter(ms []Message, i int) int {
	if i <= 0 {
		return 0
	}
	for u := range Units(ms) {
		if u.End >= i {
			return u.End
		}
	}
	return len(ms)
}
