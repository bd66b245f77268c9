package message

import (
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// A pairing says which result answers which call in a list.
type pairing struct {
	groups  []group
	results []result // in list order
}

// A group is an assistant message with calls.
type group struct {
	at    int
	calls []call
}

type call struct {
	id, name string
	key      string // id without surrounding space, by which it is matched
	result   int    // index in results; unanswered when there is none
}

// A result answers a call, or none.
type result struct {
	at    int // message
	block int // wholeMessage, or the block that is the result
	group int // index in groups; noGroup when it answers nothing
	call  int
	// guessed: it has no id and was taken for the answer to the only call there was.
	guessed bool
}

const (
	unanswered   = -1
	noGroup      = -1
	wholeMessage = -1
)

// tidy is the state of a list in which every result stands where it belongs.
type tidy uint8

const (
	untidy     tidy = iota // a look at the details is needed
	tidyOpen               // a group before the last unit lacks results
	tidyTail               // only the last unit lacks results
	tidyClosed             // every call has its result
)

// inspect recognises the lists that need no work, which is nearly all of them, without
// allocating. In doubt it says untidy.
func inspect(ms []Message) tidy {
	state := tidyClosed
	for i := 0; i < len(ms); {
		if state == tidyTail {
			state = tidyOpen
		}
		calls, plain := census(&ms[i])
		if !plain || ms[i].Role == RoleToolResult {
			return untidy
		}
		end, answered, ok := runOf(ms, i, calls)
		if !ok {
			return untidy
		}
		if answered < calls && state == tidyClosed {
			state = tidyTail
		}
		i = end
	}
	return state
}

// maxFastCalls is how many calls of one message inspect follows: one bit each.
const maxFastCalls = 64

// census counts the calls of an assistant message. plain is false for a message with
// result blocks, which inspect does not follow.
func census(m *Message) (calls int, plain bool) {
	for i := range m.Content {
		switch m.Content[i].Type {
		case BlockToolCall, blockToolUse, blockFunctionCall:
			if m.Role == RoleAssistant {
				calls++
			}
		case BlockToolResult, blockToolResultSnake:
			return calls, m.Role == RoleToolResult
		}
	}
	return calls, true
}

// runOf follows the results behind ms[i], which has the given number of calls. ok is false
// when one of them is not exactly the first answer to one of these calls.
func runOf(ms []Message, i, calls int) (end, answered int, ok bool) {
	var seen uint64
	end = i + 1
	for ; end < len(ms) && ms[end].Role == RoleToolResult; end++ {
		r := &ms[end]
		if calls == 0 || calls > maxFastCalls || r.ToolCallID == "" || r.ToolName == "" || isPadded(r.ToolName) {
			return end, answered, false
		}
		bit := uint64(0)
		for k, mask := 0, uint64(1); k < len(ms[i].Content); k++ {
			b := &ms[i].Content[k]
			if !isCall(b.Type) {
				continue
			}
			if b.ID == r.ToolCallID && seen&mask == 0 {
				bit = mask
				break
			}
			mask <<= 1
		}
		if bit == 0 {
			return end, answered, false
		}
		seen |= bit
		answered++
	}
	return end, answered, true
}

func isPadded(s string) bool {
	return strings.TrimSpace(s) != s
}

// match pairs the results of a list with its calls. A result belongs to the nearest group
// before it that has its id, because ids recur; a group's earlier results win.
func match(ms []Message) pairing {
	mt := matcher{ms: ms, nearest: make(map[string]*askers)}
	for i := range ms {
		m := &ms[i]
		if m.Role == RoleToolResult {
			mt.answer(i, wholeMessage)
			continue
		}
		mt.ask(i)
		for k := range m.Content {
			if isResult(m.Content[k].Type) {
				mt.answer(i, k)
			}
		}
	}
	mt.matchEarly()
	return mt.pairing
}

// A matcher is the state of match.
type matcher struct {
	pairing

	ms      []Message
	nearest map[string]*askers // by trimmed call id
}

// askers are the calls of one group with the same id. Each list is in call order.
type askers struct {
	group    int
	waiting  []int // without a result
	standIns []int // answered by a stand-in or a guess, which a real result replaces
}

// ask opens the group of an assistant message with calls.
func (mt *matcher) ask(i int) {
	calls := callsOf(&mt.ms[i])
	if len(calls) == 0 {
		return
	}
	g := len(mt.groups)
	mt.groups = append(mt.groups, group{at: i, calls: calls})
	for k, c := range calls {
		a := mt.nearest[c.key]
		if a == nil || a.group != g {
			a = &askers{group: g}
			mt.nearest[c.key] = a
		}
		a.waiting = append(a.waiting, k)
	}
}

func callsOf(m *Message) []call {
	if m.Role != RoleAssistant {
		return nil
	}
	var calls []call
	for k := range m.Content {
		if b := &m.Content[k]; isCall(b.Type) {
			calls = append(calls, call{id: b.ID, name: b.Name, key: strings.TrimSpace(b.ID), result: unanswered})
		}
	}
	return calls
}

// answer records the result at ms[i], or in its block, with the call that it answers.
func (mt *matcher) answer(i, block int) {
	id, name := identify(mt.ms[i], block)
	r := result{at: i, block: block, group: noGroup}
	if id == "" {
		r.group, r.call, r.guessed = mt.adopt(name)
	} else {
		r.group, r.call = mt.take(id, block == wholeMessage && IsMissingResult(mt.ms[i]))
	}
	if r.group == noGroup && block != wholeMessage && mt.ms[i].Content[block].Type == blockToolResultSnake {
		return // its call is in a spelling that is not ours: not our business
	}
	if r.group != noGroup {
		mt.groups[r.group].calls[r.call].result = len(mt.results)
	}
	mt.results = append(mt.results, r)
}

// take returns the call that the next result with an id answers, noGroup when there is
// none left. A real result may take the place of a stand-in or a guess.
func (mt *matcher) take(id string, standIn bool) (g, k int) {
	a := mt.nearest[id]
	switch {
	case a == nil:
		return noGroup, 0
	case len(a.waiting) > 0:
		k, a.waiting = a.waiting[0], a.waiting[1:]
		if standIn {
			a.standIns = append(a.standIns, k)
		}
		return a.group, k
	case !standIn && len(a.standIns) > 0:
		k, a.standIns = a.standIns[0], a.standIns[1:]
		mt.results[mt.groups[a.group].calls[k].result].group = noGroup
		return a.group, k
	}
	return noGroup, 0
}

// adopt finds the call of the last group that a result without an id can answer: one
// without an id too, else the only one. The names must agree where both are known.
func (mt *matcher) adopt(name string) (g, k int, guessed bool) {
	if len(mt.groups) == 0 {
		return noGroup, 0, false
	}
	g = len(mt.groups) - 1
	calls := mt.groups[g].calls
	for k, c := range calls {
		if c.result == unanswered && c.key == "" && agree(c.name, name) {
			return g, k, false
		}
	}
	if len(calls) != 1 || calls[0].result != unanswered || !agree(calls[0].name, name) {
		return noGroup, 0, false
	}
	a := mt.nearest[calls[0].key]
	a.waiting, a.standIns = nil, append(a.standIns, 0) // a result with the id is better than a guess
	return g, 0, true
}

func agree(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a == "" || b == "" || a == b
}

// matchEarly gives unanswered calls a result that was stored before them. Its time must
// be known and later than the call's: a result of an earlier use of the id is older. The
// stray result nearest before the call is looked at, and each only once.
func (mt *matcher) matchEarly() {
	isStray := func(r result) bool { return r.group == noGroup }
	if !slices.ContainsFunc(mt.results, isStray) {
		return
	}
	strays := make(map[string][]int) // by id, the nearest last
	next := 0
	for g := range mt.groups {
		grp := &mt.groups[g]
		for ; next < len(mt.results) && mt.results[next].at < grp.at; next++ {
			r := mt.results[next]
			if id, _ := identify(mt.ms[r.at], r.block); isStray(r) && id != "" {
				strays[id] = append(strays[id], next)
			}
		}
		asked := mt.ms[grp.at].Timestamp
		for k := range grp.calls {
			c := &grp.calls[k]
			before := strays[c.key]
			if c.result != unanswered || len(before) == 0 {
				continue
			}
			last := before[len(before)-1]
			strays[c.key] = before[:len(before)-1]
			if r := &mt.results[last]; !asked.IsZero() && mt.ms[r.at].Timestamp.After(asked) {
				r.group, r.call, c.result = g, k, last
			}
		}
	}
}

func isCall(t BlockType) bool {
	return t == BlockToolCall || t == blockToolUse || t == blockFunctionCall
}

func isResult(t BlockType) bool {
	return t == BlockToolResult || t == blockToolResultSnake
}

// identify returns the trimmed call id and the tool name of a result. Besides the typed
// fields it knows the spellings that providers and older logs use.
func identify(m Message, block int) (id, name string) {
	if block == wholeMessage {
		if id = strings.TrimSpace(m.ToolCallID); id == "" && m.Extra != nil {
			id = m.firstID("toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id")
		}
		return id, m.ToolName
	}
	b := &m.Content[block]
	if id = strings.TrimSpace(b.ID); id == "" && b.Extra != nil {
		alias := Message{Extra: b.Extra}
		id = alias.firstID("toolCallId", "toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id", "id")
	}
	return id, b.Name
}

func (m Message) firstID(keys ...string) string {
	for _, key := range keys {
		if s, _ := jsonx.String(m.Extra[key]); strings.TrimSpace(s) != "" {
			return strings.TrimSpace(s)
		}
	}
	return ""
}
