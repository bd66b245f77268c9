package compact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// identifier recognises names that lose their meaning when they are rephrased, at their
// leftmost place, in this order: URLs, mail addresses, Windows paths, paths of two or more
// segments, UUIDs, hosts with a port, file names, times and dates, IP addresses, versions,
// dotted names, names with digits or capitals, hashes, numbers with a unit, long numbers,
// words that mix letters and digits.
var identifier = regexp.MustCompile(
	`[a-z][a-z0-9+.-]*://[^\s<>"'` + "`" + `\]]+` +
		`|[\w.+-]+@[\w-]+(?:\.[\w-]+)+` +
		`|[A-Za-z]:\\[^\s<>"'|?*]+` +
		`|\B(?:~|\.{1,2})?/[\w.@+-]{2,}(?:/[\w.@+-]+)+/?` +
		`|\b[\w.@+-]+(?:/[\w.@+-]+)+\.[A-Za-z]\w{0,7}\b` +
		`|\b[\w.@+-]+(?:/[\w.@+-]+){2,}/?|\b(?:[\w-]+\.)+[A-Za-z]{2,}(?:/[\w.@+-]+)+/?` +
		`|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b` +
		`|\b[\w-]+(?:\.[\w-]+)+:\d{2,5}\b|\blocalhost:\d{2,5}\b` +
		`|\b[\w-]+\.(?:go|rs|py|js|ts|tsx|jsx|mjs|java|kt|c|h|cc|cpp|rb|php|sh|sql|md|txt|json|jsonl|ya?ml|toml|lock|css|html|xml|csv|proto|mod|sum|log|env)\b` +
		`|\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b` +
		`|\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?\b` +
		`|\bv?\d+\.\d+\.\d+(?:[-+][\w.]+)?\b` +
		`|\b[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*){2,}\b|\b[\w-]+\.(?:com|org|net|io|dev|app|internal|local)\b` +
		`|\b[A-Za-z]\w*(?:[_-]\w+)*[_-]\w*\d\w*(?:[_-]\w+)*\b|\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b` +
		`|\b[0-9a-fA-F]{8,}\b` +
		`|\b\d+(?:[.,]\d+)*(?:\s?(?:ns|µs|us|ms|s|min|h|KB|MB|GB|TB|KiB|MiB|GiB|kB|Hz|kHz|MHz|GHz|px|km|kg|USD|EUR|rps|qps|req/s)\b` +
		`|\s?(?:%|°C|€)|\s(?:seconds?|minutes?|hours?|days?|weeks?|percent|tokens?|requests?|rows?|users?|bytes?)\b)` +
		`|\b\d{6,}\b` +
		`|\b(?:[A-Za-z]+\d|\d+[A-Za-z]+\d)\w*\b`,
)

const (
	minIdentifier = 4
	minMixed      = 6   // of a word without separators; shorter ones are types and the like
	maxIdentifier = 200 // bytes; longer ones are data
	identifierEnd = ".,;:!?'\"`*_>"
)

// ExtractIdentifiers lists the identifiers of a text as they stand there, each once, in
// the order of their first place: paths, URLs, hosts, hashes, ids, versions, long numbers
// and numbers with a unit.
func ExtractIdentifiers(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, part := range promising(text) {
		for _, id := range identifier.FindAllString(part, -1) {
			id = trimEnd(strings.TrimSpace(id))
			if len(id) < minIdentifier || len(id) > maxIdentifier || seen[id] || len(id) < minMixed && mixedWord.MatchString(id) {
				continue
			}
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// promising cuts the parts out of a text in which an identifier may be: runs of words with
// a character that prose has only at its ends, and the word after them, which may be a
// unit. Most text is skipped that way, and matching it is what costs.
func promising(text string) []string {
	var out []string
	from, keep := -1, false // of the part that is open; whether it goes on after this word
	for pos := 0; pos < len(text); {
		end := pos
		for end < len(text) && !isSpace(text[end]) {
			end++
		}
		next := end
		for next < len(text) && isSpace(text[next]) {
			next++
		}
		telling := isTelling(text[pos:end])
		switch {
		case telling && from < 0:
			from = pos
		case !telling && from >= 0 && !keep:
			out = append(out, text[from:pos])
			from = -1
		}
		keep = telling
		pos = next
	}
	if from >= 0 {
		out = append(out, text[from:])
	}
	return out
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// isTelling reports whether a word may be an identifier or the beginning of one.
func isTelling(word string) bool {
	hex := 0
	for i := range len(word) {
		switch b := word[i]; {
		case b >= '0' && b <= '9', b == '/', b == '\\', b == '@', b == '_':
			return true
		case (b == '.' || b == ':') && i > 0 && i < len(word)-1:
			return true
		case b >= 'a' && b <= 'f', b >= 'A' && b <= 'F':
			if hex++; hex >= 8 {
				return true
			}
		default:
			hex = 0
		}
	}
	return false
}

// trimEnd takes off what belongs to the sentence around an identifier: punctuation, and
// what follows a closing bracket that the identifier did not open.
func trimEnd(id string) string {
	depth := map[rune]int{}
	opens := map[rune]rune{')': '(', ']': '[', '}': '{'}
	for i, r := range id {
		switch open, closes := opens[r]; {
		case closes && depth[open] == 0:
			return trimEnd(id[:i])
		case closes:
			depth[open]--
		case r == '(' || r == '[' || r == '{':
			depth[r]++
		}
	}
	return strings.TrimRight(id, identifierEnd)
}

// A ranked identifier is one with the weight of its best speaker and how often it stands
// in the source.
type ranked struct {
	id            string
	weight, count int
	last          int // position of the last segment that has it
}

// rankIdentifiers lists the identifiers that people and the model named, those that
// matter most first: by who named them, then how often, then how recently.
func rankIdentifiers(segs []segment) []ranked {
	at := map[string]int{}
	var out []ranked
	for i, s := range segs {
		if s.weight() < weightAssistant {
			continue
		}
		for _, id := range ExtractIdentifiers(s.ends()) {
			k, ok := at[id]
			if !ok {
				k = len(out)
				at[id] = k
				out = append(out, ranked{id: id})
			}
			r := &out[k]
			r.weight, r.count, r.last = max(r.weight, s.weight()), r.count+1, i
		}
	}
	slices.SortStableFunc(out, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.count, a.count), cmp.Compare(b.last, a.last))
	})
	return out
}

// maxNamed is how many identifiers a summariser is told and a summary is held to.
const maxNamed = 32

// requiredIdentifiers are those of a source that people or the model named.
func requiredIdentifiers(segs []segment) []string {
	var out []string
	for _, r := range rankIdentifiers(segs) {
		if len(out) == maxNamed {
			break
		}
		out = append(out, r.id)
	}
	return out
}

// carriedIdentifiers are those of the previous summary that were listed as exact.
func carriedIdentifiers(previous string) []string {
	var n names
	for _, part := range partsOf(previous) {
		if part.heading == strings.TrimPrefix(headIdentifiers, "## ") {
			n.readLines(part.body)
		}
	}
	return n.order[:min(len(n.order), 2*maxNamed)]
}

// interleave takes turns between two lists, so that neither is cut off by the other.
func interleave(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = appendNew(out, a[i])
		}
		if i < len(b) {
			out = appendNew(out, b[i])
		}
	}
	return out
}

// mixedWord is letters and digits without a separator, and no measure.
var mixedWord = regexp.MustCompile(`^[A-Za-z]+\d\w*$`)

var pureHex = regexp.MustCompile(`^[0-9a-fA-F]{8,}$`)
