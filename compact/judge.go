package compact

import (
	"encoding/json"
	"regexp"
	"strings"

	ce "github.com/go-contextengine/contextengine"
)

// A flaw is why an answer is no summary; "" when it is one.
type flaw string

const (
	flawBlank     flaw = "blank"
	flawReasoning flaw = "reasoning only"
	flawToolCall  flaw = "a tool call"
	flawEcho      flaw = "an echo of the source"
	flawRefusal   flaw = "a refusal"
	flawLength    flaw = "not shorter than its source"
	flawCut       flaw = "cut off at its output limit"
)

// reason is the code with which a compaction ends that got no better answer.
func (f flaw) reason() ce.CompactionReason {
	switch f {
	case flawBlank, flawReasoning, flawToolCall:
		return ce.ReasonSummaryEmpty
	case flawLength:
		return ce.ReasonNoProgress
	}
	return ce.ReasonSummaryRejected
}

// judge strips what belongs to no summary from an answer and says what is wrong with the
// rest. It looks at form only, not at what the text says. source is what the answer must
// not copy; "": anything.
func judge(text, source string) (string, flaw) {
	if strings.TrimSpace(text) == "" {
		return "", flawBlank
	}
	text = strings.TrimSpace(stripReasoning(strings.ToValidUTF8(text, "�")))
	if text == "" {
		return "", flawReasoning
	}
	text = stripWrapper(text)
	switch {
	case text == "":
		return "", flawBlank
	case isToolCall(text):
		return "", flawToolCall
	case isEcho(text, source):
		return "", flawEcho
	case isRefusal(text):
		return "", flawRefusal
	}
	return text, ""
}

// stripWrapper takes a code fence or a summary tag off that encloses the whole answer.
func stripWrapper(text string) string {
	if m := wholeWrapper.FindStringSubmatch(text); m != nil {
		for _, inner := range m[1:] {
			if inner != "" {
				return strings.TrimSpace(inner)
			}
		}
		return ""
	}
	return text
}

// isToolCall recognises an answer that is nothing but a call.
func isToolCall(text string) bool {
	if callTag.MatchString(text) {
		return true
	}
	if text[0] != '{' && text[0] != '[' {
		return false
	}
	var calls []map[string]json.RawMessage
	var one map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &one) == nil {
		calls = append(calls, one)
	} else if json.Unmarshal([]byte(text), &calls) != nil {
		return false
	}
	for _, c := range calls {
		if c["tool_calls"] != nil || c["function_call"] != nil {
			return true
		}
		named := c["name"] != nil || c["tool"] != nil || c["function"] != nil
		if named && (c["arguments"] != nil || c["parameters"] != nil || c["input"] != nil) {
			return true
		}
	}
	return false
}

// minEcho is the length in bytes from which text that stands in the source word for word
// is a copy and no coincidence.
const minEcho = 80

// isEcho recognises an answer that goes on with the source or copies it.
func isEcho(text, source string) bool {
	if strings.HasPrefix(text, "<conversation>") {
		return true
	}
	if labels := labelLike.FindAllString(text, -1); len(labels) > 1 && strings.Contains(source, labels[0]) {
		return true
	}
	return len(text) >= minEcho && strings.Contains(collapse(source), collapse(text))
}

// maxRefusal is the length in bytes up to which an apology is an answer of its own.
const maxRefusal = 600

func isRefusal(text string) bool {
	return len(text) <= maxRefusal && !strings.Contains(text, "## ") && refusal.MatchString(text)
}

var (
	wholeWrapper = regexp.MustCompile("(?s)^(?:```[a-z]*\\n(.*?)\\n?```|<summary>(.*)</summary>)$")
	callTag      = regexp.MustCompile(`(?is)^<(?:tool_calls?|tool_use|function_calls?|invoke|function=)`)
	refusal      = regexp.MustCompile(`(?i)^(?:(?:i(?:'|’)?m|i am) (?:very |really |so )?sorry\b.*\b(?:can(?:'|’)?t|cannot|can not|unable|won(?:'|’)?t)|` +
		`i (?:can(?:'|’)?t|cannot|can not|won(?:'|’)?t|am not able to|am unable to|must decline)\b|` +
		`(?:i(?:'|’)?m|i am) (?:unable|not able) to\b|sorry,? (?:but )?i (?:can|cannot|am)|as an ai\b|` +
		`unfortunately,? i (?:can|cannot|am))`)
)
