package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestQuickstartOnTheSample(t *testing.T) {
	t.Parallel()
	before := readAll(t, filepath.Dir(samplePath))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, []string{samplePath}))
	require.Equal(t, before, readAll(t, filepath.Dir(samplePath)), "the session must not be written to, nor anything beside it")

	text := out.String()
	for _, want := range []string{
		`entries 221`, `messages 201`, `problems 0`, `view \d+ messages, \d+ tokens`,
		`turn with engine recent`, `  sent: \d+ of \d+ messages, \d+ tokens of a budget of 6000 \(window 12000\)`,
		`compacted \d+ -> \d+ tokens`, `turn with engine legacy`,
		`  engine: broken of example:quickstart, registration \d+`, `  failed: assemble \(panic\) at [\d:]+`,
	} {
		require.Regexp(t, `(?m)^`+want+`$`, text)
	}
	require.True(t, strings.HasSuffix(text, "\nanswered by legacy (quarantined: broken)\n"), "last lines: %s", text[max(0, len(text)-200):])
	require.Equal(t, []string{"recent", "recent", "legacy"}, all(text, `turn with engine (\w+)`))
}

// The sample must stay worth reading: everything that a session file can hold is in it.
func TestSampleHoldsEveryKindOfRow(t *testing.T) {
	t.Parallel()
	session, err := transcript.OpenFile(samplePath, &transcript.DirOptions{ReadOnly: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	require.Empty(t, session.Problems())

	entries, roles, blocks := map[transcript.EntryType]int{}, map[message.Role]int{}, map[message.BlockType]int{}
	children := map[string]int{}
	total, side, failed := 0, 0, 0
	for e, err := range session.Entries(t.Context()) {
		require.NoError(t, err)
		total++
		entries[e.Type]++
		if e.Side {
			side++
		} else {
			children[e.ParentID]++
		}
		if e.Message == nil {
			continue
		}
		roles[e.Message.Role]++
		if e.Message.IsError {
			failed++
		}
		for _, b := range e.Message.Content {
			blocks[b.Type]++
		}
	}
	require.GreaterOrEqual(t, total, 200)
	require.GreaterOrEqual(t, side, 2)
	require.GreaterOrEqual(t, failed, 3)
	for _, typ := range []transcript.EntryType{
		transcript.EntryMessage, transcript.EntryCompaction, transcript.EntryBranchSummary, transcript.EntryCustom,
		transcript.EntryCustomMessage, transcript.EntryLabel, transcript.EntryLeaf, transcript.EntryModelChange,
		transcript.EntryThinkingLevelChange, transcript.EntrySessionInfo, "presence",
	} {
		require.NotZero(t, entries[typ], typ)
	}
	require.Equal(t, 1, entries[transcript.EntryCompaction])
	for _, role := range []message.Role{
		message.RoleUser, message.RoleAssistant, message.RoleToolResult, message.RoleCustom, message.RoleBashExecution,
	} {
		require.NotZero(t, roles[role], role)
	}
	for _, typ := range []message.BlockType{message.BlockText, message.BlockThinking, message.BlockImage, message.BlockToolCall} {
		require.NotZero(t, blocks[typ], typ)
	}
	branches := 0
	for _, n := range children {
		branches += n - 1
	}
	require.GreaterOrEqual(t, branches, 2)

	view, err := session.View(t.Context())
	require.NoError(t, err)
	require.Equal(t, message.RoleCompactionSummary, view.Messages[0].Role)
	require.Equal(t, "atlas-large", view.Model)
	for _, m := range view.Messages {
		require.NotContains(t, m.Text(), "a key per partner", "the branch that a leaf row left is not in view")
	}
	repaired, repair := message.RepairPairs(view.Messages, nil)
	require.Zero(t, repair)
	require.Len(t, repaired, len(view.Messages))
}

func TestQuickstartOnOtherInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	header := `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T08:00:00.000Z","cwd":"/srv"}` + "\n"
	hello := `{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-02T08:00:01.000Z","message":{"role":"user","content":"hello"}}` + "\n"
	tests := []struct {
		name, path, wantErr string
		want                []string // lines of the output
	}{
		{name: "missing", path: filepath.Join(dir, "gone.jsonl"), wantErr: `gone\.jsonl`},
		{name: "empty", path: file("empty.jsonl", ""), wantErr: `empty\.jsonl.*empty`},
		{name: "no session", path: file("notes.txt", "# Notes\n\nNothing here.\n"), wantErr: `notes\.txt.*session`},
		{name: "a directory", path: dir, wantErr: regexp.QuoteMeta(filepath.Base(dir))},
		{
			name: "nothing but a header", path: file("header.jsonl", header),
			want: []string{"messages 0", "view 0 messages, 0 tokens", "answered by legacy (quarantined: broken)"},
		},
		{
			name: "a broken line", path: file("torn.jsonl", header+hello+"{\"type\":\"mess\n"),
			want: []string{"messages 1", "problems 1", "answered by legacy (quarantined: broken)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := run(t.Context(), &out, []string{tt.path})
			if tt.wantErr != "" {
				require.Error(t, err)
				require.Regexp(t, tt.wantErr, err.Error())
				return
			}
			require.NoError(t, err)
			for _, line := range tt.want {
				require.Contains(t, strings.Split(out.String(), "\n"), line)
			}
		})
	}
}

func TestQuickstartTakesOneFile(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), &out, []string{"a", "b"}), "usage")
	require.ErrorContains(t, run(t.Context(), &out, []string{"-h"}), "usage")
	err := run(t.Context(), &out, nil) // the default, from a directory that lacks it
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "name a session file")
}

// readAll returns the files of a directory by name.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		out[e.Name()] = string(content)
	}
	return out
}

// all returns the first group of each match.
func all(text, pattern string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}
