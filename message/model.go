package message

import (
	"strconv"
	"strings"
)

// Texts that introduce a summary to the model.
const (
	compactionIntro = "The earlier part of this conversation is no longer shown. This summary stands for it:"
	branchIntro     = "Before this point another line of this conversation was followed and left. This summary stands for it:"
)

// ForModel turns custom, bash, branch and compaction messages into user messages and drops
// what a provider must not see: unknown roles, shell commands that are excluded, and
// summaries and custom messages that say nothing. The rest stays as it is. Key and
// Timestamp are kept, Extra of converted messages is not.
//
// It returns ms itself when nothing changes; else a new list that shares the untouched
// messages and all blocks.
func ForModel(ms []Message) []Message {
	i := 0
	for i < len(ms) && isModelRole(ms[i].Role) {
		i++
	}
	if i == len(ms) {
		return ms
	}
	out := make([]Message, i, len(ms))
	copy(out, ms)
	for ; i < len(ms); i++ {
		if isModelRole(ms[i].Role) {
			out = append(out, ms[i])
		} else if content := modelContent(&ms[i]); len(content) > 0 {
			out = append(out, Message{
				Key: ms[i].Key, Role: RoleUser, Content: content, Timestamp: ms[i].Timestamp,
			})
		}
	}
	return out
}

func isModelRole(r Role) bool {
	return r == RoleUser || r == RoleAssistant || r == RoleToolResult
}

// modelContent is what a model sees of a message with a role of the host's own.
func modelContent(m *Message) []Block {
	switch m.Role {
	case RoleCustom:
		return m.Content
	case RoleBashExecution:
		if b := m.Bash(); !b.Exclude {
			return []Block{Text(b.String())}
		}
	case RoleCompactionSummary:
		return summaryContent(compactionIntro, m.Summary)
	case RoleBranchSummary:
		return summaryContent(branchIntro, m.Summary)
	}
	return nil
}

func summaryContent(intro, summary string) []Block {
	if strings.TrimSpace(summary) == "" {
		return nil
	}
	return []Block{Text(intro + "\n\n<summary>\n" + summary + "\n</summary>")}
}

// String tells the model what the user ran and what came of it.
func (b Bash) String() string {
	var s strings.Builder
	s.WriteString("The user ran a shell command:\n")
	writeFenced(&s, b.Command)
	if strings.TrimSpace(b.Output) == "" {
		s.WriteString("It printed nothing.")
	} else {
		s.WriteString("It printed:\n")
		writeFenced(&s, b.Output)
	}
	if b.Cancelled {
		s.WriteString("\nThe user stopped it.")
	} else if b.ExitCode != nil && *b.ExitCode != 0 {
		s.WriteString("\nIt exited with code " + strconv.Itoa(*b.ExitCode) + ".")
	}
	if b.Truncated {
		s.WriteString("\nThe output above is cut")
		if b.FullOutputPath != "" {
			s.WriteString("; all of it is in " + b.FullOutputPath)
		}
		s.WriteByte('.')
	}
	return s.String()
}

// writeFenced writes text between fences that no run of backticks in it can close.
func writeFenced(s *strings.Builder, text string) {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	s.WriteString(fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n")
}
