package message

import (
	"encoding/json"
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
	at         int
	calls      []call
	candidates []int // results that ask for one of the calls, in list order
}

type call struct {
	id, name string
	key      string // id without surrounding space
	block    int    // in the group's message
	result   int    // index in results; unanswered when there is none
}

// A result answers a call, or none.
type result struct {
	at    int // message
	block int // wholeMessage, or the block that is the result
	group int // index in groups; noGroup when it answers nothing
	call  int

	id, key string // as it is spelled, and without surrounding space
	name    string // without surrounding space
	standIn bool
}

const (
	unanswered   = -1
	noGroup      = -1
	wholeMessage = -1
)

// guessed reports whether a result has no id and was taken for the answer to the only call
// there was.
func (p *pairing) guessed(r result) bool {
	return r.group != noGroup && r.key == "" && p.groups[r.group].calls[r.call].key != ""
}

func (p *pairing) assign(i, g, k int) {
	p.results[i].group, p.results[i].call = g, k
	p.groups[g].calls[k].result = i
}

// match pairs the results of a list with its calls. A result asks the nearest group before
// it that has its id, because ids recur; settle says who wins.
func match(ms []Message) pairing {
	mt := matcher{ms: ms, nearest: make(map[string]int)}
	for i := range ms {
		m := &ms[i]
		if m.Role == RoleToolResult {
			mt.addResult(i, wholeMessage)
			continue
		}
		for k := range m.Content {
			switch t := m.Content[k].Type; {
			case m.Role == RoleAssistant && isCall(t):
				mt.addCall(i, k)
			case isResult(t):
				mt.addResult(i, k)
			}
		}
	}
	for g := range mt.groups {
		mt.settle(g, mt.groups[g].candidates)
	}
	mt.matchEarly()
	return mt.pairing
}

// A matcher is the state of match.
type matcher struct {
	pairing

	ms      []Message
	nearest map[string]int // the last group with a call of that key
}

// addCall adds the call in a block to the group of its message.
func (mt *matcher) addCall(i, block int) {
	g := len(mt.groups) - 1
	if g < 0 || mt.groups[g].at != i {
		mt.groups = append(mt.groups, group{at: i})
		g++
	}
	b := &mt.ms[i].Content[block]
	c := call{id: b.ID, name: strings.TrimSpace(b.Name), key: strings.TrimSpace(b.ID), block: block, result: unanswered}
	mt.groups[g].calls = append(mt.groups[g].calls, c)
	mt.nearest[c.key] = g
}

// addResult adds the result at ms[i], or in its block, to the candidates of its group.
// Without an id that is the last group.
func (mt *matcher) addResult(i, block int) {
	m := &mt.ms[i]
	id, name := identify(m, block)
	r := result{
		at: i, block: block, group: noGroup,
		id: id, key: strings.TrimSpace(id), name: strings.TrimSpace(name),
	}
	g, ok := len(mt.groups)-1, len(mt.groups) > 0
	if r.key != "" {
		g, ok = mt.nearest[r.key]
	}
	if block == wholeMessage {
		r.standIn = IsMissingResult(*m)
	} else if m.Content[block].Type == blockToolResultSnake && (r.key == "" || !ok) {
		return // its call is in a spelling that is not ours: not our business
	}
	if ok {
		mt.groups[g].candidates = append(mt.groups[g].candidates, len(mt.results))
	}
	mt.results = append(mt.results, r)
}

// matchEarly gives unanswered calls a result that was stored before them. Its time must
// be known and later than the call's: a result of an earlier use of the id is older. For
// each call the stray result nearest before it is looked at, and each only once.
func (mt *matcher) matchEarly() {
	isStray := func(r result) bool { return r.group == noGroup }
	if !slices.ContainsFunc(mt.results, isStray) {
		return
	}
	strays := make(map[string][]int) // by id without space, the nearest last
	next := 0
	for g := range mt.groups {
		grp := &mt.groups[g]
		for ; next < len(mt.results) && mt.results[next].at < grp.at; next++ {
			if r := mt.results[next]; isStray(r) && r.key != "" {
				strays[r.key] = append(strays[r.key], next)
			}
		}
		var later []int
		for _, c := range grp.calls {
			before := strays[c.key]
			if c.result != unanswered || len(before) == 0 {
				continue
			}
			nearest := before[len(before)-1]
			strays[c.key] = before[:len(before)-1]
			if mt.isLater(mt.results[nearest].at, grp.at) {
				later = append(later, nearest)
			}
		}
		mt.settle(g, later)
	}
}

// isLater reports whether ms[i] is known to be from a later time than ms[j].
func (mt *matcher) isLater(i, j int) bool {
	return !mt.ms[j].Timestamp.IsZero() && mt.ms[i].Timestamp.After(mt.ms[j].Timestamp)
}

func isCall(t BlockType) bool {
	return t == BlockToolCall || t == blockToolUse || t == blockFunctionCall
}

func isResult(t BlockType) bool {
	return t == BlockToolResult || t == blockToolResultSnake
}

// identify returns the call id and the tool name of a result as they are spelled. Besides
// the typed fields it knows the keys that providers and older logs use for the id.
func identify(m *Message, block int) (id, name string) {
	if block == wholeMessage {
		if !isBlank(m.ToolCallID) || m.Extra == nil {
			return m.ToolCallID, m.ToolName
		}
		return firstString(m.Extra, m.ToolCallID, "toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id"), m.ToolName
	}
	b := &m.Content[block]
	id, name = b.ID, b.Name
	if b.Extra == nil {
		return id, name
	}
	if isBlank(id) {
		id = firstString(b.Extra, id, "toolCallId", "toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id", "id")
	}
	if isBlank(name) {
		name = firstString(b.Extra, name, "name")
	}
	return id, name
}

// firstString returns the first string under one of the keys that is not blank, else own.
func firstString(extra map[string]json.RawMessage, own string, keys ...string) string {
	for _, key := range keys {
		if s, _ := jsonx.String(extra[key]); !isBlank(s) {
			return s
		}
	}
	return own
}
