package jsonx

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Fit says how well a Go value stands for a JSON value.
type Fit uint8

const (
	// Unfit: the value is of another kind, or out of range; the Go value is zero.
	Unfit Fit = iota
	// Inexact: the Go value is right to work with, but would be written differently:
	// 1.0 for an int, a string with an unpaired surrogate or invalid UTF-8.
	Inexact
	// Exact: the Go value is written back as an equal JSON value.
	Exact
)

// String decodes a JSON string. Unpaired surrogates and invalid UTF-8 become U+FFFD, as
// in encoding/json, and make the result Inexact.
func String(raw []byte) (string, Fit) {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", Unfit
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		return string(body), Exact
	}
	out, exact := unescape(body, replaceBroken)
	if !exact {
		return string(out), Inexact
	}
	return string(out), Exact
}

// Int decodes a JSON number that is an integer. An integer in another notation than the
// plain decimal one (1.0, 1e3, -0) is Inexact; a fraction or a number out of range is
// Unfit.
func Int(raw []byte) (int64, Fit) {
	if KindOf(raw) != Number {
		return 0, Unfit
	}
	s := string(bytes.TrimSpace(raw))
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if s == "-0" {
			return 0, Inexact
		}
		return n, Exact
	}
	// Beyond 2^53 a float no longer says which integer was meant.
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, Unfit
	}
	return int64(f), Inexact
}

// Bool decodes true or false.
func Bool(raw []byte) (value bool, fit Fit) {
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		return true, Exact
	case "false":
		return false, Exact
	default:
		return false, Unfit
	}
}

// broken says what becomes of code units that are no Unicode text.
type broken uint8

const (
	replaceBroken broken = iota
	keepBroken           // surrogates as their three bytes, invalid bytes as they are
)

// decodeKey decodes a key without losing anything; plain keys are not copied.
func decodeKey(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	body := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	out, _ := unescape(body, keepBroken)
	return out
}

// unescape decodes the inside of a JSON string and reports whether all of it was text.
func unescape(body []byte, mode broken) (out []byte, exact bool) {
	out, exact = make([]byte, 0, len(body)), true
	for i := 0; i < len(body); {
		c := body[i]
		switch {
		case c == '\\':
			var ok bool
			out, i, ok = appendEscape(out, body, i, mode)
			exact = exact && ok
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, size := utf8.DecodeRune(body[i:])
			if r != utf8.RuneError || size > 1 || mode == keepBroken {
				out = append(out, body[i:i+size]...)
			} else {
				out = utf8.AppendRune(out, utf8.RuneError)
			}
			exact = exact && (r != utf8.RuneError || size > 1)
			i += size
		}
	}
	return out, exact
}

// appendEscape decodes the escape at body[i] and returns the index after it.
func appendEscape(out, body []byte, i int, mode broken) ([]byte, int, bool) {
	if i+1 >= len(body) {
		return out, len(body), false
	}
	if c := body[i+1]; c != 'u' {
		return append(out, simpleEscape(c)), i + 2, true
	}
	r, ok := hex4(body, i+2)
	if !ok {
		return out, len(body), false
	}
	i += 6
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r), i, true
	}
	if i+1 < len(body) && body[i] == '\\' && body[i+1] == 'u' {
		if low, ok := hex4(body, i+2); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return utf8.AppendRune(out, full), i + 6, true
			}
		}
	}
	if mode == keepBroken {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), i, false
	}
	return utf8.AppendRune(out, utf8.RuneError), i, false
}

func simpleEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c
	}
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[i:i+4]), 16, 32)
	return rune(n), err == nil
}
