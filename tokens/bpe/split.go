package bpe

import "strings"

// A nextFunc returns the length of the piece that s, which is not empty, starts with.
// Pieces are what the public patterns of the encodings match; merging never crosses
// their borders.
type nextFunc func(t *classTable, s string) int

// nextO200k splits for o200k_base.
func nextO200k(t *classTable, s string) int {
	c, w := t.at(s, 0)
	if n := o200kWord(t, s, c, w); n > 0 {
		return n + contraction(s[n:])
	}
	if c&number != 0 {
		return numbers(t, s, w)
	}
	if n := punctuation(t, s); n > 0 {
		for n < len(s) && (s[n] == '\r' || s[n] == '\n' || s[n] == '/') {
			n++
		}
		return n
	}
	return blanks(t, s)
}

// nextCL100k splits for cl100k_base.
func nextCL100k(t *classTable, s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	c, w := t.at(s, 0)
	if c&letter != 0 {
		return t.run(s, w, letter)
	}
	if c&number != 0 {
		return numbers(t, s, w)
	}
	if c&newline == 0 {
		if next, nw := t.at(s, w); next&letter != 0 {
			return t.run(s, w+nw, letter)
		}
	}
	if n := punctuation(t, s); n > 0 {
		for n < len(s) && (s[n] == '\r' || s[n] == '\n') {
			n++
		}
		return n
	}
	return blanks(t, s)
}

// o200kWord matches a word with its optional leading character: upper-case letters
// followed by lower-case ones if it can, else upper-case ones alone; with the leading
// character if it can, else without. It returns 0 for no word.
func o200kWord(t *classTable, s string, c class, w int) int {
	var withLead casedWord
	if c&(letter|number|newline) == 0 {
		withLead = matchCased(t, s, w)
		if withLead.lower > 0 {
			return withLead.lower
		}
	}
	var bare casedWord
	if c&(upper|lower) != 0 {
		bare = matchCased(t, s, 0)
	}
	switch {
	case bare.lower > 0:
		return bare.lower
	case withLead.upper > 0:
		return withLead.upper
	default:
		return bare.upper
	}
}

// A casedWord holds the ends of the two ways to match a word; 0 is no match.
type casedWord struct {
	lower int // ends in a character that may be lower case
	upper int // upper case only
}

func matchCased(t *classTable, s string, start int) casedWord {
	end, caseless := start, 0
	var c class
	var w int
	for {
		c, w = t.at(s, end)
		if c&upper == 0 {
			break
		}
		end += w
		if c&lower != 0 {
			caseless = end
		}
	}
	switch {
	case c&lower != 0:
		return casedWord{lower: t.run(s, end+w, lower)}
	case caseless > 0:
		return casedWord{lower: caseless}
	case end > start:
		return casedWord{upper: end}
	}
	return casedWord{}
}

// contraction returns the length of 's 't 'm 'd 're 've 'll at the start of s, in
// either case; the long s counts as an s.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(s) > 2 && s[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if len(s) > 2 && s[2]|0x20 == 'l' {
			return 3
		}
	}
	if strings.HasPrefix(s[1:], "\u017f") {
		return 3
	}
	return 0
}

// numbers matches one to three digits; the first has width w.
func numbers(t *classTable, s string, w int) int {
	end := w
	for range 2 {
		c, w := t.at(s, end)
		if c&number == 0 {
			break
		}
		end += w
	}
	return end
}

// punctuation matches a run of what is no letter, number or blank, with one optional
// space before it; 0 is no match.
func punctuation(t *classTable, s string) int {
	start := 0
	if s[0] == ' ' {
		start = 1
	}
	end := start
	for {
		c, w := t.at(s, end)
		if w == 0 || c&(space|letter|number) != 0 {
			break
		}
		end += w
	}
	if end == start {
		return 0
	}
	return end
}

// blanks matches white space: up to the last line break of the run, else the run
// without its last character, which belongs to the word that follows.
func blanks(t *classTable, s string) int {
	end, last, afterNewline := 0, 0, 0
	for {
		c, w := t.at(s, end)
		if c&space == 0 {
			break
		}
		last = end
		end += w
		if c&newline != 0 {
			afterNewline = end
		}
	}
	switch {
	case afterNewline > 0:
		return afterNewline
	case end == len(s) || last == 0:
		return end
	}
	return last
}
