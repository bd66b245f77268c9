package transcript_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/transcript"
)

// Reading damaged sessions: what is wrong is named with its line, what is right is read, and the
// file stays as it is.
func TestBadInput_Rows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		lines    []string
		view     []string
		problems []int
	}{
		{
			"broken JSON line",
			[]string{header, msg("a", "", "user", "u1"), "{bad", msg("b", "a", "assistant", "a1")},
			[]string{"u1", "a1"},
			[]int{3},
		},
		{"broken line whose id and parent are readable keeps the chain", []string{
			header, msg("a", "", "user", "u1"), `{"type":"message","id":"b","parentId":"a","mess`, msg("c", "b", "user", "u2"),
		}, []string{"u1", "u2"}, []int{3}},
		{"not an object", []string{header, `["a"]`, `5`, `null`, msg("a", "", "user", "u1")}, []string{"u1"}, []int{2, 3, 4}},
		{
			"id of the wrong type",
			[]string{header, `{"type":"message","id":5,"parentId":null,"message":{"role":"user","content":"x"}}`, msg("a", "", "user", "u1")},
			[]string{"u1"},
			[]int{2},
		},
		{"type of the wrong type", []string{header, `{"type":5,"id":"x","parentId":null}`, msg("a", "", "user", "u1")}, []string{"u1"}, []int{2}},
		{
			"message of the wrong type",
			[]string{header, msg("a", "", "user", "u1"), `{"type":"message","id":"b","parentId":"a","message":"hello"}`, msg("c", "b", "user", "u2")},
			[]string{"u1", "u2"},
			[]int{3},
		},
		{
			"message without a role",
			[]string{header, msg("a", "", "user", "u1"), `{"type":"message","id":"b","parentId":"a","message":{"role":" ","content":"x"}}`, msg("c", "b", "user", "u2")},
			[]string{"u1", "u2"},
			[]int{3},
		},
		{
			"message row without a message",
			[]string{header, msg("a", "", "user", "u1"), `{"type":"message","id":"b","parentId":"a"}`, msg("c", "b", "user", "u2")},
			[]string{"u1", "u2"},
			[]int{3},
		},
		{
			"content of the wrong type",
			[]string{header, `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":5}}`, msg("b", "a", "user", "u2")},
			[]string{"", "u2"},
			nil,
		},
		{
			"duplicate ids",
			[]string{header, msg("a", "", "user", "u1"), msg("b", "a", "assistant", "one"), msg("b", "a", "assistant", "two"), msg("c", "b", "user", "u2")},
			[]string{"u1", "two", "u2"},
			[]int{4},
		},
		{"own parent", []string{header, msg("a", "a", "user", "u1"), msg("b", "a", "user", "u2")}, []string{"u1", "u2"}, []int{2}},
		{"cycle", []string{header, msg("a", "b", "user", "u1"), msg("b", "a", "user", "u2")}, []string{"u1", "u2"}, []int{2}},
		{
			"long cycle",
			[]string{header, msg("a", "c", "user", "u1"), msg("b", "a", "user", "u2"), msg("c", "b", "user", "u3")},
			[]string{"u1", "u2", "u3"},
			[]int{2},
		},
		{
			"parent that comes later",
			[]string{header, msg("b", "a", "user", "u2"), msg("a", "", "user", "u1"), msg("c", "b", "user", "u3")},
			[]string{"u1", "u2", "u3"},
			nil,
		},
		{"parent that never comes", []string{header, msg("a", "", "user", "u1"), msg("b", "gone", "user", "u2")}, []string{"u2"}, []int{3}},
		{"second header", []string{header, msg("a", "", "user", "u1"), header, msg("b", "a", "user", "u2")}, []string{"u1", "u2"}, []int{3}},
		{"leaf row without a target", []string{header, msg("a", "", "user", "u1"), `{"type":"leaf","id":"l","parentId":"a"}`}, []string{"u1"}, []int{3}},
		{"blank lines and carriage returns", []string{header + "\r", "", "  ", msg("a", "", "user", "u1") + "\r"}, []string{"u1"}, nil},
		{"byte order mark", []string{"\ufeff" + header, msg("a", "", "user", "u1")}, []string{"u1"}, nil},
		{"missing header", []string{msg("a", "", "user", "u1"), msg("b", "a", "assistant", "a1")}, []string{"u1", "a1"}, []int{1}},
		{"broken header line", []string{`{"type":"sess`, msg("a", "", "user", "u1")}, []string{"u1"}, []int{1, 2}},
		{"wrong types in state rows", []string{header, `{"type":"model_change","id":"m","parentId":null,"provider":5,"modelId":[]}`, msg("a", "m", "user", "u1")}, []string{"u1"}, nil},
		{
			"compaction of the wrong types",
			[]string{header, msg("a", "", "user", "u1"), `{"type":"compaction","id":"k","parentId":"a","summary":7,"firstKeptEntryId":{},"tokensBefore":"x"}`, msg("b", "k", "user", "u2")},
			[]string{"", "u2"},
			nil,
		},
		{
			"invalid timestamp on a summary row",
			[]string{header, `{"type":"branch_summary","id":"a","parentId":null,"timestamp":"yesterday","fromId":"root","summary":"S"}`, msg("b", "a", "user", "u2")},
			[]string{"S", "u2"},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeSession(t, tt.lines...)
			before := read(t, path)
			log := openLog(t, path, nil)
			require.Equal(t, tt.view, texts(t, log))
			if tt.problems == nil {
				tt.problems = []int{}
			}
			require.Equal(t, tt.problems, problemLines(log))
			entriesOf(t, log)
			require.Equal(t, before, read(t, path))
		})
	}
}

