package message

import (
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
	var p pairing
	nearest := make(map[string]int) // trimmed call id to group
	for i := range ms {
		m := &ms[i]
		if m.Role == RoleToolResult {
			p.add(nearest, ms, i, wholeMessage)
			continue
		}
		if calls := callsOf(m); len(calls) > 0 {
			for _, c := range calls {
				nearest[c.key] = len(p.groups)
			}
			p.groups = append(p.groups, group{at: i, calls: calls})
		}
		for k := range m.Content {
			if isResult(m.Content[k].Type) {
				p.add(nearest, ms, i, k)
			}
		}
	}
	p.matchEarly(ms)
	return p
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

// add records the result at ms[i], or in its block, with the call that it answers.
func (p *pairing) add(nearest map[string]int, ms []Message, i, block int) {
	id, name := identify(ms[i], block)
	r := result{at: i, block: block, group: noGroup}
	if id == "" {
		r.group, r.call, r.guessed = p.adopt(name)
	} else if g, ok := nearest[id]; ok {
		r.group, r.call = g, p.free(ms, g, id, i, block)
	}
	if r.group != noGroup && r.call == unanswered {
		r.group = noGroup
	}
	if r.group == noGroup && block != wholeMessage && ms[i].Content[block].Type == blockToolResultSnake {
		return // its call is in a spelling that is not ours: not our business
	}
	if r.group != noGroup {
		p.groups[r.group].calls[r.call].result = len(p.results)
	}
	p.results = append(p.results, r)
}

// free returns the first unanswered call of a group with the id. A call answered by a
// stand-in is free for a real result.
func (p *pairing) free(ms []Message, g int, id string, at, block int) int {
	standIn := unanswered
	for k, c := range p.groups[g].calls {
		if c.key != id {
			continue
		}
		if c.result == unanswered {
			return k
		}
		if old := p.results[c.result]; standIn == unanswered && old.block == wholeMessage && IsMissingResult(ms[old.at]) {
			standIn = k
		}
	}
	if standIn == unanswered || block == wholeMessage && IsMissingResult(ms[at]) {
		return unanswered
	}
	p.results[p.groups[g].calls[standIn].result].group = noGroup
	return standIn
}

// adopt finds the call of the last group that a result without an id can answer: one
// without an id too, else the only one. The names must agree where both are known.
func (p *pairing) adopt(name string) (g, k int, guessed bool) {
	if len(p.groups) == 0 {
		return noGroup, 0, false
	}
	g = len(p.groups) - 1
	calls := p.groups[g].calls
	for k, c := range calls {
		if c.key == "" && c.result == unanswered && agree(c.name, name) {
			return g, k, false
		}
	}
	if len(calls) == 1 && calls[0].result == unanswered && agree(calls[0].name, name) {
		return g, 0, true
	}
	return noGroup, 0, false
}

func agree(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a == "" || b == "" || a == b
}

// matchEarly gives unanswered calls a result that was stored before them. Its time must
// be known and later than the call's: a result of an earlier use of the id is older.
func (p *pairing) matchEarly(ms []Message) {
	stray := make(map[string][]int)
	for i, r := range p.results {
		if id, _ := identify(ms[r.at], r.block); r.group == noGroup && id != "" {
			stray[id] = append(stray[id], i)
		}
	}
	if len(stray) == 0 {
		return
	}
	for g := range p.groups {
		asked := ms[p.groups[g].at].Timestamp
		for k := range p.groups[g].calls {
			c := &p.groups[g].calls[k]
			if c.result != unanswered || asked.IsZero() {
				continue
			}
			for _, i := range stray[c.key] {
				r := &p.results[i]
				if r.group == noGroup && r.at < p.groups[g].at && ms[r.at].Timestamp.After(asked) {
					r.group, r.call, c.result = g, k, i
					break
				}
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
