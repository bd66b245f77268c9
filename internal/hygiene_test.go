package internal_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tracked files name neither a machine they were written on, nor a registry they were
// fetched from, nor anything beside the repository.
func TestTrackedFilesStandAlone(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	files, err := trackedFiles(t.Context(), root)
	if err != nil {
		t.Skipf("not a git checkout, so nothing is tracked: %v", err)
	}
	require.NotEmpty(t, files)
	patterns := leaks(root)
	var found []string
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		require.NoError(t, err)
		found = append(found, leaksIn(name, content, patterns)...)
	}
	none(t, found)
}

func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	dots := ".." + "/shared"
	patterns := leaks("/checkouts/somewhere/main")
	tests := []struct {
		name, file, content string
		want                int
	}{
		{"nothing", "a.md", "see docs/design.md and /tmp/example", 0},
		{"reference folder", "a.md", "compare with " + dots + "/golden", 1},
		{"reference folder in test data", "x/testdata/a.json", dots, 1},
		{"checkout", "a.go", "// see /checkouts/somewhere/main/x.go\n// and /checkouts/somewhere/main", 2},
		{"longer path", "a.go", "/checkouts/somewhere/maintenance", 0},
		{"home folder", "a.go", `"/home/` + `someone/src"`, 1},
		{"home folder in recorded data", "x/testdata/a.json", `"/home/` + `someone/src"`, 0},
		{"Mac home folder", "a.go", `"/Users/` + `someone/src"`, 1},
		{"root's home folder", "a.sh", "cd /root" + "/go", 1},
		{"a path that only ends alike", "a.md", "tree/root" + "/go", 0},
		{"module proxy", "a.mk", "GOPROXY=https://proxy." + "golang.org", 1},
		{"package registry", "a.json", "https://registry." + "npmjs.org/x", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, leaksIn(tt.file, []byte(tt.content), patterns), tt.want)
		})
	}
}

// A leak is a pattern that must not occur; where testdata is exempt, recorded
// sessions may hold what their writers' machines looked like.
type leak struct {
	pattern        *regexp.Regexp
	exemptTestdata bool
}

func leaks(root string) []leak {
	const start, end = `(?:^|[^\w./-])`, `(?:[^\w-]|$)`
	all := []leak{
		{pattern: regexp.MustCompile(`\.\./` + `shared` + end)},
		{pattern: regexp.MustCompile(`(?:proxy|sum)\.` + `golang\.org|registry\.` + `(?:npmjs|yarnpkg)|pypi\.` + `org|index\.` + `crates\.io`)},
		{pattern: regexp.MustCompile(start + `(?:/root|/home/\w+|/Users/\w+)/`), exemptTestdata: true},
	}
	// A checkout right under the root of the file system may share its name with
	// a path in an example, so only longer ones are looked for.
	for _, dir := range []string{root, filepath.Join(filepath.Dir(root), "shared")} {
		if dir = filepath.ToSlash(dir); strings.Count(dir, "/") > 1 {
			all = append(all, leak{pattern: regexp.MustCompile(start + regexp.QuoteMeta(dir) + end)})
		}
	}
	return all
}

func leaksIn(name string, content []byte, patterns []leak) []string {
	recorded := slices.Contains(strings.Split(name, "/"), "testdata")
	var out []string
	for i, line := range bytes.Split(content, []byte("\n")) {
		for _, p := range patterns {
			if hit := p.pattern.Find(line); hit != nil && (!recorded || !p.exemptTestdata) {
				out = append(out, fmt.Sprintf("%s:%d: %q", name, i+1, hit))
			}
		}
	}
	return out
}

func trackedFiles(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}
