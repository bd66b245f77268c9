package tokens

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonWidth measures raw JSON as JavaScript would print it again: no blanks, numbers
// in their shortest form, only the escapes that must be. It does not validate; what
// is no JSON is measured as it stands.
func jsonWidth(raw []byte) width {
	var w width
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"':
			var s width
			s, i = jsonStringWidth(raw, i+1)
			w.add(s)
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(raw) && bytes.IndexByte([]byte("+-.eE0123456789"), raw[end]) >= 0 {
				end++
			}
			n := len(jsNumber(string(raw[i:end])))
			w.add(width{n, n})
			i = end
		default:
			r, n := utf8.DecodeRune(raw[i:])
			w.add(runeWidth(r))
			i += n
		}
	}
	return w
}

// jsonStringWidth measures the string whose text starts at i, with both quotes, and
// returns the index after the closing one.
func jsonStringWidth(raw []byte, i int) (width, int) {
	w := width{2, 2}
	for i < len(raw) && raw[i] != '"' {
		r, n := jsonRune(raw[i:])
		i += n
		if utf16.IsSurrogate(r) && i < len(raw) && raw[i] == '\\' {
			low, m := jsonRune(raw[i:])
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				r = pair
				i += m
			}
		}
		w.add(escapedWidth(r))
	}
	return w, min(i+1, len(raw))
}

// jsonRune decodes one character or escape of a JSON string; a surrogate escape is
// returned as the surrogate.
func jsonRune(b []byte) (r rune, n int) {
	if b[0] != '\\' || len(b) < 2 {
		return utf8.DecodeRune(b)
	}
	switch b[1] {
	case 'n', 'r', 't', 'b', 'f':
		return '\n', 2 // all are printed as two characters
	case 'u':
		if len(b) >= 6 {
			if v, err := strconv.ParseUint(string(b[2:6]), 16, 16); err == nil {
				return rune(v), 6
			}
		}
	}
	return rune(b[1]), 2
}

func escapedWidth(r rune) width {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return width{2, 2}
	case r < ' ', utf16.IsSurrogate(r):
		return width{6, 6}
	}
	return runeWidth(r)
}

// jsNumber prints a JSON number as ECMAScript's Number::toString does.
func jsNumber(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	if math.IsInf(f, 0) {
		return "null"
	}
	if err != nil {
		return s
	}
	if f == 0 {
		return "0"
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	sign := exp[:1]
	return mantissa + "e" + sign + strings.TrimLeft(exp[1:], "0")
}
