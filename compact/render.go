package compact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// Limits on single pieces of source, in bytes. Whole files and command output add little
// to a summary; their beginning and their end tell what they were.
const (
	maxResultText   = 2_000 // OpenClaw 2026.7.1
	maxArgumentText = 1_200
	tailShare       = 4 // a quarter of what is kept of a text is its end
)

// Labels of the speakers. A label stands at the start of a line, in brackets.
const (
	labelUser      = "User"
	labelAssistant = "Assistant"
	labelShell     = "Shell command of the user"
	labelBranch    = "Summary of another branch"
	labelEarlier   = "Earlier summary"
	labelNote      = "Note"
	labelCall      = "Call"
	labelResult    = "Result"
	labelFailure   = "Failed result"
)

// A piece is the source text of one unit.
type piece struct {
	text   string
	tokens int
}

// pieces renders a list unit by unit. Units that say nothing are left out. A call without
// a result belongs to a run that is over, and is closed once.
func (s *settings) pieces(ms []message.Message, limit renderLimits) []piece {
	var out []piece
	for u := range message.Units(ms) {
		text := renderUnit(ms[u.Start:u.End], u.Open, limit)
		if text == "" {
			continue
		}
		text = escapeFences(s.redact(text))
		out = append(out, piece{text: text, tokens: s.counter.Text(text)})
	}
	return out
}

// renderLimits bound single texts, in bytes.
type renderLimits struct{ result, argument, text int }

func usualLimits() renderLimits {
	return renderLimits{result: maxResultText, argument: maxArgumentText}
}

// RenderSource writes messages as a summariser sees them: who said it, what was called and
// what came of it. Reasoning, the details of tool results, the host's own notes and the
// data of images are left out; long tool output is cut in the middle. Lines that look like
// a speaker's label are indented, so that no text can speak for somebody else.
func RenderSource(ms []message.Message) string {
	var parts []string
	for u := range message.Units(ms) {
		if text := renderUnit(ms[u.Start:u.End], u.Open, usualLimits()); text != "" {
			parts = append(parts, escapeFences(text))
		}
	}
	return strings.Join(parts, "\n\n")
}

func renderUnit(ms []message.Message, open bool, limit renderLimits) string {
	var parts []string
	add := func(label, text string) {
		if text = strings.TrimRight(strings.ToValidUTF8(text, "�"), " \n"); text != "" {
			parts = append(parts, "["+label+"]: "+quoteLabels(text))
		}
	}
	for i := range ms {
		renderMessage(&ms[i], limit, add)
	}
	if open {
		for _, call := range openCalls(ms) {
			add(labelResult+" of "+toolName(call.Name), "none; the run ended before it")
		}
	}
	return strings.Join(parts, "\n\n")
}

func renderMessage(m *message.Message, limit renderLimits, add func(label, text string)) {
	switch m.Role {
	case message.RoleUser:
		add(labelUser, shorten(blocksText(m), limit.text))
	case message.RoleAssistant:
		add(labelAssistant, shorten(blocksText(m), limit.text))
		for call := range m.ToolCalls() {
			add(labelCall+" of "+toolName(call.Name), shorten(arguments(call), limit.argument))
		}
	case message.RoleToolResult:
		label := labelResult
		if m.IsError {
			label = labelFailure
		}
		text := blocksText(m)
		if strings.TrimSpace(text) == "" {
			text = "(empty)"
		}
		add(label+" of "+toolName(m.ToolName), shorten(text, limit.result))
	case message.RoleCustom:
		if !message.IsRuntimeContext(*m) {
			add(labelNote+" from "+toolName(m.CustomType()), shorten(blocksText(m), limit.text))
		}
	case message.RoleBashExecution:
		if b := m.Bash(); !b.Exclude {
			add(labelShell, shorten(b.String(), cmp.Or(limit.result, maxResultText)))
		}
	case message.RoleBranchSummary:
		add(labelBranch, m.Summary)
	case message.RoleCompactionSummary:
		add(labelEarlier, m.Summary)
	}
}

