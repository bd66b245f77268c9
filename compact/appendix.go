package compact

import (
	"fmt"
	"strings"
)

// headFiles is the section that lists the files of the session. It is always written
// anew; models copy it from the previous summary.
const headFiles = "## Files"

// isNone recognises a line that stands for an empty section.
func isNone(line string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(line), "-*. ")) {
	case "none", "none captured", "n/a", "nothing":
		return true
	}
	return false
}

// addTo appends lines to a section of a summary, replacing a line that says none. A
// section that is missing is added at the end.
func addTo(summary, head string, lines []string) string {
	if len(lines) == 0 {
		return summary
	}
	before, body, after, found := cutSection(summary, head)
	if !found {
		return strings.TrimRight(summary, "\n") + "\n\n" + head + "\n" + strings.Join(lines, "\n")
	}
	var kept []string
	for _, l := range strings.Split(strings.Trim(body, "\n"), "\n") {
		if l != "" && !isNone(l) {
			kept = append(kept, l)
		}
	}
	out := before + head + "\n" + strings.Join(append(kept, lines...), "\n")
	if after != "" {
		out += "\n\n" + after
	}
	return out
}

// cutSection splits a summary around the body of a section.
func cutSection(summary, head string) (before, body, after string, found bool) {
	pos := 0
	start := -1
	for _, line := range strings.SplitAfter(summary, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case start < 0 && trimmed == head:
			before, start = summary[:pos], pos+len(line)
		case start >= 0 && isHeading(trimmed):
			return before, summary[start:pos], summary[pos:], true
		}
		pos += len(line)
	}
	if start < 0 {
		return "", "", "", false
	}
	return before, summary[start:], "", true
}

// isHeading reports whether a line begins another section of the same or a higher level.
func isHeading(line string) bool {
	return strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "# ")
}

// withoutSection removes a section.
func withoutSection(summary, head string) string {
	before, _, after, found := cutSection(summary, head)
	if !found {
		return summary
	}
	return strings.TrimRight(before+after, "\n ")
}

// maxFileList bounds one list of files in a summary, in bytes (OpenClaw 2026.7.1).
const maxFileList = 900

// fileLines lists files for a summary and says how many more there are. limit bounds each
// list, in bytes.
func fileLines(l FileLists, limit int) []string {
	var out []string
	for _, f := range [...]struct {
		what  string
		paths []string
	}{{"changed", l.ModifiedFiles}, {"read", l.ReadFiles}} {
		if len(f.paths) == 0 {
			continue
		}
		n, size := 0, 0
		for n < len(f.paths) && size+len(f.paths[n])+2 <= limit {
			size += len(f.paths[n]) + 2
			n++
		}
		if n == 0 {
			out = append(out, fmt.Sprintf("- %s: %d files", f.what, len(f.paths)))
			continue
		}
		line := "- " + f.what + ": " + strings.Join(f.paths[:n], ", ")
		if n < len(f.paths) {
			line += fmt.Sprintf(" and %d more", len(f.paths)-n)
		}
		out = append(out, line)
	}
	return out
}

// bullets makes list lines of texts.
func bullets(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = "- " + t
	}
	return out
}

// fitting returns as many texts, from the first, as fit into that many tokens.
func (s *settings) fitting(texts []string, room int) []string {
	n := 0
	for n < len(texts) {
		if room -= s.counter.Text("- " + texts[n] + "\n"); room < 0 {
			break
		}
		n++
	}
	return texts[:n]
}
