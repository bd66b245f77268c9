package prune

import (
	"strconv"
	"strings"
)

// What the model reads where something was left out. None of the notes holds a word for
// which HasImportantTail would keep it. The lengths of the texts about tool
// results without an entry are those of OpenClaw 2026.7.1, so that equal limits leave
// equally much room.
const (
	// EmptyText stands in a message that would have no content at all.
	EmptyText = "[no content]"
	// FailedText stands for an assistant turn that ended before it said anything.
	FailedText = "[this answer failed before it said anything]"
	// OmittedReasoningText stands for a turn of which only reasoning was left.
	OmittedReasoningText = "[reasoning not shown]"
	// OmittedCallsText stands for a turn of which only calls without results were left.
	OmittedCallsText = "[tool calls without results not shown]"
	// SessionStartText opens a list for providers that refuse an assistant as the first.
	SessionStartText = "[the session begins]"
	// PrunedImageText stands for an image in a tool result that CacheTTL shortened.
	PrunedImageText = "[an image stood here; no longer shown]"
	// ClearedText stands for a tool result that CacheTTL cleared.
	ClearedText = "[earlier tool output is left out]"
	// SeenImageText stands for an image of an earlier turn.
	SeenImageText = "[an image that you have seen stood here]"
	// SeenMediaText stands for a reference to media of an earlier turn. It is shorter than
	// any such reference.
	SeenMediaText = "[seen media]"
	// UnreadableImageText stands for an image that no provider would take.
	UnreadableImageText = "[an image that cannot be sent stood here]"

	droppedText = "[tool output dropped: all results together were too long for the model; run the tool again to see it.]"
	middleText  = "\n\n[... start and end are shown; the part between was cut ...]\n\n"
)

// A notice says how much of a text is missing and, for an entry of the log, where all of
// it is.
type notice struct {
	entry string // entry id, "" when the text is stored nowhere else
	brief bool   // for lists in which the notices alone would be too long
}

// text is the notice for n missing characters.
func (o notice) text(n int) string {
	number := "[... " + strconv.Itoa(max(1, n))
	switch {
	case o.brief:
		return number + " chars cut; ask for less here]"
	case o.entry != "":
		return number + " characters of the output left out; all of it is entry " + o.entry + "]"
	default:
		return number + " characters of the output left out; a narrower call shows them]"
	}
}

// floor is the length of the shortest notice.
func (o notice) floor() int { return unitLen(o.text(1)) }

const (
	shortenedStart = "\n\n[Shortened tool output: first "
	shortenedEnd   = ".]"
)

// wasShortened recognises a text that ends with shortenedText.
func wasShortened(text string) bool {
	i := strings.LastIndex(text, shortenedStart)
	return i >= 0 && strings.HasSuffix(text, shortenedEnd) && !strings.Contains(text[i+2:], "\n")
}

// shortenedText follows a result of which CacheTTL kept the start and the end.
func shortenedText(first, last, all int, entry string) string {
	s := shortenedStart + strconv.Itoa(first) + " and last " + strconv.Itoa(last) +
		" of " + strconv.Itoa(all) + " characters are shown"
	if entry != "" {
		s += "; all of it is entry " + entry
	}
	return s + shortenedEnd
}
