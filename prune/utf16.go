package prune

import (
	"strings"
	"unicode/utf8"
)

// Lengths of text are UTF-16 code units, as in OpenClaw, whose limits these are. Cuts fall
// between characters, so that a piece of valid UTF-8 stays valid.

// maxBMP is the last code point that takes one unit; those above take two.
const maxBMP = 0xffff

func unitLen(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > maxBMP {
			n++
		}
	}
	return n
}

// longer reports whether s has more than n units. Most texts are decided by their bytes:
// a unit takes one to three of them.
func longer(s string, n int) bool {
	if len(s) <= n {
		return false
	}
	return len(s) > 3*n || unitLen(s) > n
}

// head returns the longest beginning of s of at most n units.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		used++
		if r > maxBMP {
			used++
		}
		if used > n {
			return s[:i]
		}
	}
	return s
}

// tail returns the longest end of s of at most n units.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s)
	for used := 0; i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		used++
		if r > maxBMP {
			used++
		}
		if used > n {
			break
		}
		i -= size
	}
	return s[i:]
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
