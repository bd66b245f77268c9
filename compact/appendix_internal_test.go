package compact

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddTo(t *testing.T) {
	t.Parallel()
	summary := "Intro.\n\n## Decisions\nNone.\n\n## Pending user asks\n- one\n\n## Files\n- read: a\n"
	require.Equal(t, "Intro.\n\n## Decisions\n- x\n\n## Pending user asks\n- one\n\n## Files\n- read: a\n", addTo(summary, headDecisions, []string{"- x"}))
	require.Contains(t, addTo(summary, headAsks, []string{"- two"}), "- one\n- two\n\n## Files")
	require.True(t, strings.HasSuffix(addTo(summary, headRules, []string{"- r"}), "- read: a\n\n## Constraints/Rules\n- r"))
	require.Equal(t, summary, addTo(summary, headRules, nil))
	require.NotContains(t, withoutSection(summary, headFiles), "read: a")
	require.Equal(t, "x", withoutSection("x", headFiles))
}

func TestFileLinesAreBounded(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 200 {
		paths = append(paths, "/src/dir/file-"+strconv.Itoa(i))
	}
	lines := fileLines(FileLists{ReadFiles: paths}, maxFileList)
	require.Len(t, lines, 1)
	require.Less(t, len(lines[0]), maxFileList+40)
	require.Contains(t, lines[0], "more")
	require.Equal(t, []string{"- read: 200 files"}, fileLines(FileLists{ReadFiles: paths}, 3))
}
