package compact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// An AuditInput is a summary and what it has to hold.
type AuditInput struct {
	Summary     string
	Identifiers []string         // must appear exactly and by themselves; pure hexadecimal in any letter case
	LatestAsk   string           // the last ask that is still open; "": none
	Policy      IdentifierPolicy // anything but strict checks no identifier
}

// AuditSummary lists what a summary lacks; nil: nothing. The codes are OpenClaw's:
// "missing_section:" with a heading, "missing_identifiers:" with up to three of them, and
// "latest_user_ask_not_reflected". A heading counts when it is a line of its own.
func AuditSummary(in AuditInput) []string {
	var out []string
	lines := strings.Split(in.Summary, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	for _, head := range requiredSections() {
		if !slices.Contains(lines, head) {
			out = append(out, "missing_section:"+head)
		}
	}
	if in.Policy == IdentifiersStrict || in.Policy == "" {
		if missing := missingFrom(in.Summary, in.Identifiers); len(missing) > 0 {
			out = append(out, "missing_identifiers:"+strings.Join(missing[:min(3, len(missing))], ","))
		}
	}
	if !reflects(in.Summary, in.LatestAsk) {
		out = append(out, "latest_user_ask_not_reflected")
	}
	return out
}

// missingFrom lists the identifiers that a text does not have.
func missingFrom(text string, ids []string) []string {
	lower := strings.ToLower(text)
	var out []string
	for _, id := range ids {
		if !holds(text, lower, id) {
			out = append(out, id)
		}
	}
	return out
}

// How many words of an ask are looked for, and how many must be found (OpenClaw 2026.7.1).
const (
	maxAskWords  = 12
	manyAskWords = 3
	hitsOfMany   = 2
)

// reflects reports whether a summary seems to mention an ask; there is nothing to mention
// in an ask without words.
func reflects(summary, ask string) bool {
	words := askWords(ask)
	if len(words) == 0 {
		return true
	}
	need := 1
	if len(words) >= manyAskWords {
		need = hitsOfMany
	}
	have := wordSet(summary)
	lower := strings.ToLower(summary)
	for _, w := range words {
		// Scripts without spaces have no words to compare: the run of characters counts.
		if have[w] || w[0] >= utf8.RuneSelf && strings.Contains(lower, w) {
			need--
		}
	}
	return need <= 0
}

// askWords lists the words of an ask that say something, all of them when none does.
func askWords(ask string) []string {
	var all, telling []string
	for _, w := range splitWords(ask) {
		all = appendNew(all, w)
		if utf8.RuneCountInString(w) > 1 && !isStopWord(w) {
			telling = appendNew(telling, w)
		}
	}
	if len(telling) == 0 {
		telling = all
	}
	return telling[:min(maxAskWords, len(telling))]
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range splitWords(text) {
		set[w] = true
	}
	return set
}

// isStopWord knows words that stand in every English ask.
func isStopWord(w string) bool {
	switch w {
	case "a", "an", "the", "and", "or", "but", "of", "to", "in", "on", "at", "for", "from", "with", "by", "as",
		"is", "are", "was", "be", "been", "do", "does", "did", "can", "could", "would", "should", "will",
		"please", "you", "your", "me", "my", "we", "our", "us", "it", "its", "this", "that", "these", "those",
		"what", "which", "who", "when", "where", "why", "how", "not", "no", "so", "if", "then", "also", "just",
		"now", "have", "has", "had", "there", "here", "about", "into", "up", "out":
		return true
	}
	return false
}
