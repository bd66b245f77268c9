package compact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// minSentence and maxSentence bound what may be a sentence, in bytes; longer ones are
// logs or code.
const (
	minSentence = 12
	maxSentence = 600
)

// sentences cuts prose into sentences. Lines end them as well.
func sentences(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(bulletMark.ReplaceAllString(line, ""))
		for line != "" {
			end := len(line)
			if m := sentenceEnd.FindStringIndex(line); m != nil {
				end = m[1]
			}
			s := strings.TrimSpace(line[:end])
			if len(s) >= minSentence && len(s) <= maxSentence && !isHeading(s) {
				out = append(out, s)
			}
			line = strings.TrimSpace(line[end:])
		}
	}
	return out
}

// sortOf says which section a sentence belongs to and how strongly it sounds like one;
// 0: not at all.
func sortOf(sentence string) (section, int) {
	switch {
	case ruleWords.MatchString(sentence):
		return secRules, 3
	case todoWords.MatchString(sentence):
		return secTodos, 3
	case decisionWords.MatchString(sentence):
		return secDecisions, 3
	}
	return secDecisions, 0
}

// maxAsks is how many asks an extract lists.
const maxAsks = 5

// choose picks the best lines of a section that fit, half of the room for those that were
// carried, and returns them in their order. Of asks the newest are the best.
func (e *extract) choose(sec section, room int) []string {
	all := unique(e.facts[sec])
	byWorth := slices.Clone(all)
	slices.SortStableFunc(byWorth, func(a, b fact) int {
		if sec == secAsks {
			return cmp.Compare(b.at, a.at)
		}
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.at, a.at))
	})
	taken := map[string]bool{}
	take := func(room int, carried func(bool) bool) int {
		for _, f := range byWorth {
			cost := e.count("- " + f.text + "\n")
			if cost > room || taken[f.text] || !carried(f.carried) || sec == secAsks && len(taken) == maxAsks {
				continue
			}
			taken[f.text] = true
			room -= cost
		}
		return room
	}
	left := take(room/2, func(c bool) bool { return c && sec != secAsks })
	left = take(room-room/2+left, func(c bool) bool { return !c })
	take(left, func(bool) bool { return true })
	var out []string
	for _, f := range all {
		if taken[f.text] {
			out = append(out, f.text)
		}
	}
	return out
}

// unique drops repetitions; the best score stays at the first place.
func unique(facts []fact) []fact {
	at := map[string]int{}
	out := make([]fact, 0, len(facts))
	for _, f := range facts {
		if i, ok := at[f.text]; ok {
			out[i].score = max(out[i].score, f.score)
			out[i].at = max(out[i].at, f.at)
			continue
		}
		at[f.text] = len(out)
		out = append(out, f)
	}
	return out
}

// cutText shortens a line at its end, with a mark.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.TrimSpace(cutBytes(s, limit-utf8.UTFMax)) + " …"
}

// What a rule, an open task and a decision sound like.
var (
	bulletMark    = regexp.MustCompile(`^(?:[-*•]|\d+[.)])\s+`)
	sentenceEnd   = regexp.MustCompile(`[.!?]["')\]]?(?:\s+|$)|[。！？]`)
	ruleWords     = regexp.MustCompile(`(?i)\b(?:must|never|always|only ever|not allowed|require[ds]?|make sure|ensure|avoid|forbidden|at most|at least|remember|important|note that)\b|^(?:please,? )?(?:do not|don['’]t)\b|必须|不要|务必|記住|记住|注意`)
	todoWords     = regexp.MustCompile(`(?i)\b(?:todo|fixme|next step|still (?:need|have|to)|remaining|left to do|not yet|pending|open question|blocked|will do|need to)\b|待办|还需要`)
	decisionWords = regexp.MustCompile(`(?i)\b(?:decided|decision|agreed|chose|chosen|choose|going with|we(?:'|’)?ll use|use .+ instead|instead of|prefer|settled on|switched to|root cause|turned out|confirmed|fixed|because)\b|决定|确认`)
)
