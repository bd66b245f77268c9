package main

import (
	"encoding/json"
	"fmt"
	"unsafe"

	"github.com/go-contextengine/contextengine/message"
)

// decodeInput reads the parameters of a case.
func decodeInput[T any](in json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(in, &v); err != nil {
		return v, fmt.Errorf("decoding the input: %w", err)
	}
	return v, nil
}

// timestamps reduces a list of messages to its epoch milliseconds, as the recordings do; nil
// stands for a message without a time.
func timestamps(ms []message.Message) []any {
	out := make([]any, len(ms))
	for i, m := range ms {
		if !m.Timestamp.IsZero() {
			out[i] = m.Timestamp.UnixMilli()
		}
	}
	return out
}

// timestampLists reduces several lists of messages.
func timestampLists(lists [][]message.Message) []any {
	out := make([]any, len(lists))
	for i, ms := range lists {
		out[i] = timestamps(ms)
	}
	return out
}

// sameSlice reports whether b is a itself: the same elements at the same place in memory. That
// is what "same": true means in a recording.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}
