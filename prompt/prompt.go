// Package prompt has the shape of a system prompt: what stays the same from request to
// request, what does not, and what the text is made of. The text is the host's.
//
//	System: func(ctx context.Context, r prompt.Run) (prompt.Prompt, error) { // of host.Options
//		return prompt.Prompt{Stable: instructions, Dynamic: "It is " + weekday()}, nil
//	},
package prompt

import (
	"strings"
	"unicode/utf8"

	ce "github.com/go-contextengine/contextengine"
)

// A Prompt is stable text, the cache boundary, dynamic text, and what each
// section cost. The zero value is the empty prompt. A Prompt is a value: methods
// return a changed copy, and its slices are shared and read-only.
type Prompt struct {
	// Stable is the same in every request of a session, so that a provider can
	// cache it; Dynamic comes after the cache boundary. Where Stable is empty the
	// boundary is at the very front.
	Stable, Dynamic string
	// Sections says what the text is made of, in order; Files, Skills and Tools what of
	// the workspace and the run went into it. All are optional and for reports: nothing
	// of them is sent.
	Sections []Section
	Files    []File
	Skills   []Skill
	Tools    []ce.Tool
}

// A Section is a named part of the prompt and its length in characters.
type Section struct {
	Name  string
	Chars int
}

// A File is a bootstrap file of the workspace and how much of it was injected.
type File struct {
	Name, Path              string
	Missing, Truncated      bool
	RawChars, InjectedChars int // characters as stored and as sent
}

// A Skill is one line of the skill list: the model reads Location on demand.
type Skill struct{ Name, Description, Location string }

// Names of sections that this file makes.
const (
	sectionText     = "text"
	sectionAddition = "engine addition"
)

// gap separates two parts of a prompt.
const gap = "\n\n"

// Text makes a prompt of a plain string. Nothing is known about what of it is
// stable, so all of it stands after the cache boundary.
func Text(s string) Prompt {
	if s == "" {
		return Prompt{}
	}
	return Prompt{Dynamic: s, Sections: []Section{{Name: sectionText, Chars: utf8.RuneCountInString(s)}}}
}

// String is the whole text: the stable part, a blank line, the dynamic part.
func (p Prompt) String() string {
	if p.Stable == "" || p.Dynamic == "" {
		return p.Stable + p.Dynamic
	}
	return p.Stable + gap + p.Dynamic
}

// With returns p with an engine's addition right after the cache boundary, so
// that the cached part in front of it stays as it is. The addition's line ends
// and surrounding blanks are normalised; a blank one changes nothing. A later
// addition comes in front of an earlier one.
func (p Prompt) With(addition string) Prompt {
	addition = normalise(addition)
	if addition == "" {
		return p
	}
	text := addition
	if p.Dynamic != "" {
		text += gap + p.Dynamic
	}
	p.Dynamic = text
	sections := make([]Section, 0, len(p.Sections)+1)
	sections = append(sections, p.Sections...)
	p.Sections = append(sections, Section{Name: sectionAddition, Chars: utf8.RuneCountInString(addition)})
	return p
}

// normalise gives text one line end, no blanks at the end of a line, none around
// it, and no invalid bytes.
func normalise(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Mode says how much of the system prompt a run gets. The zero value is
// [ModeFull].
type Mode string

// Modes.
const (
	ModeFull    Mode = "full"    // every section
	ModeMinimal Mode = "minimal" // subagents: tools, safety, workspace
	ModeNone    Mode = "none"    // one line of identity
)

// Valid reports whether m is known; "" is.
func (m Mode) Valid() bool {
	return m == "" || m == ModeFull || m == ModeMinimal || m == ModeNone
}

// A Run is what is known of the run that a prompt is built for.
type Run struct {
	Ref   ce.SessionRef
	Mode  Mode
	Tools []ce.Tool // the run's tools, shared and read-only
	Model string    // "": unknown
	// Memory is rendered by the prompt when legacy answers; other engines put it
	// in their addition. nil: none.
	Memory ce.MemorySection
}