func TestBadInput_DamagedRowsStayInTheFile(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"), "{bad", "[]", msg("b", "a", "assistant", "a1"))
	before := read(t, path)
	log := openLog(t, path, nil)
	appendAll(t, log, user("u2"))
	require.Equal(t, []string{"u1", "a1", "u2"}, texts(t, log))
	require.True(t, strings.HasPrefix(read(t, path), before))
	require.Equal(t, []string{"u1", "a1", "u2"}, texts(t, openLog(t, path, nil)))
}

func TestBadInput_TruncatedLastLine(t *testing.T) {
	t.Parallel()
	whole := msg("b", "a", "assistant", "precious")
	for cut := 1; cut < len(whole); cut += 7 {
		path := writeSession(t, header, msg("a", "", "user", "u1"))
		require.NoError(t, os.WriteFile(path, []byte(read(t, path)+whole[:cut]), 0o600))
		log := openLog(t, path, nil)
		require.Equal(t, []string{"u1"}, texts(t, log))
		require.Equal(t, []int{3}, problemLines(log))
		appendAll(t, log, assistant("again"))
		require.Equal(t, []string{"u1", "again"}, texts(t, log))
		require.Empty(t, log.Problems())
		require.NoError(t, log.Close())

		aside, err := filepath.Glob(path + ".torn-*")
		require.NoError(t, err)
		require.Len(t, aside, 1)
		require.Equal(t, whole[:cut], read(t, aside[0]))
		require.Equal(t, []string{"u1", "again"}, texts(t, openLog(t, path, nil)))
	}
}

func TestBadInput_MissingLastNewline(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	require.NoError(t, os.WriteFile(path, []byte(strings.TrimSuffix(read(t, path), "\n")), 0o600))
	log := openLog(t, path, nil)
	require.Empty(t, log.Problems())
	appendAll(t, log, assistant("a1"))
	require.Equal(t, []string{"u1", "a1"}, texts(t, log))
	require.Equal(t, []string{"u1", "a1"}, texts(t, openLog(t, path, nil)))
}

func TestBadInput_TenMegabyteMessage(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 10<<20)
	if testing.Short() {
		big = big[:1<<20]
	}
	path := writeSession(t, header, msg("a", "", "user", big), msg("b", "a", "assistant", "a1"))
	log := openLog(t, path, nil)
	appendAll(t, log, user(big+"y"))
	for _, r := range []transcript.Log{log, openLog(t, path, nil)} {
		got := texts(t, r)
		require.Len(t, got, 3)
		require.True(t, got[0] == big && got[1] == "a1" && got[2] == big+"y")
	}
}

func TestBadInput_InvalidUTF8AndLoneSurrogates(t *testing.T) {
	t.Parallel()
	broken := strings.Replace(msg("a", "", "user", "BAD"), "BAD", "x\xff\xfey", 1)
	lone := strings.Replace(msg("b", "a", "assistant", "LONE"), "LONE", `x\ud83dy`, 1)
	path := writeSession(t, header, broken, lone)
	log := openLog(t, path, nil)
	require.Equal(t, []string{"x\ufffd\ufffdy", "x\ufffdy"}, texts(t, log))
	require.Equal(t, []int{2}, problemLines(log))
	appendAll(t, log, user("u2"))
	require.Contains(t, read(t, path), "x\xff\xfey", "the stored bytes stay")
	require.Contains(t, read(t, path), `x\ud83dy`)
}

func TestBadInput_NotASession(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content string }{
		{"empty file", ""},
		{"blank file", "\n\n"},
		{"prose", "Dear diary,\nnothing happened.\n"},
		{"another JSON file", `{"name":"x","version":"1.0.0"}`},
		{"JSON over several lines", "{\n  \"type\": \"session\"\n}\n"},
		{"binary", "\x00\x01\x02\xff\xfe"},
		{"header without an id", `{"type":"session","version":3}`},
		{"header cut off", `{"type":"session","vers`},
		{"deep nesting", strings.Repeat("[", 1<<20)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(tt.content), 0o600))
			_, err := transcript.OpenFile(path, nil)
			var not *transcript.NotSessionError
			require.ErrorAs(t, err, &not)
			require.Equal(t, path, not.Path)
			require.NotEmpty(t, not.Reason)
			require.Equal(t, tt.content, read(t, path))
		})
	}
}

func TestBadInput_MissingAndUnreadableFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := transcript.OpenFile(filepath.Join(dir, "none.jsonl"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "none.jsonl")
	_, err = transcript.OpenFile(filepath.Join(dir, "no", "such", "folder.jsonl"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)

	var not *transcript.NotSessionError
	_, err = transcript.OpenFile(dir, nil)
	require.ErrorAs(t, err, &not)

	secret := filepath.Join(dir, "secret.jsonl")
	require.NoError(t, os.WriteFile(secret, []byte(header+"\n"), 0o000))
	if _, err := os.ReadFile(secret); err == nil {
		return // this user may read everything
	}
	_, err = transcript.OpenFile(secret, nil)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.False(t, errors.As(err, &not))
}
