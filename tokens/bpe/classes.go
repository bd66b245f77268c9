package bpe

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// A class is the set of properties that the patterns ask of a character.
type class uint8

const (
	letter  class = 1 << iota // \p{L}
	number                    // \p{N}
	space                     // \s
	newline                   // \r or \n
	upper                     // upper and title case, and all letters without case, and marks
	lower                     // lower case, and all letters without case, and marks
)

const pageBits = 8

// A classTable holds the class of every code point in shared pages.
type classTable struct {
	ascii [utf8.RuneSelf]class
	page  [(unicode.MaxRune + 1) >> pageBits]uint8
	pages [][1 << pageBits]class
}

// runeClasses builds the table at first use; all encodings share it.
var runeClasses = sync.OnceValue(func() *classTable {
	flat := make([]class, unicode.MaxRune+1)
	mark := func(c class, tables ...*unicode.RangeTable) {
		for _, t := range tables {
			for _, r := range t.R16 {
				for cp := uint32(r.Lo); cp <= uint32(r.Hi); cp += uint32(r.Stride) {
					flat[cp] |= c
				}
			}
			for _, r := range t.R32 {
				for cp := r.Lo; cp <= r.Hi; cp += r.Stride {
					flat[cp] |= c
				}
			}
		}
	}
	mark(letter, unicode.L)
	mark(number, unicode.N)
	mark(space, unicode.White_Space)
	mark(upper, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
	mark(lower, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M)
	flat['\n'] |= newline
	flat['\r'] |= newline
	return compress(flat)
})

func compress(flat []class) *classTable {
	t := new(classTable)
	copy(t.ascii[:], flat)
	known := map[[1 << pageBits]class]uint8{}
	for i := range t.page {
		p := [1 << pageBits]class(flat[i<<pageBits:])
		index, ok := known[p]
		if !ok {
			index = uint8(len(t.pages))
			known[p] = index
			t.pages = append(t.pages, p)
		}
		t.page[i] = index
	}
	return t
}

// at returns the class and the width of the character at i; width 0 is the end.
func (t *classTable) at(s string, i int) (class, int) {
	if i >= len(s) {
		return 0, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		return t.ascii[c], 1
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	return t.pages[t.page[r>>pageBits]][r&(1<<pageBits-1)], w
}

// run returns the end of the run of characters with a property of c that starts at i.
func (t *classTable) run(s string, i int, c class) int {
	for {
		got, w := t.at(s, i)
		if got&c == 0 {
			return i
		}
		i += w
	}
}
