package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var lastLine = regexp.MustCompile(`(?m)^tokens (\d+) -> (\d+)\n\z`)

func TestRun(t *testing.T) {
	t.Parallel()
	for _, path := range []string{firstSample, secondSample, longSession(t)} {
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out, []string{path}))
		m := lastLine.FindStringSubmatch(out.String())
		require.NotNil(t, m, "%s", out.String())
		require.Less(t, number(t, m[2]), number(t, m[1]))
		require.Contains(t, out.String(), "Plan\nview: ")
		require.Contains(t, out.String(), "compactionSummary")
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after, "the file is not written to")
	}
}

// What is no session is named and left out; the last line is about the rest.
func TestRunOfSeveralFiles(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "expected.json")
	require.NoError(t, os.WriteFile(other, []byte("{\n  \"view\": 3\n}\n"), 0o600))
	sizeOf := func(paths ...string) (before, after int, out string) {
		var b bytes.Buffer
		require.NoError(t, run(t.Context(), &b, paths))
		m := lastLine.FindStringSubmatch(b.String())
		require.NotNil(t, m, "%s", b.String())
		return number(t, m[1]), number(t, m[2]), b.String()
	}
	b1, a1, _ := sizeOf(firstSample)
	b2, a2, _ := sizeOf(secondSample)
	b, a, out := sizeOf(firstSample, secondSample, other)
	require.Equal(t, b1+b2, b)
	require.Equal(t, a1+a2, a)
	require.Contains(t, out, other+", left out: ")
	require.Contains(t, out, "2 sessions of 3 files\n")
	require.Equal(t, 1, strings.Count(out, "\ntokens "))
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, []string{other}), "is not a session")
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	require.Error(t, run(t.Context(), &bytes.Buffer{}, []string{"a", "b"}))
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, nil), "no sample sessions here")
	require.ErrorIs(t, run(t.Context(), &bytes.Buffer{}, []string{filepath.Join(t.TempDir(), "none.jsonl")}), os.ErrNotExist)
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// longSession writes a session of about 60,000 tokens.
func longSession(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"long","timestamp":"2026-07-01T00:00:00.000Z","cwd":"/"}` + "\n")
	parent := "null"
	row := func(i int, message any) {
		raw, err := json.Marshal(message)
		require.NoError(t, err)
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-07-01T00:00:00.000Z","message":%s}`+"\n", i, parent, raw)
		parent = fmt.Sprintf(`"%08x"`, i)
	}
	for i := 0; i < 300; i += 2 {
		row(i, map[string]any{"role": "user", "content": fmt.Sprintf("Question %d about order %d?", i, 100_000+i)})
		row(i+1, map[string]any{"role": "assistant", "content": []any{
			map[string]any{"type": "text", "text": strings.Repeat("A long and careful answer. ", 60)},
		}})
	}
	path := filepath.Join(t.TempDir(), "long.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}
