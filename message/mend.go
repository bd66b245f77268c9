package message

import (
	"slices"
	"strings"
)

// A mender rebuilds one list. plan decides where everything goes, emit does it.
type mender struct {
	ms   []Message
	opts RepairOptions
	p    pairing

	fates  []fate  // of messages
	placed []bool  // of results: it stays where it is
	firsts []int   // of messages: the first result in it
	groups []int   // of messages: the group that starts there, noGroup
	runs   [][]int // of groups: messages of results that already follow
	mixed  []int   // of groups: the message behind them that holds results and more
	done   Repair
}

type fate uint8

const (
	stays   fate = iota // emitted at its place, perhaps with fewer blocks
	grouped             // emitted behind its call
	gone
)

// nothing is the index of no message.
const nothing = -1

func newMender(ms []Message, o RepairOptions) *mender {
	p := match(ms)
	md := &mender{
		ms: ms, opts: o, p: p,
		fates:  make([]fate, len(ms)),
		placed: make([]bool, len(p.results)),
		firsts: slices.Repeat([]int{nothing}, len(ms)),
		groups: slices.Repeat([]int{noGroup}, len(ms)),
		runs:   make([][]int, len(p.groups)),
		mixed:  slices.Repeat([]int{nothing}, len(p.groups)),
	}
	for i := len(p.results) - 1; i >= 0; i-- {
		md.firsts[p.results[i].at] = i
	}
	for g := range p.groups {
		md.groups[p.groups[g].at] = g
	}
	return md
}

// resultsIn returns the range of results that are in ms[i].
func (md *mender) resultsIn(i int) (from, to int) {
	from = md.firsts[i]
	if from == nothing {
		return 0, 0
	}
	to = from
	for to < len(md.p.results) && md.p.results[to].at == i {
		to++
	}
	return from, to
}

func (md *mender) plan() {
	for g := range md.p.groups {
		if at := md.p.groups[g].at; md.opts.FailedTurns == FailedTurnsDrop && md.ms[at].Failed() {
			md.dropTurn(g)
		}
	}
	for i := range md.p.results {
		if r := &md.p.results[i]; r.block == wholeMessage {
			md.fates[r.at] = grouped
			if r.group == noGroup { // behind nothing, so it is gone
				md.done.DroppedResults++
			}
		} else if r.group == noGroup {
			md.done.DroppedBlocks++
		}
	}
	for g := range md.p.groups {
		if md.fates[md.p.groups[g].at] != gone {
			md.follow(g)
		}
	}
}

func (md *mender) dropTurn(g int) {
	md.fates[md.p.groups[g].at] = gone
	md.done.DroppedTurns++
	for _, c := range md.p.groups[g].calls {
		if c.result != unanswered {
			md.p.results[c.result].group = noGroup
		}
	}
}

// follow marks the results of a group that already stand behind it. What will go from
// between them is no obstacle. An assistant message cannot carry another one's results.
func (md *mender) follow(g int) {
	at := md.p.groups[g].at
	md.place(g, at)
	for i := at + 1; i < len(md.ms); i++ {
		own, others := md.contents(g, i)
		inPlace := own && md.ms[i].Role != RoleAssistant
		if inPlace {
			md.place(g, i)
		}
		switch {
		case inPlace && others:
			md.mixed[g] = i
			return
		case others:
			return
		case inPlace:
			md.runs[g] = append(md.runs[g], i)
		}
	}
}

// contents reports whether ms[i] has results of the group, and whether anything else will
// stay at this place.
func (md *mender) contents(g, i int) (own, others bool) {
	if md.fates[i] == gone {
		return false, false
	}
	from, to := md.resultsIn(i)
	for _, r := range md.p.results[from:to] {
		own = own || md.fits(r, g)
	}
	if md.ms[i].Role == RoleToolResult {
		return own, false
	}
	return own, to == from || len(md.ms[i].Content) > to-from
}

// place marks the group's results in ms[i] as well placed.
func (md *mender) place(g, i int) {
	from, to := md.resultsIn(i)
	for k := from; k < to; k++ {
		md.placed[k] = md.fits(md.p.results[k], g)
	}
	if i != md.p.groups[g].at && to > from {
		md.fates[i] = grouped
	}
}

