package compact

import (
	"strings"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// Planning constants of OpenClaw 2026.7.1.
const (
	safetyMargin   = 1.2  // estimates may be low by a sixth
	baseChunkRatio = 0.4  // of the window, for messages of usual size
	minChunkRatio  = 0.15 // and for very large ones
	largeMessage   = 0.1  // from this share of the window on the ratio shrinks
	defaultParts   = 2
)

// planningCost is what a message counts in planning; what a host tells only the model
// counts nothing.
func planningCost(e tokens.Estimator, m *message.Message) int {
	if message.IsRuntimeContext(*m) {
		return 0
	}
	return e.Message(*m)
}

func planningTotal(e tokens.Estimator, ms []message.Message) int {
	n := 0
	for i := range ms {
		n += planningCost(e, &ms[i])
	}
	return n
}

// ChunkByMaxTokens cuts a list into runs of at most limit tokens, less a safety margin of
// a sixth. A message that is larger is a run's last. Calls and results may be parted, as
// in OpenClaw 2026.7.1: a Compactor cuts its source by units instead. The runs are parts
// of ms.
func ChunkByMaxTokens(ms []message.Message, limit int, e tokens.Estimator) [][]message.Message {
	costs := make([]int, len(ms))
	for i := range ms {
		costs[i] = planningCost(e, &ms[i])
	}
	var out [][]message.Message
	for _, r := range chunkRanges(costs, withMargin(limit)) {
		out = append(out, ms[r.start:r.end:r.end])
	}
	return out
}

// withMargin is a limit less the safety margin, at least 1.
func withMargin(limit int) int { return max(1, int(float64(limit)/safetyMargin)) }

type span struct{ start, end int }

// chunkRanges packs items greedily. One that is larger than the limit closes its run.
func chunkRanges(costs []int, limit int) []span {
	var out []span
	start, sum := 0, 0
	for i, n := range costs {
		if i > start && sum+n > limit {
			out = append(out, span{start, i})
			start, sum = i, 0
		}
		sum += n
		if n > limit {
			out = append(out, span{start, i + 1})
			start, sum = i+1, 0
		}
	}
	if start < len(costs) {
		out = append(out, span{start, len(costs)})
	}
	return out
}

// Parts clamps a wanted number of parts to what n messages allow: 1 to n, at least 1.
func Parts(wanted, n int) int { return max(1, min(wanted, n)) }

// SplitByTokenShare cuts a list into at most parts runs of about the same size, without
// parting a call from its results, as OpenClaw 2026.7.1 does. The last run takes what is
// left. The runs are parts of ms.
func SplitByTokenShare(ms []message.Message, parts int, e tokens.Estimator) [][]message.Message {
	if len(ms) == 0 {
		return nil
	}
	s := splitter{
		ms: ms, e: e, parts: Parts(parts, len(ms)), pending: map[string]bool{},
		caller: noCaller,
	}
	s.target = float64(planningTotal(e, ms)) / float64(s.parts)
	for i := range ms {
		s.add(i)
	}
	if len(s.pending) > 0 {
		s.cutBeforeCaller(len(ms))
	}
	s.close(len(ms))
	return s.out
}

// noCaller says that no calls are pending.
const noCaller = -1

// A splitter walks a list and closes a run when it has its share.
type splitter struct {
	ms     []message.Message
	e      tokens.Estimator
	parts  int
	target float64

	out     [][]message.Message
	start   int // of the run that is open
	sum     int // its tokens
	pending map[string]bool
	caller  int // the message whose calls are pending
}

func (s *splitter) add(i int) {
	m := &s.ms[i]
	n := planningCost(s.e, m)
	if len(s.pending) == 0 && i > s.start && s.more() && float64(s.sum+n) > s.target {
		s.close(i)
	}
	s.sum += n
	switch m.Role {
	case message.RoleAssistant:
		s.call(i)
	case message.RoleToolResult:
		s.answer(m, i)
	}
}

// more reports whether another run may be closed.
func (s *splitter) more() bool { return len(s.out) < s.parts-1 }

// call notes the calls of an assistant message whose answer did not break off. Those of an
// earlier one that got no result are not waited for any longer.
func (s *splitter) call(i int) {
	clear(s.pending)
	s.caller = noCaller
	if s.ms[i].Failed() {
		return
	}
	for b := range s.ms[i].ToolCalls() {
		if b.ID != "" {
			s.pending[b.ID] = true
			s.caller = i
		}
	}
}

// answer notes a result. One that does not say which call it answers settles all.
func (s *splitter) answer(m *message.Message, i int) {
	if len(s.pending) == 0 {
		return
	}
	id := answeredID(m)
	if id == "" {
		clear(s.pending)
		s.caller = noCaller
		return
	}
	delete(s.pending, id)
	if len(s.pending) == 0 {
		s.cutBeforeCaller(i + 1)
		s.caller = noCaller
	}
}

// answeredID is the call that a result answers, also where older logs name it; "": none.
func answeredID(m *message.Message) string {
	id := strings.TrimSpace(m.ToolCallID)
	for _, key := range [...]string{"toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id"} {
		if id != "" {
			break
		}
		id = strings.TrimSpace(m.ExtraString(key))
	}
	return id
}

// cutBeforeCaller closes the run before the message that made the calls, when the run
// that ends at end has more than its share.
func (s *splitter) cutBeforeCaller(end int) {
	if s.more() && float64(s.sum) > s.target && s.caller > s.start {
		s.close(s.caller)
		s.sum = planningTotal(s.e, s.ms[s.start:end])
	}
}

func (s *splitter) close(end int) {
	if end > s.start {
		s.out = append(s.out, s.ms[s.start:end:end])
	}
	s.start, s.sum = end, 0
}

// AdaptiveChunkRatio is the share of a window that a run of source should take, given how
// large its messages are on average (OpenClaw 2026.7.1): 0.4, down to 0.15.
func AdaptiveChunkRatio(ms []message.Message, window int, e tokens.Estimator) float64 {
	if len(ms) == 0 || window <= 0 {
		return baseChunkRatio
	}
	average := float64(planningTotal(e, ms)) / float64(len(ms))
	share := average * safetyMargin / float64(window)
	if share <= largeMessage {
		return baseChunkRatio
	}
	return max(minChunkRatio, baseChunkRatio-min(2*share, baseChunkRatio-minChunkRatio))
}

// StageSplit says whether a source is summarised in parts: two or more when it has more
// tokens than limit and at least least messages (at least 2), else nil.
func StageSplit(ms []message.Message, limit, parts, least int, e tokens.Estimator) [][]message.Message {
	if parts <= 1 || len(ms) < max(2, least) || planningTotal(e, ms) <= limit {
		return nil
	}
	if out := SplitByTokenShare(ms, parts, e); len(out) > 1 {
		return out
	}
	return nil
}
