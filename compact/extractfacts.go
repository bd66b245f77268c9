package compact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
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

// telling is the score of a sentence that sounds like something to remember.
const telling = 3

// sortOf says which section a sentence belongs to and how strongly it sounds like one;
// 0: not at all. Rules go before open tasks, and those before decisions.
func sortOf(sentence string) (section, int) {
	found := [sections]bool{}
	prev := ""
	for i, word := range splitWords(sentence) {
		if sec, ok := sortOfWord(word, prev, i); ok {
			found[sec] = true
		}
		prev = word
	}
	for _, m := range [...]struct {
		sec   section
		marks []string
	}{
		{secRules, []string{"必须", "不要", "务必", "記住", "记住", "注意"}},
		{secTodos, []string{"待办", "还需要"}},
		{secDecisions, []string{"决定", "确认"}},
	} {
		if found[m.sec] || containsAny(sentence, m.marks...) {
			return m.sec, telling
		}
	}
	return secDecisions, 0
}

// sortOfWord knows the words, and pairs of words, that rules, tasks and decisions are made
// of. i is the place of the word in its sentence.
func sortOfWord(word, prev string, i int) (section, bool) {
	switch word {
	case "must", "never", "always", "require", "required", "requires", "ensure", "avoid", "forbidden",
		"remember", "important":
		return secRules, true
	case "todo", "fixme", "remaining", "pending", "blocked":
		return secTodos, true
	case "decided", "decision", "agreed", "chose", "chosen", "choose", "instead", "prefer", "confirmed",
		"fixed", "because":
		return secDecisions, true
	}
	switch prev + " " + word {
	case "not allowed", "make sure", "at most", "at least", "note that", "only ever":
		return secRules, true
	case "do not", "don t":
		return secRules, i <= 2 // an order stands at the beginning
	case "next step", "still need", "still have", "still to", "need to", "will do", "not yet", "open question",
		"to do":
		return secTodos, true
	case "going with", "ll use", "settled on", "switched to", "root cause", "turned out":
		return secDecisions, true
	}
	return 0, false
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

// dropAsks leaves out the asks that stand word for word in other sections, but for the
// newest. The room is worth more to names.
func (e *extract) dropAsks(said map[string]bool) {
	newest := -1
	for _, f := range e.facts[secAsks] {
		newest = max(newest, f.at)
	}
	e.facts[secAsks] = slices.DeleteFunc(e.facts[secAsks], func(f fact) bool { return said[f.text] && f.at < newest })
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

var (
	bulletMark  = regexp.MustCompile(`^(?:[-*•]|\d+[.)])\s+`)
	sentenceEnd = regexp.MustCompile(`[.!?]["')\]]?(?:\s+|$)|[。！？]`)
)
