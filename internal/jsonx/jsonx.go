// Package jsonx reads and writes JSON objects whose unknown fields must survive.
//
// # Reading
//
// [Members] and [Elements] walk one level of a valid document without decoding what
// they pass; values come out as slices of the input. [String], [Int] and [Bool] say
// whether a value can be held by the Go type, and whether the Go value writes back as
// the same JSON, which encoding/json does not tell.
//
// # Writing
//
// [Object] appends members in the order of the calls, without HTML escaping. [Marshal]
// does the same for any value. Map keys come out sorted.
//
// # Validity
//
// The walkers expect input that [encoding/json.Valid] accepts; [Check] gives the error
// for input that it does not. On anything else they stop early and never panic.
package jsonx

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds. Missing, the zero value, is no value at all.
const (
	Missing Kind = iota
	Null
	Boolean
	Number
	Text
	Array
	Map
)

// String names the kind as an error message would.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Boolean:
		return "boolean"
	case Number:
		return "number"
	case Text:
		return "string"
	case Array:
		return "array"
	case Map:
		return "object"
	default:
		return "nothing"
	}
}

// KindOf tells the kind of a value by its first byte. Empty input is Missing.
func KindOf(raw []byte) Kind {
	i := skipSpace(raw, 0)
	if i == len(raw) {
		return Missing
	}
	switch c := raw[i]; {
	case c == '{':
		return Map
	case c == '[':
		return Array
	case c == '"':
		return Text
	case c == 't' || c == 'f':
		return Boolean
	case c == 'n':
		return Null
	case c == '-' || c >= '0' && c <= '9':
		return Number
	default:
		return Missing
	}
}

// Check returns nil for one valid JSON value and else the error of encoding/json,
// which carries the offset.
func Check(data []byte) error {
	if valid(data) {
		return nil
	}
	var v json.RawMessage
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("invalid json: %w", err)
	}
	return fmt.Errorf("invalid json")
}

// Marshal is json.Marshal without HTML escaping.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// OneLine returns valid JSON without line breaks, for line-oriented files. A break can
// only be white space between tokens, because strings escape theirs, so each becomes a
// space. It returns raw itself when there is none.
func OneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	out := bytes.Clone(raw)
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}
