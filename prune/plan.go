package prune

import (
	"slices"

	"github.com/go-contextengine/contextengine/message"
)

// A shrink is what an aggregate plan does to one tool result.
type shrink struct {
	at    int
	limit int  // characters that its texts may have
	drop  bool // the texts go, and a note of at most limit characters stays
	even  bool // several texts share the limit evenly, as in fitResult
}

// A shrinker plans how the tool results of a list come within a bound.
type shrinker struct {
	ms     []message.Message
	sizes  []int // text lengths, 0 for what may not be touched
	noteOf func(i int) notice
	// least is what a dropped result keeps of the note that says so.
	least int
	// even shares room evenly among the texts of a result and leaves notes whole, where
	// OpenClaw shares by length and cuts notes to the length of the shortest.
	even bool
	// worth is asked before a message is changed. Optional.
	worth func(i int, after message.Message) bool
}

// plan frees at least need characters where it can, oldest first: each result is cut to
// its notice, and where that is not enough the notices are dropped too, as in OpenClaw
// 2026.7.1. done is false when something is still missing.
func (k *shrinker) plan(need int) (plan []shrink, done bool) {
	size := slices.Clone(k.sizes)
	for _, drop := range []bool{false, true} {
		for i := 0; i < len(k.ms) && need > 0; i++ {
			if size[i] == 0 {
				continue
			}
			s, left := k.step(i, size[i], need, drop)
			if left >= size[i] {
				continue
			}
			plan = append(plan, s)
			need -= size[i] - left
			size[i] = left
		}
	}
	return plan, need <= 0
}

// step is what can be done to one message, and the length that remains.
func (k *shrinker) step(i, size, need int, drop bool) (shrink, int) {
	note, floor := k.noteOf(i), k.least
	switch {
	case !drop && k.even: // the whole note: it says where all of the text is
		floor = unitLen(note.text(textLen(&k.ms[i])))
	case !drop:
		floor = note.floor()
	}
	s := shrink{at: i, limit: max(floor, size-need), drop: drop, even: k.even}
	if s.limit >= size {
		return s, size
	}
	m := s.apply(k.ms[i], note)
	if k.worth != nil && !k.worth(i, m) {
		return s, size
	}
	return s, textLen(&m)
}

// apply returns the shrunk message.
func (s shrink) apply(m message.Message, note notice) message.Message {
	if !s.drop && s.even {
		return fitResult(m, s.limit, 0, note)
	}
	if !s.drop {
		return capResult(m, s.limit, 0, note)
	}
	return withOneText(m, head(droppedNotice(note.entry), s.limit))
}

func droppedNotice(entry string) string {
	if entry == "" {
		return droppedText
	}
	return "[tool output dropped; all of it is entry " + entry + "]"
}

// A Reduction says how much of a list is tool results and how much could go.
type Reduction struct {
	MaxChars       int // cap of one result
	AggregateChars int // bound of all results together
	Results        int // results with text
	TotalChars     int // their texts
	Oversized      int // results above MaxChars
	Shortened      int // results that the aggregate bound shortens or drops
	// Exceeded says that the results were above the aggregate bound after cutting each.
	Exceeded bool

	// OversizedChars and AggregateReducible are what cutting to the cap frees, and what
	// the aggregate bound frees after that.
	OversizedChars     int
	AggregateReducible int
}

// Reducible is all that could go, in UTF-16 units.
func (r Reduction) Reducible() int { return r.OversizedChars + r.AggregateReducible }

// Measure says what [Shorten] would do to ms.
func Measure(ms []message.Message, in Input, opts *ToolResultOptions) Reduction {
	_, r := Shorten(ms, in, opts)
	return r
}

// Reducible is how many UTF-16 units of text would go if tool results were cut as far as
// needed for their default caps. Drivers choose by it between cutting results, which costs
// nothing, and a compaction.
func Reducible(ms []message.Message, in Input) (chars int) {
	return Measure(ms, in, nil).Reducible()
}

// Shorten cuts the tool results of ms to the caps of opts, with no minimum of what is kept:
// each to the cap of one, then the oldest ones until all together are within the aggregate
// bound. It is what a driver does when a request did not fit; [ToolResults] is the pass for
// every request. It returns ms itself when nothing was too long. The notes name the
// messages' keys, so the whole texts must be stored under them.
func Shorten(ms []message.Message, in Input, opts *ToolResultOptions) ([]message.Message, Reduction) {
	s := shortener{ms: ms, out: ms, sizes: make([]int, len(ms))}
	s.MaxChars, s.AggregateChars = opts.MaxResultChars(in.Window), opts.MaxAggregateChars(in.Window)
	for i := range ms {
		s.capOne(i)
	}
	s.capAll()
	return s.out, s.Reduction
}

// A shortener is one run of Shorten.
type shortener struct {
	Reduction

	ms, out []message.Message
	sizes   []int // text lengths of the results in out
	copied  bool
}

func (s *shortener) set(i int, m message.Message) {
	if !s.copied {
		s.out, s.copied = slices.Clone(s.ms), true
	}
	s.out[i] = m
}

// capOne cuts a result to the cap of one.
func (s *shortener) capOne(i int) {
	m := s.ms[i]
	if m.Role != message.RoleToolResult {
		return
	}
	n := textLen(&m)
	if n == 0 {
		return
	}
	s.Results++
	s.TotalChars += n
	if n > s.MaxChars {
		m = capResult(m, s.MaxChars, 0, notice{entry: m.Key})
		s.set(i, m)
		s.Oversized++
		s.OversizedChars += n - textLen(&m)
	}
	s.sizes[i] = textLen(&m)
}

// capAll keeps the bound of all results. A single one is none of its business.
func (s *shortener) capAll() {
	need := s.TotalChars - s.OversizedChars - s.AggregateChars
	if s.Results < 2 || need <= 0 {
		return
	}
	s.Exceeded = true
	current := slices.Clone(s.out)
	k := shrinker{ms: current, sizes: s.sizes, noteOf: noteChooser(current, s.sizes, s.AggregateChars), least: leastDropped}
	plan, _ := k.plan(need)
	touched := make(map[int]bool)
	for _, step := range plan {
		s.set(step.at, step.apply(current[step.at], k.noteOf(step.at)))
		touched[step.at] = true
	}
	s.Shortened = len(touched)
	for i := range touched {
		s.AggregateReducible += s.sizes[i] - textLen(&s.out[i])
	}
}

// noteChooser gives the notice for each message: the brief one for all of them when the
// others alone would exceed the bound.
func noteChooser(ms []message.Message, sizes []int, bound int) func(i int) notice {
	total := 0
	for i, n := range sizes {
		if n > 0 {
			total += notice{entry: ms[i].Key}.floor()
		}
	}
	brief := bound < total
	return func(i int) notice { return notice{entry: ms[i].Key, brief: brief} }
}
