package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
)

// A saying is one part of a source text: who, and what without white space.
type saying struct{ Who, What string }

// readRenderSource compares who says what in which order. Ours tells more (whose result it is,
// that it failed, where an image was) and leaves reasoning out; that is taken off both. The form
// of a call and the note in a long result are read into the same words.
func readRenderSource(in json.RawMessage, want any) (any, any, error) {
	ms, err := decodeInput[[]message.Message](in)
	if err != nil {
		return nil, nil, err
	}
	recorded, _ := want.(string)
	ours := oursSaid(sayings(compact.RenderSource(message.ForModel(ms)), ourLabel))
	theirs := theirsSaid(sayings(recorded, theirLabel))
	if compareGolden(mustJSON(theirs), mustJSON(ours), nil) != "" && slices.ContainsFunc(ms, isWideResult) {
		return nil, nil, skipBy("bytes of a result")
	}
	return ours, theirs, nil
}

// isWideResult reports whether a result is long in bytes but has fewer characters.
func isWideResult(m message.Message) bool {
	text := m.Text()
	return m.Role == message.RoleToolResult && len(text) > 2_000 && utf16Length(text) < len(text)
}

var (
	ourLabel   = regexp.MustCompile(`(?:^|\n\n)\[(User|Assistant|Call of [^\]\n]*|Result of [^\]\n]*|Failed result of [^\]\n]*)\]: `)
	theirLabel = regexp.MustCompile(`(?:^|\n\n)\[(User|Assistant|Assistant thinking|Assistant tool calls|Tool result)\]: `)

	ourCut   = regexp.MustCompile(`(?s)^(.*)\n… (\d+) bytes left out …\n(.*)$`)
	theirCut = regexp.MustCompile(`(?s)^(.*)\n\n\[\.\.\. (\d+) more characters truncated\]$`)
	ourImage = regexp.MustCompile(`(?m)^\(image[^)\n]*\)$`)
)

// sayings cuts a source text at its labels.
func sayings(text string, label *regexp.Regexp) []saying {
	var out []saying
	at := label.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out = append(out, saying{Who: text[m[2]:m[3]], What: text[m[1]:end]})
	}
	return out
}

func oursSaid(list []saying) []saying {
	out := []saying{}
	for _, s := range list {
		kind, name, _ := strings.Cut(s.Who, " of ")
		switch kind {
		case "Call":
			out = append(out, saying{"call", solid(name + "(" + argumentList(s.What) + ")")})
		case "Result", "Failed result":
			if what := ourImage.ReplaceAllString(s.What, ""); what != "(empty)" && what != "none; the run ended before it" && solid(what) != "" {
				out = append(out, saying{"result", shownOf(what)})
			}
		default:
			if what := solid(factsOf(ourImage.ReplaceAllString(s.What, ""))); what != "" {
				out = append(out, saying{kind, what})
			}
		}
	}
	return out
}

func theirsSaid(list []saying) []saying {
	out := []saying{}
	for _, s := range list {
		switch s.Who {
		case "Assistant thinking":
		case "Assistant tool calls":
			for _, call := range callList(s.What) {
				out = append(out, saying{"call", solid(call)})
			}
		case "Tool result":
			if solid(s.What) != "" {
				out = append(out, saying{"result", shownOf(s.What)})
			}
		default:
			if what := solid(factsOf(s.What)); what != "" {
				out = append(out, saying{s.Who, what})
			}
		}
	}
	return out
}

// commonStart is how much of a long result both show at its start.
const commonStart = 1_500

// shownOf is a result, or of a long one the start and how much of it is shown in all.
func shownOf(text string) string {
	kept, left := "", ""
	if m := ourCut.FindStringSubmatch(text); m != nil {
		kept, left = m[1], m[2]
	} else if m := theirCut.FindStringSubmatch(text); m != nil {
		kept, left = m[1], m[2]
	} else {
		return solid(text)
	}
	return fmt.Sprintf("%s… and %s more than 2000", solid(kept[:min(len(kept), commonStart)]), left)
}

// solid is a text without white space.
func solid(s string) string { return strings.Join(strings.Fields(s), "") }

