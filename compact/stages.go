package compact

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// requestOverhead is room in a request for what is neither source nor rules, in tokens:
// a frame, and what the model may think before it answers.
const requestOverhead = 512 + thinkingRoom

// previousShare bounds the previous summary in a request, as a part of the window.
const previousShare = 4

// minPiece is the least source that a request is made for, in tokens.
const minPiece = 256

// maxDrops is how often source is dropped after a request was too large. Each time it is
// the oldest fifth.
const maxDrops = 3

// A stage is source that becomes one summary, in as many requests as it takes.
type stage struct {
	pieces   []piece
	previous string
	rules    instructionSet
	names    []string
	most     int  // tokens of the summary; 0: as long as any
	merges   bool // the pieces are summaries
}

// run summarises a stage: in one request where the source fits, else part by part, and
// then the parts' summaries into one.
func (j *job) run(ctx context.Context, st stage) (string, error) {
	st.previous = j.shortPrevious(st.previous)
	limit := j.sourceLimit(st)
	st.pieces = j.reduce(st.pieces, limit)
	parts := j.group(st.pieces, limit)
	if len(parts) <= 1 {
		return j.request(ctx, st, st.rules.task)
	}
	merged := stage{previous: st.previous, names: st.names, rules: st.rules, merges: true}
	merged.rules.task = mergeInstructions
	for i, part := range parts {
		one := stage{pieces: part, names: st.names, rules: instructionSet{sections: st.rules.sections}}
		one.most = max(minPart, limit/len(parts)) // so that the parts fit one request
		text, err := j.request(ctx, one, fmt.Sprintf(partInstructions, i+1, len(parts)))
		if sizeOf(part) < limit/smallShare {
			text, err = orSource(text, err, "", part)
		}
		if err != nil {
			return "", fmt.Errorf("summarising part %d of %d: %w", i+1, len(parts), err)
		}
		text = fmt.Sprintf("[Part %d of %d]: %s", i+1, len(parts), quoteLabels(escapeFences(j.s.redact(text))))
		merged.pieces = append(merged.pieces, piece{text: text, tokens: j.s.counter.Text(text)})
	}
	if len(merged.pieces) >= len(st.pieces) && sizeOf(merged.pieces) >= sizeOf(st.pieces) {
		return "", &flawError{flawLength} // merging would not end
	}
	return j.run(ctx, merged)
}

// orSource puts the source itself, behind what it updates, in the place of a summary that
// is no shorter. It is for small parts of a whole, whose summary still gets shorter.
func orSource(text string, err error, previous string, ps []piece) (string, error) {
	if isTooLong(err) {
		return strings.TrimSpace(previous + "\n\n" + strings.Join(textsOf(ps), "\n\n")), nil
	}
	return text, err
}

// request asks for the summary of source that fits, dropping the oldest where the model
// says that it does not.
func (j *job) request(ctx context.Context, st stage, task string) (string, error) {
	whole, left := st.pieces, j.left
	for {
		rules := st.rules
		rules.task = task
		source, original := fence(textsOf(st.pieces)), ""
		if !st.merges {
			original = source
		}
		text, err := j.ask(ctx, Request{
			Source:       source,
			Previous:     st.previous,
			Instructions: j.s.instructions(rules, j.focus),
			TargetTokens: j.targetFor(st),
			Identifiers:  st.names,
		}, original)
		switch {
		case err == nil || !isTooLarge(err) || len(st.pieces) == 0:
			return text, err
		case j.drops >= maxDrops:
			if !j.next() {
				return "", err
			}
			st.pieces, j.left = whole, left
			continue
		}
		before := len(st.pieces)
		st.pieces = j.s.dropOldest(st.pieces)
		j.drops++
		j.left += max(1, before-len(st.pieces))
	}
}

// next gives up the summariser that was asked last. false: there is no other.
func (j *job) next() bool {
	j.small = append(j.small, j.asked)
	j.drops = 0
	return len(j.small) < 1+len(j.s.Failover)
}

// minPart is the least that the summary of a part gets, in tokens.
const minPart = 128

