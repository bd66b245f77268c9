package internal_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Links between the documents must lead somewhere, headings included.
func TestDocumentLinksResolve(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	files, err := trackedFiles(t.Context(), root)
	if err != nil {
		t.Skipf("not a git checkout, so nothing is tracked: %v", err)
	}
	for _, name := range files {
		if path.Ext(name) == ".md" {
			none(t, brokenLinks(root, name))
		}
	}
}

func TestBrokenLinks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	write("b.md", "# Who owns *what*?\n```\n# not a heading\n```\n")
	write("a.md", strings.Join([]string{
		"# Title", "[ok](b.md) [ok](b.md#who-owns-what) [ok](#title) [ok](https://example.com/x) `[code](gone.md)`",
		"```", "[code](gone.md)", "```",
		"[no](gone.md)", "[no](b.md#not-a-heading)", "[no](#nowhere)",
	}, "\n"))
	require.Equal(t, []string{
		"a.md:6: gone.md leads nowhere",
		"a.md:7: b.md#not-a-heading leads nowhere",
		"a.md:8: #nowhere leads nowhere",
	}, brokenLinks(root, "a.md"))
}

// brokenLinks returns the relative links of a document that lead nowhere.
func brokenLinks(root, name string) []string {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	lines, err := prose(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for i, line := range lines {
		for _, match := range link.FindAllStringSubmatch(line, -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, ":") {
				continue
			}
			file := filepath.Join(root, filepath.FromSlash(path.Join(path.Dir(name), target)))
			if target == "" {
				file = filepath.Join(root, filepath.FromSlash(name))
			}
			if _, err := os.Stat(file); err != nil || anchor != "" && !hasHeading(file, anchor) {
				out = append(out, fmt.Sprintf("%s:%d: %s leads nowhere", name, i+1, match[1]))
			}
		}
	}
	return out
}

// prose returns a document's lines; those of code blocks are empty, and code in a line
// is left out.
func prose(file string) ([]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	code := regexp.MustCompile("`[^`]*`")
	lines := strings.Split(string(content), "\n")
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced {
			lines[i] = ""
		} else if !strings.HasPrefix(line, "#") {
			lines[i] = code.ReplaceAllString(line, "")
		}
	}
	return lines, nil
}

// hasHeading reports whether a heading of the document has the anchor that GitHub
// makes of it: lower case, punctuation dropped, spaces as hyphens.
func hasHeading(file, anchor string) bool {
	lines, err := prose(file)
	if err != nil {
		return false
	}
	dropped := regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	for _, line := range lines {
		title := strings.TrimLeft(line, "#")
		if title == line {
			continue
		}
		slug := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}