// fits reports whether a result can stay in a message of or behind the group. A block that
// does not have what it pairs by as the call spells it cannot: it becomes a message, which
// gets it. A provider's own spelling of a block may have the id under a key of its own.
func (md *mender) fits(r result, g int) bool {
	if r.group != g || r.block == wholeMessage {
		return r.group == g
	}
	c := &md.p.groups[g].calls[r.call]
	if c.key == "" && r.name == "" {
		return false
	}
	b := &md.ms[r.at].Content[r.block]
	return b.ID == c.id || b.Type == blockToolResultSnake && r.id == c.id
}

func (md *mender) emit() []Message {
	out := make([]Message, 0, len(md.ms)+len(md.p.groups))
	for i := range md.ms {
		if md.fates[i] != stays {
			continue
		}
		m, ok := md.stripped(i)
		if ok {
			out = append(out, m)
		}
		if g := md.groups[i]; g != noGroup {
			out = md.emitResults(out, g)
		}
	}
	return out
}

// emitResults appends what follows a group: the results in place, those moved here, the
// stand-ins, and last the message that holds more than results.
func (md *mender) emitResults(out []Message, g int) []Message {
	grp := &md.p.groups[g]
	for _, i := range md.runs[g] {
		if md.ms[i].Role == RoleToolResult {
			out = append(out, md.filled(md.firsts[i]))
		} else if m, ok := md.stripped(i); ok {
			out = append(out, m)
		}
	}
	keepOpen := md.opts.KeepOpenTail && md.isTail(g) ||
		md.opts.FailedTurns == FailedTurnsKeep && md.ms[grp.at].Failed()
	for _, c := range grp.calls {
		switch {
		case c.result == unanswered && keepOpen:
		case c.result == unanswered:
			out = append(out, standIn(md.ms[grp.at], c, md.opts.MissingText))
			md.done.AddedResults++
		case !md.placed[c.result]:
			out = append(out, md.filled(c.result))
			md.done.MovedResults++
		}
	}
	if md.mixed[g] != nothing {
		if m, ok := md.stripped(md.mixed[g]); ok {
			out = append(out, m)
		}
	}
	return out
}

// isTail reports whether nothing but its results will stand behind a group.
func (md *mender) isTail(g int) bool {
	for i := md.p.groups[g].at + 1; i < len(md.ms); i++ {
		if _, others := md.contents(g, i); others && i != md.mixed[g] {
			return false
		}
	}
	return true
}

// stripped returns ms[i] without the result blocks that go elsewhere; false when nothing
// is left of it.
func (md *mender) stripped(i int) (Message, bool) {
	from, to := md.resultsIn(i)
	leaving := 0
	for k := from; k < to; k++ {
		if !md.placed[k] {
			leaving++
		}
	}
	m := md.ms[i]
	if leaving == 0 {
		return m, true
	}
	if leaving == len(m.Content) {
		return m, false
	}
	rest := make([]Block, 0, len(m.Content)-leaving)
	for k, b := range m.Content {
		if from < to && md.p.results[from].block == k {
			from++
			if !md.placed[from-1] {
				continue
			}
		}
		rest = append(rest, b)
	}
	m.Content = rest
	return m, true
}

// filled returns a result as a message with the id and name of its call.
func (md *mender) filled(k int) Message {
	r := md.p.results[k]
	c := md.p.groups[r.group].calls[r.call]
	guessed := md.p.guessed(r)
	m := md.ms[r.at]
	if r.block != wholeMessage {
		m = resultMessage(m, r.block)
		m.ToolCallID, m.ToolName = c.id, toolName(m.ToolName, c.name)
		m.IsError = m.IsError || guessed
		return m
	}
	name := toolName(m.ToolName, c.name)
	if m.ToolCallID != c.id || m.ToolName != name {
		m.ToolCallID, m.ToolName = c.id, name
		m.IsError = m.IsError || guessed
		md.done.FilledResults++
	}
	return m
}

// toolName is the name of a result's tool, from the result or the trimmed name of its call;
// the last resort is OpenClaw's.
func toolName(own, called string) string {
	if own = strings.TrimSpace(own); own != "" {
		return own
	}
	if called != "" {
		return called
	}
	return "unknown"
}
