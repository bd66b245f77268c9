package prune

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// ToolResults returns the pass that keeps tool results within bounds: each to the cap of
// one result, all together to the aggregate bound. nil options are the defaults.
//
//   - A cut result keeps its beginning, and its end when that matters ([HasImportantTail]);
//     the note in it names the message's Key, under which the log has all of it.
//   - When all together are too long, the oldest are cut to their notes, then dropped; the
//     results at the end of the list, which answer the last turn's calls, stay. What was
//     shortened stays so in later requests, so that the list's beginning is the same.
//   - A result is left alone where cutting would make it cost more.
//
// The pass is [Stateful]; it learns nothing from Observe.
func ToolResults(opts *ToolResultOptions) Pass {
	var o ToolResultOptions
	if opts != nil {
		o = *opts
	}
	return &toolResults{opts: o, shrunk: map[string]shrunkResult{}}
}

type toolResults struct {
	opts ToolResultOptions

	mu     sync.Mutex
	limit  int // the cap that memo holds for
	shrunk map[string]shrunkResult
	memo   memo
	sizes  []int // text length after the rewriting, per message of memo; 0: no tool result
	total  int
}

var _ Stateful = (*toolResults)(nil)

// A shrunkResult is a decision of the aggregate bound that holds from then on.
type shrunkResult struct {
	Sum   string `json:"h"` // of the whole texts, so that another message is not mistaken for it
	Limit int    `json:"n"`
	Drop  bool   `json:"d,omitempty"`
	Brief bool   `json:"b,omitempty"`
}

// Apply implements Pass.
func (p *toolResults) Apply(ms []message.Message, in Input) []message.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	if limit := p.opts.MaxResultChars(in.Window); limit != p.limit {
		p.cut(0)
		p.limit = limit
	}
	known, stays := len(p.memo.seen), p.memo.prefix(ms)
	p.cut(stays)
	if len(ms) > 0 && (stays == 0 || stays < known) {
		forgetAbsent(p.shrunk, ms)
	}
	p.extend(ms, in.estimator())
	if bound := p.opts.MaxAggregateChars(in.Window); p.total > bound {
		p.shrink(ms, bound, in.estimator())
		p.extend(ms, in.estimator())
	}
	return p.memo.result(ms)
}

// extend rewrites the messages that memo does not have yet.
func (p *toolResults) extend(ms []message.Message, e tokens.Estimator) {
	for i := len(p.memo.seen); i < len(ms); i++ {
		if ms[i].Role != message.RoleToolResult {
			p.memo.add(ms[i], ms[i], kept)
			p.sizes = append(p.sizes, 0)
			continue
		}
		m, n := p.rewrite(&ms[i], e)
		v := kept
		if !same(&m, &ms[i]) {
			v = replaced
		}
		p.memo.add(ms[i], m, v)
		p.sizes = append(p.sizes, n)
		p.total += n
	}
}

// rewrite returns a result as it is sent, and the length of its texts.
func (p *toolResults) rewrite(m *message.Message, e tokens.Estimator) (message.Message, int) {
	out := *m
	if s, ok := p.decided(m); ok {
		out = shrink{limit: min(s.Limit, p.limit), drop: s.Drop, even: true}.apply(out, notice{entry: m.Key, brief: s.Brief})
	} else if overLimit(m, p.limit) {
		out = fitResult(out, p.limit, minKeepChars, notice{entry: m.Key})
		if e.Message(out) > e.Message(*m) {
			out = *m
		}
	}
	return out, textLen(&out)
}

func (p *toolResults) decided(m *message.Message) (shrunkResult, bool) {
	if len(p.shrunk) == 0 {
		return shrunkResult{}, false
	}
	s, ok := p.shrunk[identity(m)]
	return s, ok && s.Sum == fingerprint(m)
}

// leastDropped leaves of a dropped result enough of the note to be understood; providers
// refuse empty results.
const leastDropped = len("[tool output dropped")

