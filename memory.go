package contextengine

import "strings"

// A MemorySection gives the memory plugin's prompt lines for the run: prepared
// by the host before the engine is asked, and the same however often it is
// asked. tools as in [AssembleParams.AvailableTools].
type MemorySection interface {
	Lines(tools []string, mode CitationsMode) ([]string, error)
}

// BuildMemorySystemPromptAddition renders the memory section as an engine puts
// it into [AssembleResult.SystemPromptAddition]: lines joined, line ends
// normalised, trailing blanks of each line and blanks around the whole removed.
// "" when there is no section. The legacy engine does not use it: for legacy the
// host renders the section itself.
func BuildMemorySystemPromptAddition(rt *RuntimeContext, tools []string, mode CitationsMode) (string, error) {
	lines, err := BuildActiveMemoryPromptSection(rt, tools, mode)
	if err != nil {
		return "", err
	}
	return normaliseSection(strings.Join(lines, "\n")), nil
}

// BuildActiveMemoryPromptSection returns the raw lines of the memory section,
// for engines that lay them out themselves. A failure is a [*HostError].
func BuildActiveMemoryPromptSection(rt *RuntimeContext, tools []string, mode CitationsMode) ([]string, error) {
	if rt == nil || rt.Memory == nil {
		return nil, nil
	}
	return lendMemory(rt.Memory).Lines(tools, mode)
}

func normaliseSection(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