// targetFor is how long the summary of a stage may get: never longer than half of what it
// replaces.
func (j *job) targetFor(st stage) int {
	have := sizeOf(st.pieces) + j.s.counter.Text(st.previous)
	return max(minPart, min(j.output(), have/2, cmp.Or(st.most, have)))
}

// sourceLimit is how much source one request can take: what the smallest window of the
// summarisers leaves beside rules, previous summary and answer, less a safety margin.
func (j *job) sourceLimit(st stage) int {
	window, output := j.window(), j.output()
	rules := st.rules
	rules.sections = true
	used := j.s.counter.Text(systemPrompt) + j.s.counter.Text(j.s.instructions(rules, j.focus)) +
		j.s.counter.Text(st.previous) + requestOverhead + output
	for _, name := range st.names {
		used += j.s.counter.Text(name + "\n")
	}
	return max(minPiece, withMargin(window-used))
}

// window is the smallest of the summarisers.
func (j *job) window() int {
	window := 0
	for _, c := range j.candidates() {
		w := c.model.Window
		if w == 0 {
			w = cmp.Or(j.s.Budget.Window, DefaultSummarizerWindow)
		}
		if window == 0 || w < window {
			window = w
		}
	}
	return window
}

// outputShare bounds a summary, as a part of the window of who writes it.
const outputShare = 4

// output is how long an answer may get.
func (j *job) output() int {
	n := min(j.room, j.window()/outputShare)
	for _, c := range j.candidates() {
		if c.model.Output > 0 {
			n = min(n, c.model.Output)
		}
	}
	return n
}

// shortPrevious cuts the middle out of a previous summary that would leave no room for
// anything else. Such a one was made for a larger window.
func (j *job) shortPrevious(text string) string {
	p := piece{text: text, tokens: j.s.counter.Text(text)}
	return j.fit(p, max(minPiece, j.window()/previousShare)).text
}

// reduce shortens pieces that alone are larger than a request, at their middle.
func (j *job) reduce(ps []piece, limit int) []piece {
	out := ps
	for i, p := range ps {
		if p.tokens <= limit {
			continue
		}
		if &out[0] == &ps[0] {
			out = slices.Clone(ps)
		}
		out[i] = j.fit(p, limit)
	}
	return out
}

// fit cuts a piece's middle out until it fits.
func (j *job) fit(p piece, limit int) piece {
	for size := len(p.text); p.tokens > limit && size > 1; {
		size = min(size*limit/p.tokens, size-size/10-1)
		text := shorten(p.text, max(1, size))
		p = piece{text: text, tokens: j.s.counter.Text(text)}
	}
	return p
}

// group packs pieces into parts that fit a request each.
func (j *job) group(ps []piece, limit int) [][]piece {
	costs := make([]int, len(ps))
	for i, p := range ps {
		costs[i] = p.tokens
	}
	var out [][]piece
	for _, r := range chunkRanges(costs, limit) {
		out = append(out, ps[r.start:r.end])
	}
	return out
}

// render makes source of messages so that a bounded number of requests takes them: when they are
// too many, everything is cut shorter, and at last the oldest is left out.
func (j *job) render(ms []message.Message, st stage) []piece {
	limit := j.sourceLimit(st)
	parts := max(1, j.s.MaxCalls/2-1) // the other half is for merging and retries
	ps := j.s.pieces(ms, usualLimits())
	for _, tighter := range [...]renderLimits{
		{result: maxResultText / 4, argument: maxArgumentText / 4, text: 4 * maxResultText},
		{result: maxResultText / 16, argument: maxArgumentText / 16, text: maxResultText / 4},
	} {
		if len(j.group(j.reduce(ps, limit), limit)) <= parts {
			return ps
		}
		ps = j.s.pieces(ms, tighter)
	}
	for len(j.group(j.reduce(ps, limit), limit)) > parts && len(ps) > 1 {
		before := len(ps)
		ps = j.s.dropOldest(ps)
		j.left += before - len(ps)
	}
	return ps
}

func sizeOf(ps []piece) int {
	n := 0
	for _, p := range ps {
		n += p.tokens
	}
	return n
}
