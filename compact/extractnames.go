package compact

import (
	"slices"
	"strings"
)

// A nameClass says how an identifier came up, the weightiest last.
type nameClass int

const (
	classTool nameClass = iota
	classMentioned
	classStated
	classes
)

// title is the line above the identifiers of a class in an extract.
func (c nameClass) title() string {
	return [...]string{"From tools:", "Mentioned:", "Stated:"}[c]
}

// classOf is the class of what a speaker of that weight says; telling says that the
// sentence sounds like a fact.
func classOf(weight int, telling bool) nameClass {
	switch {
	case weight < weightAssistant:
		return classTool
	case telling || weight == weightUser:
		return classStated
	}
	return classMentioned
}

// names are identifiers with the class they deserve. Those that were carried come first,
// then the order of their first place.
type names struct {
	order []string
	class map[string]nameClass
}

// add notes the identifiers of a text and reports whether it has any.
func (n *names) add(text string, c nameClass) bool {
	ids := ExtractIdentifiers(text)
	for _, id := range ids {
		n.note(id, c)
	}
	return len(ids) > 0
}

func (n *names) note(id string, c nameClass) {
	if n.class == nil {
		n.class = map[string]nameClass{}
	}
	old, known := n.class[id]
	if !known {
		n.order = append(n.order, id)
	}
	if !known || c > old {
		n.class[id] = c
	}
}

// perLine is how many identifiers an extract puts on a line, and nameSeparator what stands
// between them.
const (
	perLine       = 8
	nameSeparator = ", "
)

// readLines takes over the identifiers of an earlier summary. In one that a model wrote
// they have no class and count as mentioned, and commas are those of sentences.
func (n *names) readLines(body string) {
	c, ours := classMentioned, false
	for _, line := range strings.Split(body, "\n") {
		line = strings.TrimSpace(line)
		if i := slices.IndexFunc([]nameClass{classTool, classMentioned, classStated}, func(c nameClass) bool {
			return line == c.title()
		}); i >= 0 {
			c, ours = nameClass(i), true
			continue
		}
		list, listed := strings.CutPrefix(line, "- ")
		items := []string{list}
		if ours {
			items = strings.Split(list, nameSeparator)
		}
		for _, item := range items {
			if listed && item != "" && !strings.ContainsAny(item, " \t") {
				n.note(strings.Trim(item, "`"), c)
			} else {
				n.add(item, c)
			}
		}
	}
}

// lines lists the identifiers that text does not have yet, those that were stated first,
// as far as they fit. Within a class the newest go first when there is no room for all;
// half of it is kept for what was carried.
func (n *names) lines(text string, room int, count func(string) int) []string {
	var out []string
	lower := strings.ToLower(text)
	for c := classes - 1; c >= 0; c-- {
		var ranks [bulks][]string
		for _, id := range n.order {
			if n.class[id] != c || holds(text, lower, id) {
				continue
			}
			rank := 0
			if c == classTool {
				rank = bulk(id)
			}
			ranks[rank] = append(ranks[rank], id)
		}
		var kept []string
		left := room - count(c.title()+"\n")
		for _, ids := range ranks {
			var fit []string
			fit, left = fitNames(ids, left, count)
			kept = append(kept, fit...)
		}
		if len(kept) == 0 {
			continue
		}
		room = left
		out = append(out, c.title())
		for line := range slices.Chunk(kept, perLine) {
			out = append(out, "- "+strings.Join(line, nameSeparator))
		}
	}
	return out
}

// bulks is how many ranks bulk tells apart.
const bulks = 3

// bulk ranks what tools print: what was made for the occasion, such as an id, before
// paths and measures, which they print by the hundred.
func bulk(id string) int {
	switch {
	case strings.Contains(id, "://"):
		return 0
	case strings.ContainsAny(id, `/\ %`):
		return 2
	case strings.Contains(id, "."), !pureHex.MatchString(id) && !strings.ContainsAny(id, "-_") && digitsIn(id) < manyDigits:
		return 1
	}
	return 0
}

// manyDigits is how many an id has that is no name of a variable.
const manyDigits = 4

func digitsIn(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}

// fitNames keeps the ids that fit: all of them, or the older half of the room's worth and
// the newest.
func fitNames(ids []string, room int, count func(string) int) (kept []string, left int) {
	costs := make([]int, len(ids))
	for i, id := range ids {
		costs[i] = count(id + nameSeparator)
	}
	front, spent := 0, 0
	for front < len(ids) && spent+costs[front] <= room/2 {
		spent += costs[front]
		front++
	}
	back := len(ids)
	for back > front && spent+costs[back-1] <= room {
		spent += costs[back-1]
		back--
	}
	return append(slices.Clone(ids[:front]), ids[back:]...), room - spent
}
