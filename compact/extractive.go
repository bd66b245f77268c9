package compact

import (
	"cmp"
	"context"
	"math"
	"strings"

	"github.com/go-contextengine/contextengine/tokens"
)

// Extractive returns a summariser that asks no model: it copies out of the source what
// reads like a decision, a rule, an open task or an ask, and lists the identifiers. The
// same request always gives the same text, which says at its top how it was made and is
// never longer than Request.TargetTokens by the script-aware estimate. It never fails.
func Extractive() Summarizer { return extractive{} }

type extractive struct{}

var (
	_ Summarizer = extractive{}
	_ Describer  = extractive{}
)

// unlimited is a window that takes everything, with room for what is computed with it.
const unlimited = min(1<<40, math.MaxInt>>7)

// Describe implements [Describer].
func (extractive) Describe() Model {
	return Model{Provider: "builtin", Name: "extractive", Window: unlimited}
}

// extractMark is the first line of an extract.
const extractMark = "Extract, made without a model: sentences and names copied from the conversation."

// defaultExtract is the size of an extract whose request sets no target, in tokens.
const defaultExtract = 2_000

// Summarize implements [Summarizer].
func (extractive) Summarize(ctx context.Context, r Request) (Summary, error) {
	if ctx.Err() != nil {
		return Summary{}, context.Cause(ctx)
	}
	e := extract{count: tokens.ScriptAware().Text, room: cmp.Or(r.TargetTokens, defaultExtract)}
	e.readPrevious(r.Previous)
	segs := segments(r.Source)
	recent := toolsFrom(segs)
	for i, s := range segs {
		if s.weight() >= weightAssistant || i >= recent {
			e.readSegment(s, i)
		}
	}
	return Summary{Text: e.write()}, nil
}

// maxToolText bounds the tool text that is searched for names, in bytes: the most recent.
const maxToolText = 128 << 10

// toolsFrom returns the segment from which on tools are listened to.
func toolsFrom(segs []segment) int {
	left := maxToolText
	for i := len(segs) - 1; i >= 0; i-- {
		if segs[i].weight() < weightAssistant {
			left -= len(segs[i].text)
		}
		if left < 0 {
			return i + 1
		}
	}
	return 0
}

// The sections of an extract, in the order of their lines.
type section int

const (
	secDecisions section = iota
	secTodos
	secRules
	secAsks
	sections
)

func (s section) heading() string { return requiredSections()[s] }

// share is how much of the room a section may take at most, in percent. The rest is for
// identifiers.
func (s section) share() int { return [...]int{18, 8, 10, 14}[s] }

// A fact is a line of a section.
type fact struct {
	text    string
	score   int
	carried bool // from the previous summary
	at      int
}

// An extract is one under construction.
type extract struct {
	count func(string) int
	room  int

	facts [sections][]fact
	names names
}

// maxFact bounds a line, in bytes.
const maxFact = 240

// readPrevious takes over the lines of the previous summary, by their sections. What
// stands outside the known sections gives its sentences.
func (e *extract) readPrevious(summary string) {
	for _, part := range partsOf(summary) {
		if part.heading == strings.TrimPrefix(headIdentifiers, "## ") {
			e.names.readLines(part.body)
			continue
		}
		sec, known := sectionNamed(part.heading)
		if !known {
			for _, sentence := range sentences(part.body) {
				e.carry(secDecisions, sentence)
			}
			continue
		}
		for _, line := range strings.Split(part.body, "\n") {
			line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- "))
			if line != "" && !isNone(line) {
				e.carry(sec, cutText(line, 2*maxFact))
			}
		}
	}
}

// A part of a summary is what stands under one heading, of whatever level; "" before the
// first.
type part struct{ heading, body string }

func partsOf(summary string) []part {
	var out []part
	heading, lines := "", []string(nil)
	flush := func() {
		body := strings.Join(lines, "\n")
		if strings.TrimSpace(body) != "" && heading != strings.TrimPrefix(headFiles, "## ") {
			out = append(out, part{heading: heading, body: body})
		}
	}
	for _, line := range strings.Split(summary, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "#") && strings.Contains(trimmed, "# "):
			flush()
			heading, lines = strings.TrimSpace(strings.TrimLeft(trimmed, "#")), nil
		case trimmed != extractMark:
			lines = append(lines, line)
		}
	}
	flush()
	return out
}

func sectionNamed(heading string) (section, bool) {
	for sec := range sections {
		if strings.TrimPrefix(sec.heading(), "## ") == heading {
			return sec, true
		}
	}
	return 0, false
}

// carry keeps a line of the previous summary. Its names count as mentioned, or as stated
// when the line sounds like it.
func (e *extract) carry(sec section, line string) {
	_, score := sortOf(line)
	e.facts[sec] = append(e.facts[sec], fact{text: line, score: score + 1, carried: true, at: -1})
	e.names.add(line, classOf(weightAssistant, score > 0))
}

// readSegment picks the telling sentences of what one speaker said.
func (e *extract) readSegment(s segment, at int) {
	w := s.weight()
	if w < weightAssistant {
		e.names.add(s.text, classOf(w, false))
		return
	}
	for _, sentence := range sentences(s.text) {
		sec, score := sortOf(sentence)
		named := e.names.add(sentence, classOf(w, score > 0))
		if score == 0 && (!named || w < weightUser) {
			continue
		}
		if named {
			score += 2
		}
		if w == weightUser {
			score += 2
		}
		e.facts[sec] = append(e.facts[sec], fact{text: cutText(sentence, maxFact), score: score, at: at})
	}
	if w == weightUser {
		e.facts[secAsks] = append(e.facts[secAsks], fact{text: cutText(collapse(s.text), maxFact), score: 1, at: at})
	}
}

// write puts the extract together within its room.
func (e *extract) write() string {
	var b strings.Builder
	b.WriteString(extractMark + "\n")
	var chosen [sections][]string
	said := map[string]bool{}
	for sec := range sections {
		if sec == secAsks {
			e.dropAsks(said)
		}
		chosen[sec] = e.choose(sec, e.room*sec.share()/100)
		for _, line := range chosen[sec] {
			said[line] = true
		}
	}
	for sec := range sections {
		writeSection(&b, sec.heading(), bullets(chosen[sec]))
	}
	b.WriteString("\n" + headIdentifiers + "\n")
	room := e.room - e.count(b.String()) - margin(e.room)
	lines := e.names.lines(b.String(), room, e.count)
	if len(lines) == 0 {
		lines = []string{"None."}
	}
	b.WriteString(strings.Join(lines, "\n"))
	return fitText(b.String(), e.room, e.count)
}

// margin is room left for what an estimate of parts misses.
func margin(room int) int { return room / 50 }

// fitText cuts whole lines off the end until a text fits, and at last the line itself.
func fitText(text string, room int, count func(string) int) string {
	for text != "" && count(text) > room {
		i := strings.LastIndexByte(text, '\n')
		if i < 0 {
			i = len(text) - 1 - len(text)/8
		}
		text = cutBytes(text, i)
	}
	return text
}

func writeSection(b *strings.Builder, heading string, lines []string) {
	if len(lines) == 0 {
		lines = []string{"None."}
	}
	b.WriteString("\n" + heading + "\n" + strings.Join(lines, "\n") + "\n")
}
