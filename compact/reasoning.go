package compact

import (
	"regexp"
	"strings"
)

// reasoningTag opens reasoning that a model wrote into its text.
var reasoningTag = regexp.MustCompile(`(?i)^<(think|thinking|reasoning|scratchpad|analysis)>`)

// reasoningEnd is the end of reasoning on a line of its own.
var reasoningEnd = regexp.MustCompile(`(?im)^[ \t]*</think(?:ing)?>[ \t\r]*$`)

// stripReasoning removes reasoning that a model wrote into its text. At the beginning of
// the text it may lack its end; then all of the text is reasoning. Further on a summary
// may speak of such tags, so only what starts a line, ends, and is no code is removed.
func stripReasoning(text string) string {
	text = strings.TrimSpace(text)
	if at := reasoningEnd.FindStringIndex(text); at != nil {
		// Some models are made to begin with reasoning, and their text has only its end.
		before := text[:at[0]]
		if indexFold(before, "<think") < 0 && strings.Count(before, "```")%2 == 0 {
			text = strings.TrimSpace(text[at[1]:])
		}
	}
	for {
		rest, ok := afterReasoning(text)
		if !ok {
			break
		}
		text = strings.TrimSpace(rest)
	}
	var b strings.Builder
	endless := map[string]bool{} // reasoning tags that nothing ends from here on
	for fenced := false; text != ""; {
		line, rest := text, ""
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			line, rest = text[:i+1], text[i+1:]
		}
		trimmed := strings.TrimLeft(line, " \t")
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
		}
		if !fenced && closesReasoning(text, endless) {
			text, _ = afterReasoning(strings.TrimLeft(text, " \t"))
			continue
		}
		b.WriteString(line)
		text = rest
	}
	return b.String()
}

// afterReasoning returns what follows the reasoning that a text begins with: nothing when
// it has no end.
func afterReasoning(text string) (string, bool) {
	m := reasoningTag.FindStringSubmatch(text)
	if m == nil {
		return text, false
	}
	end := "</" + m[1] + ">"
	if i := indexFold(text, end); i >= 0 {
		return text[i+len(end):], true
	}
	return "", true
}

// closesReasoning reports whether a text begins with reasoning that has an end. It notes
// the tags whose end it has looked for in vain, because a model may repeat one without end.
func closesReasoning(text string, endless map[string]bool) bool {
	text = strings.TrimLeft(text, " \t")
	m := reasoningTag.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	tag := strings.ToLower(m[1])
	if !endless[tag] {
		endless[tag] = indexFold(text, "</"+tag+">") < 0
	}
	return !endless[tag]
}

// indexFold is strings.Index in any letter case, for an ASCII sub.
func indexFold(text, sub string) int {
	for i := 0; i+len(sub) <= len(text); i++ {
		j := strings.IndexByte(text[i:], sub[0])
		if j < 0 || i+j+len(sub) > len(text) {
			return -1
		}
		i += j
		if strings.EqualFold(text[i:i+len(sub)], sub) {
			return i
		}
	}
	return -1
}