// blocksText joins the text of a message and marks what is no text. Calls have lines of
// their own; reasoning is not for a summary.
func blocksText(m *message.Message) string {
	var parts []string
	for i := range m.Content {
		b := &m.Content[i]
		switch {
		case b.Type == message.BlockText:
			parts = append(parts, b.Text)
		case b.Type == message.BlockImage:
			parts = append(parts, "(image"+spaced(b.MIMEType)+")")
		case b.Type == message.BlockThinking, strings.Contains(string(b.Type), "thinking"),
			strings.Contains(string(b.Type), "reasoning"), b.IsCall():
		case b.Text != "":
			parts = append(parts, b.Text)
		default:
			parts = append(parts, "("+string(b.Type)+")")
		}
	}
	return strings.Join(parts, "\n")
}

func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

func arguments(call message.Block) string {
	var b bytes.Buffer
	if len(call.Arguments) == 0 {
		return "{}"
	}
	if json.Compact(&b, call.Arguments) != nil {
		return string(call.Arguments)
	}
	return b.String()
}

// maxLabelName bounds a name in a label, in bytes.
const maxLabelName = 64

// toolName is a name as it may stand in a label.
func toolName(name string) string {
	name = strings.TrimSpace(labelBreaks.ReplaceAllString(strings.ToValidUTF8(name, "�"), " "))
	if name == "" {
		return "unknown"
	}
	return cutBytes(name, maxLabelName)
}

// openCalls returns the calls of a unit that have no result in it.
func openCalls(ms []message.Message) []message.Block {
	answered := map[string]int{}
	for i := range ms {
		if ms[i].Role == message.RoleToolResult {
			answered[ms[i].ToolCallID]++
		}
	}
	var out []message.Block
	for i := range ms {
		for call := range ms[i].ToolCalls() {
			if answered[call.ID] == 0 {
				out = append(out, call)
				continue
			}
			answered[call.ID]--
		}
	}
	return out
}

// quoteLabels indents lines that look like a label.
func quoteLabels(text string) string {
	if !strings.Contains(text, "[") {
		return text
	}
	return labelAlike.ReplaceAllString(text, "$1 $2")
}

var (
	labelBreaks = regexp.MustCompile(`[\s\[\]:]+`)
	labelLike   = regexp.MustCompile(`(?m)^\[[^\]\n]{1,100}\]: `)
	// labelAlike is what a model may take for a label: also behind other ends of a line,
	// and behind characters that show no more than a space.
	labelAlike = regexp.MustCompile(`(?m)((?:^|[\r\v\f\x{85}\x{2028}\x{2029}])[\t\r\x{a0}\x{ad}\x{200b}-\x{200f}\x{2060}\x{feff}]*)(\[[^\]\n]{1,100}\][\t \x{a0}]*:)`)
)

// fence puts source between the lines that mark it as data.
func fence(parts []string) string {
	return "<conversation>\n" + strings.Join(parts, "\n\n") + "\n</conversation>"
}

// unfence is the reverse of fence; text without one comes back as it is.
func unfence(source string) string {
	source = strings.TrimPrefix(source, "<conversation>\n")
	return strings.TrimSuffix(source, "\n</conversation>")
}

func textsOf(ps []piece) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.text
	}
	return out
}

// shorten cuts the middle out of a text of more than limit bytes; 0: no limit. It never
// parts a character, and says how much is gone.
func shorten(text string, limit int) string {
	if limit <= 0 || len(text) <= limit {
		return text
	}
	tail := limit / tailShare
	head := cutBytes(text, limit-tail)
	end := cutBytesFront(text, tail)
	return head + fmt.Sprintf("\n… %d bytes left out …\n", len(text)-len(head)-len(end)) + asTail(text, end)
}

// asTail makes the end of a text fit to start a line: what stood within one is no label
// because of the cut.
func asTail(text, end string) string {
	if before := len(text) - len(end); before > 0 && text[before-1] != '\n' {
		if at := labelAlike.FindStringIndex(end); at != nil && at[0] == 0 {
			return quoteLabels(end[:at[1]]) + end[at[1]:]
		}
	}
	return end
}

// dropOldest removes the oldest fifth of ps by tokens, at least one piece and never the
// last. A single piece loses the first fifth of its text instead.
func (s *settings) dropOldest(ps []piece) []piece {
	if len(ps) == 1 {
		text := ps[0].text
		text = asTail(text, cutBytesFront(text, len(text)-len(text)/5))
		return []piece{{text: text, tokens: s.counter.Text(text)}}
	}
	total, gone, n := 0, 0, 0
	for _, p := range ps {
		total += p.tokens
	}
	for n < len(ps)-1 && (n == 0 || gone*5 < total) {
		gone += ps[n].tokens
		n++
	}
	return slices.Clone(ps[n:])
}
