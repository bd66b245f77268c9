package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

// charEstimator counts what the reference weighs when it prunes: characters, East Asian
// ones as four.
type charEstimator struct{}

func (charEstimator) Text(s string) int { return weighedChars(s) }

func (charEstimator) Schema(tool json.RawMessage) int { return len(tool) }

func (charEstimator) Message(m message.Message) int {
	const imageChars, otherRole = 8_000, 256
	n := 0
	switch m.Role {
	case message.RoleUser, message.RoleToolResult, message.RoleAssistant:
	default:
		return otherRole
	}
	for _, b := range m.Content {
		switch {
		case b.Type == message.BlockText:
			n += weighedChars(b.Text)
		case b.Type == message.BlockImage && m.Role != message.RoleAssistant:
			n += imageChars
		case m.Role != message.RoleAssistant:
		case b.Type == message.BlockThinking:
			n += weighedChars(b.Text) + weighedChars(b.Signature)
		case b.Type == "redacted_thinking":
			n += weighedChars(b.Text) + weighedChars(b.Data) + weighedChars(b.Signature) + weighedChars(textOf(b.Extra["thinkingSignature"]))
		case b.Type == message.BlockToolCall:
			n += max(2, jsonLength(b.Arguments))
		}
	}
	return n
}

// jsonLength is how long a value is when it is written again, without escapes that it does
// not need.
func jsonLength(raw json.RawMessage) int {
	v, err := decodeJSON(raw)
	if err != nil {
		return utf16Length(string(raw))
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return utf16Length(string(raw))
	}
	return utf16Length(strings.TrimSpace(b.String()))
}

// weighedChars is a length in UTF-16 units in which an East Asian character is four.
func weighedChars(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7af || r >= 0xf900 && r <= 0xfaff ||
			r >= 0xff01 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x20000 && r <= 0x2fa1f:
			n += 4
		case r > 0xffff:
			n += 2
		default:
			n++
		}
	}
	return n
}

func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// theirWords puts the words that the recordings have where ours stand in a text, so that
// all else can be compared.
func theirWords(s string) string {
	s = strings.NewReplacer(
		prune.EmptyText, "[empty content omitted]",
		prune.OmittedReasoningText, "[assistant reasoning omitted]",
		prune.OmittedCallsText, "[tool calls omitted]",
		prune.FailedText, "[assistant turn failed before producing content]",
		prune.ClearedText, "[Old tool result content cleared]",
		prune.PrunedImageText, "[image removed during context pruning]",
		"[... start and end are shown; the part between was cut ...]",
		"⚠️ [... middle content omitted — showing head and tail ...]",
	).Replace(s)
	s = shortenedNote().ReplaceAllString(s, "[Tool result trimmed: kept first $1 chars and last $2 chars of $3 chars.]")
	s = cutNote().ReplaceAllString(s, "[... $1 more characters truncated; rerun with narrower args if needed]")
	s = briefNote().ReplaceAllString(s, "[... $1 chars truncated; narrow args]")
	return theirClippedNote(s)
}

func shortenedNote() *regexp.Regexp {
	return regexp.MustCompile(`\[Shortened tool output: first (\d+) and last (\d+) of (\d+) characters are shown\.\]`)
}

func cutNote() *regexp.Regexp {
	return regexp.MustCompile(`\[\.\.\. (\d+) characters of the output left out; a narrower call shows them\]`)
}

func briefNote() *regexp.Regexp {
	return regexp.MustCompile(`\[\.\.\. (\d+) chars cut; ask for less here\]`)
}

// Notes about a result that was dropped altogether.
const (
	ourDropped   = "[tool output dropped: all results together were too long for the model; run the tool again to see it.]"
	theirDropped = "[tool result elided: aggregate tool-result budget exceeded; rerun the command if the output is needed]"
)

// theirClippedNote is theirWords for a notice that was cut because it had no room.
func theirClippedNote(s string) string {
	if s != "" && strings.HasPrefix(ourDropped, s) {
		return theirDropped[:len(s)]
	}
	m := regexp.MustCompile(`^\[\.\.\. (\d+) `).FindStringSubmatch(s)
	if m == nil {
		return s
	}
	// Short pieces fit both; the brief note is the rare one.
	for _, pair := range [][2]string{
		{" characters of the output left out; a narrower call shows them]", " more characters truncated; rerun with narrower args if needed]"},
		{" chars cut; ask for less here]", " chars truncated; narrow args]"},
	} {
		if strings.HasPrefix("[... "+m[1]+pair[0], s) {
			return ("[... " + m[1] + pair[1])[:len(s)]
		}
	}
	return s
}

func theirList(ms []message.Message) []any {
	out := make([]any, len(ms))
	for i, m := range ms {
		raw, err := json.Marshal(m)
		if err != nil {
			out[i] = fmt.Sprint(err)
			continue
		}
		out[i] = json.RawMessage(theirWords(string(raw)))
	}
	return out
}

func theirBlocks(blocks []message.Block) []any {
	out := make([]any, len(blocks))
	for i, b := range blocks {
		raw, err := json.Marshal(b)
		if err != nil {
			out[i] = fmt.Sprint(err)
			continue
		}
		out[i] = json.RawMessage(theirWords(string(raw)))
	}
	return out
}

func utf16Length(s string) int { return len(utf16.Encode([]rune(s))) }

// lastUnits is the end of a text as the recordings cut it.
func lastUnits(s string, n int) string {
	u := utf16.Encode([]rune(s))
	return strings.ToValidUTF8(string(utf16.Decode(u[max(0, len(u)-n):])), "")
}
