package prune

import (
	"slices"
	"strings"
)

// toolMatcher returns the rule by which a tool's results may be shortened.
func toolMatcher(allow, deny []string) func(tool string) bool {
	allowed, denied := normalNames(allow), normalNames(deny)
	return func(tool string) bool {
		tool = strings.ToLower(strings.TrimSpace(tool))
		if matchesAny(denied, tool) {
			return false
		}
		return len(allowed) == 0 || matchesAny(allowed, tool)
	}
}

// normalNames are tool names or patterns as they are compared; blank ones are left out.
func normalNames(patterns []string) []string {
	var out []string
	for _, p := range patterns {
		if p = strings.ToLower(strings.TrimSpace(p)); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func matchesAny(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return globMatch(p, s) })
}

// globMatch matches * with any characters and everything else with itself.
func globMatch(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	if !star {
		return s == ""
	}
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}