// shrink decides which results go to keep the bound, and forgets how they were rewritten.
// The results at the end of the list are what the model waits for: they stay.
func (p *toolResults) shrink(ms []message.Message, bound int, e tokens.Estimator) {
	sizes := slices.Clone(p.sizes)
	for i := len(ms) - 1; i >= 0 && ms[i].Role == message.RoleToolResult; i-- {
		sizes[i] = 0
	}
	notes := noteChooser(ms, sizes, bound)
	k := shrinker{ms: ms, sizes: sizes, noteOf: notes, least: leastDropped, even: true}
	k.worth = func(i int, after message.Message) bool { return e.Message(after) < e.Message(*p.memo.at(i)) }
	plan, done := k.plan(p.total - int(float64(bound)*(1-p.opts.slack())))
	if !done {
		plan, _ = k.plan(p.total - bound)
	}
	first := len(ms)
	for _, s := range plan {
		m := &ms[s.at]
		p.shrunk[identity(m)] = shrunkResult{
			Sum: fingerprint(m), Limit: s.limit, Drop: s.drop, Brief: notes(s.at).brief,
		}
		first = min(first, s.at)
	}
	p.cut(first)
}

func (p *toolResults) cut(n int) {
	if n >= len(p.sizes) {
		return
	}
	for _, size := range p.sizes[n:] {
		p.total -= size
	}
	p.sizes = p.sizes[:n]
	p.memo.cut(n)
}

// forgetAbsent drops decisions, by identity, about results that the list no longer has.
func forgetAbsent[D any](decisions map[string]D, ms []message.Message) {
	if len(decisions) == 0 {
		return
	}
	here := make(map[string]bool)
	for i := range ms {
		if ms[i].Role == message.RoleToolResult {
			here[identity(&ms[i])] = true
		}
	}
	maps.DeleteFunc(decisions, func(id string, _ D) bool { return !here[id] })
}

// Observe implements Stateful.
func (p *toolResults) Observe(message.Usage, time.Time) {}

// Snapshot implements Stateful.
func (p *toolResults) Snapshot() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.shrunk) == 0 {
		return nil
	}
	b, err := json.Marshal(p.shrunk)
	if err != nil {
		return nil // cannot be: strings, numbers and flags
	}
	return b
}

// Restore implements Stateful.
func (p *toolResults) Restore(b []byte) error {
	state := map[string]shrunkResult{}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &state); err != nil {
			return fmt.Errorf("restoring tool result state: %w", err)
		}
	}
	if state == nil {
		return fmt.Errorf("restoring tool result state: %w", errNoObject)
	}
	for id, s := range state {
		if s.Sum == "" || s.Limit < leastDropped {
			return fmt.Errorf("restoring tool result state: %q has no sum or the impossible length %d", id, s.Limit)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut(0)
	p.shrunk = state
	return nil
}

// errNoObject is for states that are null where an object belongs.
var errNoObject = errors.New("null is no object")

// identity names a tool result in its session: its key, else what is likely its own.
func identity(m *message.Message) string {
	if m.Key != "" {
		return m.Key
	}
	at := ""
	if !m.Timestamp.IsZero() {
		at = strconv.FormatInt(m.Timestamp.UnixMilli(), 10)
	}
	return "call " + m.ToolCallID + " " + at + " " + fingerprint(m)
}

// fingerprint is a short hash over the blocks of a message, the same in every process. It
// has no images: they may have become a text meanwhile.
func fingerprint(m *message.Message) string {
	h := fnv.New64a()
	for i := range m.Content {
		b := &m.Content[i]
		if b.Type == message.BlockImage || b.Text == SeenImageText {
			continue
		}
		for _, s := range []string{string(b.Type), b.Text} {
			_, _ = h.Write([]byte(s))
			_, _ = h.Write([]byte{0})
		}
	}
	return strconv.FormatUint(h.Sum64(), 36)
}
