package compact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// holds reports whether a text has an identifier by itself, and not as a part of a longer
// one; hashes compare without letter case. lower is the text in lower case.
func holds(text, lower, id string) bool {
	if pureHex.MatchString(id) {
		text, id = lower, strings.ToLower(id)
	}
	for from := 0; id != ""; {
		i := strings.Index(text[from:], id)
		if i < 0 {
			return false
		}
		at := from + i
		if !continuesBefore(text[:at], id) && !continuesAfter(text[at+len(id):], id) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		from = at + size
	}
	return true
}

// isNameRune reports whether a character that touches an identifier belongs to it. Scripts
// without letter case write their words right beside a name.
func isNameRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || unicode.IsUpper(r) || unicode.IsLower(r)
}

// continuesBefore reports whether an identifier begins in what stands before id. A path is
// named by a longer one that ends with it, unless it starts at the root.
func continuesBefore(before, id string) bool {
	last, size := utf8.DecodeLastRuneInString(before)
	if isNameRune(last) {
		return true
	}
	rooted := id[0] == '/'
	if rooted {
		return last == '~' || last == '.' || last == '-'
	}
	prior, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
	switch last {
	case '.', '-', '+':
		return isNameRune(prior)
	case ',': // between the thousands of a number
		return prior >= '0' && prior <= '9' && leadingDigits(id) == 3
	}
	return false
}

// continuesAfter reports whether an identifier goes on in what stands after id. A path is
// named by one that leads on from it.
func continuesAfter(after, id string) bool {
	last, _ := utf8.DecodeLastRuneInString(id)
	if !isNameRune(last) {
		return false
	}
	next, size := utf8.DecodeRuneInString(after)
	if isNameRune(next) {
		return true
	}
	switch next {
	case '.', '-', '+', '@':
		following, _ := utf8.DecodeRuneInString(after[size:])
		return isNameRune(following)
	}
	return false
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
