package jsonx

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Members yields the members of an object in order, duplicates included: the decoded
// key and the value without surrounding space. Both are valid until the loop body ends
// unless copied; the value is a slice of object. An unpaired surrogate in a key becomes
// the three bytes that a UTF-8 encoder without checks would write, so that distinct keys
// stay distinct; [AppendKey] turns it back into an escape.
func Members(object []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		i := skipSpace(object, 0)
		if i >= len(object) || object[i] != '{' {
			return
		}
		i = skipSpace(object, i+1)
		for i < len(object) && object[i] == '"' {
			end := skipString(object, i)
			key := decodeKey(object[i:end])
			i = skipSpace(object, end)
			if i >= len(object) || object[i] != ':' {
				return
			}
			i = skipSpace(object, i+1)
			end = skipValue(object, i)
			if end == i || !yield(key, object[i:end:end]) {
				return
			}
			i = skipSpace(object, end)
			if i >= len(object) || object[i] != ',' {
				return
			}
			i = skipSpace(object, i+1)
		}
	}
}

// Elements yields the elements of an array in order, as slices of it.
func Elements(array []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		i := skipSpace(array, 0)
		if i >= len(array) || array[i] != '[' {
			return
		}
		i = skipSpace(array, i+1)
		for i < len(array) && array[i] != ']' {
			end := skipValue(array, i)
			if end == i || !yield(array[i:end:end]) {
				return
			}
			i = skipSpace(array, end)
			if i >= len(array) || array[i] != ',' {
				return
			}
			i = skipSpace(array, i+1)
		}
	}
}

// Get returns the value of the last member named key, nil when there is none. It is a
// slice of object.
func Get(object []byte, key string) json.RawMessage {
	var found json.RawMessage
	for k, v := range Members(object) {
		if string(k) == key {
			found = v
		}
	}
	return found
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at b[i]. It jumps from
// quote to quote, which is what makes long texts cheap.
func skipString(b []byte, i int) int {
	start := i + 1
	for from := start; ; {
		q := bytes.IndexByte(b[from:], '"')
		if q < 0 {
			return len(b)
		}
		q += from
		back := q
		for back > start && b[back-1] == '\\' {
			back--
		}
		if (q-back)%2 == 0 {
			return q + 1
		}
		from = q + 1
	}
}

// skipValue returns the index after the value at b[i], or i when there is none.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && !isDelimiter(b[i]) {
		i++
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

func isDelimiter(c byte) bool {
	switch c {
	case ' ', '\n', '\t', '\r', ',', ':', ']', '}', '{', '[', '"':
		return true
	}
	return false
}
