package main

import (
	"context"
	"errors"
	"strings"

	ce "github.com/go-contextengine/contextengine"
)

// A scriptError is what a scripted engine or factory fails with. Every failure is a value of
// its own, so that its identity can be followed.
type scriptError struct {
	message, name, code string
	causes              []error
}

func (e *scriptError) Error() string { return e.message }

func (e *scriptError) Unwrap() []error { return e.causes }

// Is lets an error named AbortError stand for a cancellation, as its name says.
func (e *scriptError) Is(target error) bool {
	return e.name == "AbortError" && target == context.Canceled
}

// noMeaning is the error of a script that has no counterpart in Go.
type noMeaning struct{ reason string }

func (e *noMeaning) Error() string { return e.reason }

// A filler replaces the placeholders in the texts of a scripted error.
type filler struct {
	keys   []string
	reason error // why the call is over; nil while it is not
}

// signalReason reports whether a cause stands for the reason of the call's own signal.
func signalReason(v any) bool {
	s, _ := v.(string)
	return s == "$signalReason" || s == "$reason" || s == "$signal"
}

func (f filler) text(s string) string {
	if len(f.keys) == 0 {
		return s
	}
	quoted := make([]string, len(f.keys))
	for i, k := range f.keys {
		quoted[i] = "'" + k + "'"
	}
	return strings.NewReplacer("{keys}", strings.Join(quoted, ", "), "{key}", f.keys[0]).Replace(s)
}

// list fills a list of names; an item that is {keys} or {key} stands for names.
func (f filler) list(v any) []string {
	if v == "{keys}" {
		v = []any{v}
	}
	items, _ := listOf(v)
	var out []string
	for _, item := range items {
		switch s, _ := item.(string); s {
		case "":
		case "{keys}":
			out = append(out, f.keys...)
		default:
			out = append(out, f.text(s))
		}
	}
	return out
}

// newScriptError makes the error that an ERR of the language describes; err says that there is
// no such error in Go.
func newScriptError(v any, f filler) (made, err error) {
	switch x := v.(type) {
	case string:
		return &scriptError{message: f.text(x)}, nil
	case map[string]any:
		return scriptErrorOf(x, f)
	}
	return nil, &noMeaning{"only errors can be returned"}
}

func scriptErrorOf(o object, f filler) (made, err error) {
	for _, bare := range []string{"string", "object", "value"} {
		if _, ok := o[bare]; ok {
			return nil, &noMeaning{"only errors can be returned, not a bare " + bare}
		}
	}
	if self, _ := o["selfCause"].(bool); self {
		return nil, &noMeaning{"an error cannot be its own cause: errors.Is would not end"}
	}
	r := read(o)
	e := &scriptError{message: f.text(r.text("message")), name: r.text("name"), code: r.text("code")}
	if cause, ok := r.take("cause"); ok && signalReason(cause) {
		if f.reason != nil {
			e.causes = append(e.causes, f.reason)
		}
	} else if ok {
		c, err := newScriptError(cause, f)
		if err != nil {
			return nil, err
		}
		e.causes = append(e.causes, c)
	}
	for _, key := range []string{"issues", "errors"} {
		issues, _ := listOf(r.o[key])
		for _, issue := range issues {
			e.causes = append(e.causes, issueError(issue, f)...)
		}
	}
	return e, nil
}

// issueError turns one entry of a validator's list into errors: unrecognised keys into the
// typed error, the rest into its text.
func issueError(v any, f filler) []error {
	o, ok := v.(map[string]any) // a bare text is no entry
	if !ok {
		return nil
	}
	var out []error
	if o["code"] == "unrecognized_keys" {
		var params []ce.HostParam
		for _, k := range f.list(o["keys"]) {
			params = append(params, ce.HostParam(k))
		}
		out = append(out, &ce.UnknownParamError{Params: params})
	}
	if s, ok := o["message"].(string); ok {
		out = append(out, errors.New(f.text(s)))
	}
	return out
}
