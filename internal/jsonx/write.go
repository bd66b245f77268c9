package jsonx

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string without HTML escaping. Invalid UTF-8 becomes
// U+FFFD.
func AppendString(dst []byte, s string) []byte {
	return appendQuoted(dst, s, replaceBroken)
}

// AppendKey appends an object key as [Members] gave it: surrogates come back as escapes
// and invalid bytes as they were.
func AppendKey(dst []byte, key string) []byte {
	return appendQuoted(dst, key, keepBroken)
}

func appendQuoted(dst []byte, s string, mode broken) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendControl(dst, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || size > 1 {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		dst, size = appendBroken(dst, s[i:], mode)
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
	}
}

// appendBroken writes what is no UTF-8 at the start of s and returns its length in s.
func appendBroken(dst []byte, s string, mode broken) ([]byte, int) {
	if mode == replaceBroken {
		return append(dst, "\ufffd"...), 1
	}
	if len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && s[2] >= 0x80 && s[2] <= 0xbf {
		r := uint16(0xd000) | uint16(s[1]&0x3f)<<6 | uint16(s[2]&0x3f)
		dst = append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
		return dst, 3
	}
	return append(dst, s[0]), 1
}

// An Object appends one JSON object to a buffer, member by member. Make it with
// [NewObject], end it with [Object.Close]. It belongs to one goroutine.
type Object struct {
	buf   []byte
	start int
	err   error
}

// NewObject starts an object at the end of dst.
func NewObject(dst []byte) Object {
	dst = append(dst, '{')
	return Object{buf: dst, start: len(dst)}
}

// Close ends the object and returns the buffer. The error is the first one met; the
// buffer is then of no use.
func (o *Object) Close() ([]byte, error) {
	return append(o.buf, '}'), o.err
}

// Fail records an error found while a value was being made.
func (o *Object) Fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// Key starts a member; the caller appends its value with [Object.Append].
func (o *Object) Key(key string) {
	if len(o.buf) > o.start {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(AppendKey(o.buf, key), ':')
}

// Append lets a function append the value of the member that Key started.
func (o *Object) Append(value func(dst []byte) ([]byte, error)) {
	out, err := value(o.buf)
	if err != nil {
		o.Fail(err)
		return
	}
	o.buf = out
}

// String writes a string member.
func (o *Object) String(key, value string) {
	o.Key(key)
	o.buf = AppendString(o.buf, value)
}

// Int writes an integer member.
func (o *Object) Int(key string, value int64) {
	o.Key(key)
	o.buf = strconv.AppendInt(o.buf, value, 10)
}

// Bool writes a boolean member.
func (o *Object) Bool(key string, value bool) {
	o.Key(key)
	o.buf = strconv.AppendBool(o.buf, value)
}

// Raw writes a member byte for byte. A value that is not JSON is an error that names
// the key.
func (o *Object) Raw(key string, value json.RawMessage) {
	if !json.Valid(value) {
		o.Fail(fmt.Errorf("field %q: %w", key, Check(value)))
		return
	}
	o.Key(key)
	o.buf = append(o.buf, value...)
}

// Extra writes the members of a map in key order, without those that skip names and
// without empty values.
func (o *Object) Extra(extra map[string]json.RawMessage, skip func(key string) bool) {
	if len(extra) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if value := extra[key]; len(value) > 0 && (skip == nil || !skip(key)) {
			o.Raw(key, value)
		}
	}
}
