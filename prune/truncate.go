package prune

import (
	"regexp"
	"strings"
)

// Constants of OpenClaw 2026.7.1 for one text, in UTF-16 units or shares.
const (
	// minKeepChars is what a cut text keeps at least, where the cap allows it.
	minKeepChars = 2_000
	// importantTailChars is how far from its end a text is searched for what matters.
	importantTailChars = 2_000
	// tailShare of the room and at most maxTailChars go to an important tail.
	tailShare    = 0.3
	maxTailChars = 4_000
	// lineSlack is the share of a piece that may be given up to cut at a line's end.
	lineSlack = 0.2
)

// importantWords recognises what tools end with when it matters how they ended.
var importantWords = regexp.MustCompile(
	`\b(?:error|exception|failed|fatal|traceback|panic|stack trace|errno|exit code|` +
		`total|summary|result|complete|finished|done)\b`)

// HasImportantTail reports whether the last 2,000 characters of a tool's output look as if
// they must be kept: an error, a verdict, a total, or the end of a JSON object.
func HasImportantTail(text string) bool {
	end := strings.ToLower(strings.TrimSpace(tail(text, importantTailChars)))
	return strings.HasSuffix(end, "}") || importantWords.MatchString(end)
}

// Truncate returns text itself when it has at most limit UTF-16 units; else its beginning
// with a note of how much is missing, limit units at most. When the end matters
// ([HasImportantTail]) and there is room, the middle goes instead. Cuts prefer line ends
// and never fall into a character. entry is the id under which all of the text is stored,
// "" for none.
func Truncate(text string, limit int, entry string) string {
	return truncate(text, limit, minKeepChars, notice{entry: entry})
}

func truncate(text string, limit, minKeep int, note notice) string {
	if !longer(text, limit) {
		return text
	}
	all := unitLen(text)
	budget := max(minKeep, limit-unitLen(note.text(all-limit)))
	kept := ""
	if budget > 2*minKeep && HasImportantTail(text) {
		kept = ends(text, budget, minKeep)
	}
	if kept == "" {
		kept = headLines(text, budget)
	}
	return fit(kept, all, limit, note)
}

// ends joins the start and the end of text, "" when there is no room for both.
func ends(text string, budget, minKeep int) string {
	tailRoom := min(int(float64(budget)*tailShare), maxTailChars)
	headRoom := budget - tailRoom - unitLen(middleText)
	if headRoom <= minKeep {
		return ""
	}
	start := headLines(text, headRoom)
	end := tail(text, tailRoom)
	if i := strings.IndexByte(end, '\n'); i >= 0 && float64(unitLen(end[:i])) < float64(tailRoom)*lineSlack {
		end = end[i+1:]
	}
	return start + middleText + end
}

// headLines is the beginning of text that fits into room, up to a line end if that does not
// give up too much.
func headLines(text string, room int) string {
	piece := head(text, room)
	if strings.HasPrefix(text[len(piece):], "\n") {
		return piece
	}
	i := strings.LastIndexByte(piece, '\n')
	if i >= 0 && float64(unitLen(piece[:i])) > float64(room)*(1-lineSlack) {
		return piece[:i]
	}
	return piece
}

// fit appends the notice and takes from the kept text what is too much. The number in the
// notice grows as the text shrinks, so this takes a few rounds.
func fit(kept string, all, limit int, note notice) string {
	for {
		n := unitLen(kept)
		text := note.text(all - n)
		over := n + unitLen(text) - limit
		if over <= 0 {
			return kept + text
		}
		if n == 0 {
			return head(text, limit)
		}
		kept = head(kept, max(0, n-over))
	}
}
