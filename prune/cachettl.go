package prune

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// CacheTTL returns the pass that shortens old tool results once the provider's prompt
// cache has gone cold, when changing the beginning of a request costs nothing.
// nil options are the defaults, which are those of OpenClaw 2026.7.1.
//
//   - It acts when TTL has passed since the last successful request to the same model
//     (Observe). Without one it does not act.
//   - It acts when the list takes SoftRatio of the window: results above SoftTrim.Max
//     characters keep their start and end, and images in results become a text. If the list
//     then still takes HardRatio and the results have MinPrunable, they are cleared, the
//     oldest first, until it does not.
//   - Never touched: other roles, tools that Allow and Deny protect, what comes before the
//     first user message, and what follows the last KeepAssistants assistant messages.
//   - What it shortened stays as it is in every later request, whatever the clock says,
//     until a compaction removes it from the list.
//   - A round that would make the list cost more, as a text for an even shorter result may,
//     changes nothing.
func CacheTTL(opts *CacheTTLOptions) Stateful {
	var o CacheTTLOptions
	if opts != nil {
		o = *opts
	}
	return &cacheTTL{opts: o.Effective(), match: toolMatcher(o.Allow, o.Deny), state: newTTLState()}
}

type cacheTTL struct {
	opts  CacheTTLOptions
	match func(tool string) bool

	mu    sync.Mutex
	asked string // model of the last Apply
	state ttlState
	memo  memo // how results are shown, as far as decided
}

var _ Stateful = (*cacheTTL)(nil)

// Apply implements Pass.
func (p *cacheTTL) Apply(ms []message.Message, in Input) []message.Message {
	eligible := p.opts.Eligible(in)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = modelName(in)
	if len(ms) == 0 {
		return slices.Clip(ms)
	}
	out := p.project(ms, in)
	if !eligible || !p.expired(in) {
		return out
	}
	first, changed := p.round(ms, out, in)
	if !changed {
		return out
	}
	p.memo.cut(first)
	return p.project(ms, in)
}

// project shows results as decided in earlier rounds.
func (p *cacheTTL) project(ms []message.Message, in Input) []message.Message {
	known, stays := len(p.memo.seen), p.memo.prefix(ms)
	p.memo.cut(stays)
	if (stays == 0 || stays < known) && p.state.forget(ms) {
		p.reconsider(ms[stays:], in.estimator())
	}
	for i := len(p.memo.seen); i < len(ms); i++ {
		if how, ok := p.state.of(&ms[i]); ok {
			p.memo.add(ms[i], p.show(&ms[i], how), replaced)
			continue
		}
		p.memo.add(ms[i], ms[i], kept)
	}
	return p.memo.result(ms)
}

// reconsider shows results in full that a decision made longer: what made up for it was
// forgotten, and the list differs before them anyway.
func (p *cacheTTL) reconsider(ms []message.Message, e tokens.Estimator) {
	for i := range ms {
		if how, ok := p.state.of(&ms[i]); ok && e.Message(p.show(&ms[i], how)) > e.Message(ms[i]) {
			delete(p.state.Results, identity(&ms[i]))
		}
	}
}

// expired reports whether the cache is cold.
func (p *cacheTTL) expired(in Input) bool {
	last, ok := p.state.Touched[modelName(in)]
	if !ok || in.Now.IsZero() || in.Window <= 0 || p.opts.TTL <= 0 {
		return false
	}
	return in.Now.UnixMilli()-last >= p.opts.TTL.Milliseconds()
}

// A round is one pass over a cold list.
type round struct {
	p        *cacheTTL
	e        tokens.Estimator
	ms       []message.Message // as stored
	out      []message.Message // as sent up to now
	window   float64
	total    int
	prunable []int // indexes of results that may be touched
	decided  map[int]shortening
}

// round makes new decisions. first is the smallest index that has one.
func (p *cacheTTL) round(ms, out []message.Message, in Input) (first int, changed bool) {
	from, to := zone(out, p.opts.KeepAssistants)
	r := &round{p: p, e: in.estimator(), ms: ms, out: slices.Clone(out), window: float64(in.Window), decided: map[int]shortening{}}
	before := tokens.Messages(r.e, p.counted(out))
	r.total = before
	if from >= to || r.ratio() < max(0, p.opts.SoftRatio) {
		return 0, false
	}
	r.trim(from, to)
	r.clear()
	if len(r.decided) == 0 || before-r.total < max(0, p.opts.MinSaved) {
		return 0, false
	}
	first = len(ms)
	for i, how := range r.decided {
		p.state.set(&ms[i], how)
		first = min(first, i)
	}
	return first, true
}

// trim shortens the long results between two indexes.
func (r *round) trim(from, to int) {
	for i := from; i < to; i++ {
		if r.out[i].Role == message.RoleToolResult && r.p.match(r.out[i].ToolName) {
			r.prunable = append(r.prunable, i)
			r.decide(i, trimmed)
		}
	}
}

// clear takes the oldest results away until the list is small enough, if they are worth it.
func (r *round) clear() {
	enough := max(0, r.p.opts.HardRatio)
	if r.p.opts.NoHardClear || r.ratio() < enough || charsPerToken*r.prunableSize() < r.p.opts.MinPrunable {
		return
	}
	for _, i := range r.prunable {
		if r.ratio() < enough {
			return
		}
		r.decide(i, cleared)
	}
}

func (r *round) ratio() float64 { return float64(r.total) / r.window }

func (r *round) prunableSize() int {
	n := 0
	for _, i := range r.prunable {
		n += r.e.Message(r.out[i])
	}
	return n
}

// decide shortens a result, unless that changes nothing.
func (r *round) decide(i int, how shortening) {
	m := r.p.show(&r.ms[i], how)
	if same(&m, &r.out[i]) || how == trimmed && same(&m, &r.ms[i]) {
		return
	}
	if _, ok := r.p.state.of(&r.ms[i]); ok && how == trimmed {
		return // shortened in an earlier round
	}
	r.total += r.e.Message(m) - r.e.Message(r.out[i])
	r.out[i] = m
	r.decided[i] = how
}

// zone is the part of the list in which results may be touched: from the first user
// message to the keep-th assistant message from the end. It is empty when there are fewer.
func zone(ms []message.Message, keep int) (from, to int) {
	from = slices.IndexFunc(ms, func(m message.Message) bool { return m.Role == message.RoleUser })
	if from < 0 {
		return 0, 0
	}
	if keep <= 0 {
		return from, len(ms)
	}
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == message.RoleAssistant {
			if keep--; keep == 0 {
				return from, i
			}
		}
	}
	return 0, 0
}

// counted is the list that the ratios are taken of.
func (p *cacheTTL) counted(ms []message.Message) []message.Message {
	if p.opts.ThinkingDropped {
		return DropThinking(ms)
	}
	return ms
}

// Observe implements Stateful: the cache is warm from at on.
func (p *cacheTTL) Observe(_ message.Usage, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !at.IsZero() {
		p.state.Touched[p.asked] = at.UnixMilli()
	}
}

// modelName tells prompt caches apart.
func modelName(in Input) string {
	return strings.ToLower(strings.TrimSpace(in.Provider)) + "/" + strings.ToLower(strings.TrimSpace(in.Model))
}
