package compact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// collapse makes every run of white space one space.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// containsAny reports whether one of parts is in s.
func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// splitWords lists the words of a text in lower case.
func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// cutText shortens a line of more than limit bytes at its end, with a mark.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.TrimSpace(cutBytes(s, limit-utf8.UTFMax)) + " …"
}

// cutBytes returns the longest beginning of at most n bytes that ends with a character.
func cutBytes(s string, n int) string {
	if n >= len(s) {
		return s
	}
	n = max(0, n)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cutBytesFront returns the longest end of at most n bytes that starts with a character.
func cutBytesFront(s string, n int) string {
	if n >= len(s) {
		return s
	}
	i := len(s) - max(0, n)
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}