// argumentList writes an object as the reference does: name=value, in order.
func argumentList(raw string) string {
	dec := json.NewDecoder(strings.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return raw
	}
	var parts []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return raw
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return raw
		}
		var plain bytes.Buffer
		if json.Compact(&plain, value) != nil {
			return raw
		}
		parts = append(parts, fmt.Sprint(key)+"="+plain.String())
	}
	return strings.Join(parts, ", ")
}

// callList cuts a list of calls, outside of strings and parentheses.
func callList(s string) []string {
	var out []string
	start, depth := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			if q, err := strconv.QuotedPrefix(s[i:]); err == nil {
				i += len(q) - 1
			}
		case '(':
			depth++
		case ')':
			depth--
		case ';':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(s[start:]))
}

// readConvertToLLM reduces the converted list to roles and texts, in the form that was
// recorded. Texts around summaries and shell commands are each side's own; what they are about
// is compared.
func readConvertToLLM(in json.RawMessage, want any) (any, any, error) {
	ms, err := decodeInput[[]message.Message](in)
	if err != nil {
		p, err := decodeInput[struct{ Messages []message.Message }](in)
		if err != nil {
			return nil, nil, err
		}
		ms = p.Messages
	}
	recorded, _ := want.([]any)
	theirs, silent := []any{}, 0
	for _, v := range recorded {
		role, text := converted(v)
		if says := factsOf(text); says != "" || role != string(message.RoleUser) {
			theirs = append(theirs, [2]string{role, says})
			continue
		}
		silent++
	}
	ours := []any{}
	for _, m := range message.ForModel(ms) {
		if says := factsOf(m.Text()); says != "" || m.Role != message.RoleUser {
			ours = append(ours, [2]string{string(m.Role), says})
		}
	}
	if silent > 0 && compareGolden(mustJSON(theirs), mustJSON(ours), nil) == "" {
		return nil, nil, skipBy("nothing said")
	}
	return ours, theirs, nil
}

// converted reads a role and a text as they were recorded.
func converted(v any) (role, text string) {
	switch x := v.(type) {
	case []any:
		if len(x) == 2 {
			role, _ = x[0].(string)
			text, _ = x[1].(string)
		}
	case map[string]any:
		if s, ok := x["text"].(string); ok {
			role, _ = x["role"].(string)
			return role, s
		}
		m, err := decodeInput[message.Message](mustJSON(x))
		if err == nil {
			return string(m.Role), m.Text()
		}
	}
	return role, text
}

var (
	aSummary   = regexp.MustCompile(`(?s)^[^\n]+:\n\n<summary>\n(.*?)\n?</summary>$`)
	theirShell = regexp.MustCompile("(?s)^Ran `(.*?)`\n(?:```\n(.*)\n```|\\(no output\\))(.*)$")
	ourShell   = regexp.MustCompile("(?s)^The user ran a shell command:\n```+\n(.*?)\n```+\n(?:It printed:\n```+\n(.*)\n```+\n?|It printed nothing\\.)(.*)$")
	exitCode   = regexp.MustCompile(`exited with code (-?\d+)`)
	fullOutput = regexp.MustCompile(`(?:all of it is in|output:) (.*?)(?:\.|\])?$`)
)

// factsOf is what a text is about, whatever words are around it.
func factsOf(text string) string {
	if m := aSummary.FindStringSubmatch(text); m != nil {
		if strings.TrimSpace(m[1]) == "" {
			return ""
		}
		return "summary: " + m[1]
	}
	for _, shell := range [...]*regexp.Regexp{theirShell, ourShell} {
		m := shell.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		says := "ran " + m[1] + "\nprinted " + strings.TrimRight(m[2], "\n")
		switch code := exitCode.FindStringSubmatch(m[3]); {
		case strings.Contains(m[3], "cancelled"), strings.Contains(m[3], "stopped it"):
			says += "\nstopped"
		case code != nil:
			says += "\ncode " + code[1]
		}
		if full := fullOutput.FindStringSubmatch(m[3]); full != nil {
			says += "\nall in " + full[1]
		}
		return says
	}
	return text
}
