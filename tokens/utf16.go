package tokens

import "unicode/utf8"

// A width is a text's length as the reference measures it.
type width struct {
	units    int // UTF-16 code units
	weighted int // units, with each East Asian character as four
}

func (w *width) add(o width) {
	w.units += o.units
	w.weighted += o.weighted
}

// eastAsianExtra makes one East Asian character weigh four, which is one token.
const eastAsianExtra = 3

func measure(s string) width {
	var w width
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			w.units++
			w.weighted++
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		w.add(runeWidth(r))
		i += n
	}
	return w
}

func runeWidth(r rune) width {
	w := width{1, 1}
	if r > 0xffff {
		w = width{2, 2}
	}
	if isEastAsian(r) {
		w.weighted = 1 + eastAsianExtra
	}
	return w
}

// isEastAsian reports whether the reference weighs r as a whole token: CJK with its
// radicals and punctuation, kana, Yi, Hangul syllables, full-width forms, and the
// supplementary ideographs.
func isEastAsian(r rune) bool {
	if r < 0x2e80 {
		return false
	}
	return r <= 0x9fff || r >= 0xa000 && r <= 0xa4ff || r >= 0xac00 && r <= 0xd7af ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xff01 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x20000 && r <= 0x2fa1f
}

func utf16Len(s string) int { return measure(s).units }
