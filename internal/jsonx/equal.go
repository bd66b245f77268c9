package jsonx

import (
	"bytes"
	"encoding/json"
)

// Equal reports whether two valid values mean the same: objects without regard to the
// order of members (the last of duplicates counts), numbers by their literal (1 and 1.0
// differ), strings by their code units, unpaired surrogates included. Two empty values
// are equal.
func Equal(a, b []byte) bool {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if bytes.Equal(a, b) {
		return true
	}
	kind := KindOf(a)
	if kind != KindOf(b) {
		return false
	}
	switch kind {
	case Text:
		return bytes.Equal(decodeKey(a), decodeKey(b))
	case Array:
		return equalArrays(a, b)
	case Map:
		return equalObjects(a, b)
	default:
		return false
	}
}

func equalArrays(a, b []byte) bool {
	var left, right []json.RawMessage
	for v := range Elements(a) {
		left = append(left, v)
	}
	for v := range Elements(b) {
		right = append(right, v)
	}
	if len(left) != len(right) {
		return false
	}
	for i := range left {
		if !Equal(left[i], right[i]) {
			return false
		}
	}
	return true
}

func equalObjects(a, b []byte) bool {
	left, right := Fields(a), Fields(b)
	if len(left) != len(right) {
		return false
	}
	for k, v := range left {
		w, ok := right[k]
		if !ok || !Equal(v, w) {
			return false
		}
	}
	return true
}

// Fields returns the members of an object by key, the last of duplicates. The values
// are slices of object; copy what outlives it.
func Fields(object []byte) map[string]json.RawMessage {
	fields := make(map[string]json.RawMessage)
	for k, v := range Members(object) {
		fields[string(k)] = v
	}
	return fields
}
