package compact

import (
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// A segment is what one speaker said in a source.
type segment struct {
	label, text string
}

// segments reads a source back; text without labels is one segment.
func segments(source string) []segment {
	source = unfence(source)
	at := labelLike.FindAllStringIndex(source, -1)
	if len(at) == 0 {
		return []segment{{text: source}}
	}
	out := make([]segment, 0, len(at))
	for i, a := range at {
		end := len(source)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out = append(out, segment{
			label: source[a[0]+1 : a[1]-len("]: ")],
			text:  strings.TrimSpace(source[a[1]:end]),
		})
	}
	return out
}

// weight is how much it says about an identifier that this speaker named it. What people
// and the model write matters more than what tools print.
func (s segment) weight() int {
	switch {
	case s.label == labelUser:
		return weightUser
	case strings.HasPrefix(s.label, labelCall), s.label == labelShell:
		return weightCall
	case strings.HasPrefix(s.label, labelResult), strings.HasPrefix(s.label, labelFailure):
		return weightResult
	}
	return weightAssistant
}

// Weights of speakers, the least first.
const (
	weightResult = iota + 1
	weightCall
	weightAssistant
	weightUser
)

// maxSearched is how many bytes of what one speaker said are looked through for identifiers,
// half of them from the beginning. More than that is pasted in.
const maxSearched = 128 << 10

const blanks = " \n\t\r"

// ends is a long text without its middle.
func (s segment) ends() string {
	if len(s.text) <= maxSearched {
		return s.text
	}
	head, tail := cutBytes(s.text, maxSearched/2), cutBytesFront(s.text, maxSearched/2)
	// A word that is cut would be another identifier. Some scripts have no blanks.
	if i := strings.LastIndexAny(head, blanks); i >= 0 {
		head = head[:i]
	}
	return head + "\n" + tail[strings.IndexAny(tail, blanks)+1:]
}

// segmentsOf renders messages and tells the speakers apart.
func (s *settings) segmentsOf(ms []message.Message) []segment {
	var out []segment
	for _, p := range s.pieces(ms, usualLimits()) {
		out = append(out, segments(p.text)...)
	}
	return out
}

// lastAsk returns what the user said last; in a turn that goes on it is not done.
func lastAsk(segs []segment) string {
	for i := len(segs) - 1; i >= 0; i-- {
		if segs[i].label == labelUser {
			return segs[i].text
		}
	}
	return ""
}

// unanswered returns what the user said last, when nobody answered it in words.
func unanswered(segs []segment) string {
	for i := len(segs) - 1; i >= 0; i-- {
		switch segs[i].label {
		case labelAssistant:
			return ""
		case labelUser:
			return segs[i].text
		}
	}
	return ""
}
