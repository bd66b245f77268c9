// Package paramcompat recognises, by their text, the errors of schema
// validators that reject unknown fields. It is the only place where error text
// decides anything.
package paramcompat

import (
	"regexp"
	"slices"
)

const (
	maxText  = 64 << 10 // bytes of one error text that are looked at
	maxDepth = 64       // errors of one tree that are looked at
)

// Rejected returns those of the candidate field names that err, or an error in
// its tree, says a schema does not know, in the order of candidates. The name
// must be quoted ('…', "…" or `…`); letter case does not matter. Recognised are
// the usual words of validators:
//
//   - unrecognized key(s) in object: 'name'
//   - additional property 'name', additional properties: 'name'
//   - unexpected, extraneous, unknown or invalid property, field or key 'name'
//     (encoding/json's own text is one of these)
//   - 'name' is not allowed, 'name' was not allowed
//   - JSON with "code":"unrecognized_keys" and the name behind it
//
// Known to be missed: names without quotes, "unknown parameter", "unexpected
// keyword argument". Known to be taken wrongly: a text that speaks of another
// invalid field and quotes the name behind it.
func Rejected(err error, candidates []string) []string {
	var out []string
	texts := collect(err)
	for _, name := range candidates {
		if slices.ContainsFunc(texts, pattern(name).MatchString) {
			out = append(out, name)
		}
	}
	return out
}

func pattern(name string) *regexp.Regexp {
	quoted := "['\"`]" + regexp.QuoteMeta(name) + "['\"`]"
	const rest = `[^\n\r\x{2028}\x{2029}]*` // of a line, however it ends
	return regexp.MustCompile(`(?i)` +
		`\bunrecognized key(?:\(s\)|s)? in object:` + rest + quoted +
		`|\badditional propert(?:y|ies)\b` + rest + quoted +
		`|\b(?:unexpected|extraneous|unknown|invalid)\s+(?:property|properties|fields?|keys?)\b` + rest + quoted +
		`|` + quoted + rest + `\b(?:is|was)\s+not allowed\b` +
		`|(?s:"code"\s*:\s*"unrecognized_keys".*"` + regexp.QuoteMeta(name) + `")`)
}

// collect returns the texts of an error and of everything that it wraps.
func collect(err error) []string {
	var texts []string
	todo := []error{err}
	for len(todo) > 0 && len(texts) < maxDepth {
		e := todo[0]
		todo = todo[1:]
		if e == nil {
			continue
		}
		if text := e.Error(); len(text) > maxText {
			texts = append(texts, text[:maxText])
		} else {
			texts = append(texts, text)
		}
		switch u := e.(type) {
		case interface{ Unwrap() error }:
			todo = append(todo, u.Unwrap())
		case interface{ Unwrap() []error }:
			todo = append(todo, u.Unwrap()...)
		}
	}
	return texts
}
