package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// An object is a JSON object of the scenario language, its literals resolved.
type object = map[string]any

// undefinedValue is the literal "$undefined": a member that is there without a value.
type undefinedValue struct{}

// setValue is the literal {"$set": […]}.
type setValue []any

// literals replaces the literals of the scenario language in a decoded JSON value.
func literals(v any) any {
	switch x := v.(type) {
	case string:
		switch x {
		case "$undefined":
			return undefinedValue{}
		case "$NaN":
			return math.NaN()
		case "$Infinity":
			return math.Inf(1)
		case "$-Infinity", "-$Infinity":
			return math.Inf(-1)
		}
	case []any:
		for i := range x {
			x[i] = literals(x[i])
		}
	case map[string]any:
		if set, ok := x["$set"].([]any); ok && len(x) == 1 {
			return setValue(literals(set).([]any))
		}
		for k := range x {
			x[k] = literals(x[k])
		}
	}
	return v
}

// plain turns resolved literals back into what an outcome writes for them.
func plain(v any) any {
	switch x := v.(type) {
	case undefinedValue:
		return "$undefined"
	case setValue:
		return object{"$set": plain([]any(x))}
	case float64:
		switch {
		case math.IsNaN(x):
			return "$NaN"
		case math.IsInf(x, 0):
			return "$Infinity"
		}
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plain(x[i])
		}
		return out
	case map[string]any:
		out := make(object, len(x))
		for k := range x {
			out[k] = plain(x[k])
		}
		return out
	}
	return v
}

// trimmed removes white space as the language of the reference knows it.
func trimmed(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r) })
}

// absent reports whether a value stands for nothing.
func absent(v any) bool {
	_, undefined := v.(undefinedValue)
	return v == nil || undefined
}

// A reader takes typed members out of an object and keeps account of what does not fit.
type reader struct {
	o    object
	used map[string]bool
	// bad names the members whose values have no place in the Go type.
	bad []string
}

// read starts to read v, which is an object or nothing.
func read(v any) *reader {
	r := &reader{used: map[string]bool{}}
	switch x := v.(type) {
	case map[string]any:
		r.o = x
	default:
		if !absent(v) {
			r.bad = append(r.bad, fmt.Sprintf("the value %v", show(plain(v))))
		}
	}
	return r
}

func (r *reader) take(key string) (any, bool) {
	r.used[key] = true
	v, ok := r.o[key]
	return v, ok && !absent(v)
}

func (r *reader) fail(key string) { r.bad = append(r.bad, fmt.Sprintf("the value of %q", key)) }

func (r *reader) text(key string) string {
	v, ok := r.take(key)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fail(key)
	}
	return s
}

func (r *reader) textPointer(key string) *string {
	if v, ok := r.take(key); !ok || absent(v) {
		return nil
	}
	s := r.text(key)
	return &s
}

func (r *reader) flag(key string) bool {
	v, ok := r.take(key)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		r.fail(key)
	}
	return b
}

func (r *reader) number(key string) int {
	v, ok := r.take(key)
	if !ok {
		return 0
	}
	n, ok := intOf(v)
	if !ok {
		r.fail(key)
	}
	return n
}

func (r *reader) numberPointer(key string) *int {
	if _, ok := r.take(key); !ok {
		return nil
	}
	n := r.number(key)
	return &n
}

func (r *reader) raw(key string) json.RawMessage {
	v, ok := r.take(key)
	if !ok {
		return nil
	}
	out, err := json.Marshal(plain(v))
	if err != nil {
		r.fail(key)
	}
	return out
}

// sub reads a member that is an object; nil when it is absent.
func (r *reader) sub(key string) *reader {
	v, ok := r.take(key)
	if !ok {
		return nil
	}
	s := read(v)
	if len(s.bad) > 0 {
		r.fail(key)
	}
	return s
}

// texts reads a list or set of texts; nil when it is absent.
func (r *reader) texts(key string) []string {
	v, ok := r.take(key)
	if !ok {
		return nil
	}
	items, ok := listOf(v)
	if !ok {
		r.fail(key)
		return nil
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			r.fail(key)
			continue
		}
		out = append(out, s)
	}
	return out
}

// rest names the members that nobody read.
func (r *reader) rest() []string {
	var out []string
	for k, v := range r.o {
		if !r.used[k] && !absent(v) {
			out = append(out, k)
		}
	}
	return out
}

func listOf(v any) ([]any, bool) {
	switch x := v.(type) {
	case []any:
		return x, true
	case setValue:
		return x, true
	}
	return nil, false
}

// intOf reads a JSON number that an int can hold.
func intOf(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int(f), true
}
