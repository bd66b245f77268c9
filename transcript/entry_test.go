package transcript_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestAppend_MessagesWithARowTypeOfTheirOwn(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header)
	log := openLog(t, path, nil)
	custom := message.Custom("hint", message.Text("look left"))
	rows := appendAll(t, log,
		transcript.Entry{Message: &custom, Type: transcript.EntryCustomMessage},
		transcript.MessageEntry(message.Message{Role: message.RoleBranchSummary, Summary: "B"}),
		user("u1"),
		transcript.MessageEntry(message.Message{Role: message.RoleCompactionSummary, Summary: "C", TokensBefore: 7}),
	)
	require.Equal(t, transcript.EntryCustomMessage, rows[0].Type)
	require.Equal(t, transcript.EntryBranchSummary, rows[1].Type)
	require.Equal(t, "root", rows[1].Summary.FromID)
	require.Equal(t, transcript.EntryCompaction, rows[3].Type)
	require.Equal(t, rows[3].ID, rows[3].Compaction.FirstKeptEntryID, "a summary handed in stands for all before it")
	require.Equal(t, []string{"C"}, texts(t, log))
	require.NoError(t, log.SetLeaf(t.Context(), rows[2].ID))
	require.Equal(t, []string{"look left", "B", "u1"}, texts(t, log))
	require.Equal(t, viewOf(t, log), viewOf(t, openLog(t, path, nil)))
	require.NotContains(t, read(t, path), `"role":"branchSummary"`)
}

func TestAppend_RefusesWhatSaysNothing(t *testing.T) {
	t.Parallel()
	log, err := transcript.NewMemory().Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	tests := []struct {
		want  string
		entry transcript.Entry
	}{
		{"no type", transcript.Entry{}},
		{"session header", transcript.Entry{Type: "session"}},
		{"SetLeaf", transcript.Entry{Type: transcript.EntryLeaf}},
		{"without a message", transcript.Entry{Type: transcript.EntryMessage}},
		{"without a role", transcript.MessageEntry(message.Message{})},
		{"without a compaction", transcript.Entry{Type: transcript.EntryCompaction}},
		{"without a summary", transcript.Entry{Type: transcript.EntryBranchSummary}},
	}
	for _, tt := range tests {
		_, err := log.Append(t.Context(), user("fine"), tt.entry)
		require.ErrorContains(t, err, tt.want)
		require.ErrorContains(t, err, "entry 1")
	}
	require.Empty(t, entriesOf(t, log))
}

func TestAppend_WhatCannotBeEncodedIsRefusedWhole(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header)
	before := read(t, path)
	log := openLog(t, path, nil)
	broken := user("x")
	broken.Extra = map[string]json.RawMessage{"odd": json.RawMessage(`{"a":`)}
	details := transcript.Entry{Type: transcript.EntryCompaction, Compaction: &transcript.Compaction{Details: json.RawMessage("{")}}
	m := message.User("y")
	m.Extra = map[string]json.RawMessage{"odd": json.RawMessage("nope")}
	for _, e := range []transcript.Entry{broken, details, transcript.MessageEntry(m)} {
		_, err := log.Append(t.Context(), user("fine"), e)
		require.Error(t, err)
		require.Equal(t, before, read(t, path))
		require.Empty(t, texts(t, log))
	}
}

// Members with line breaks stay one row, and members that this package uses cannot be forged.
func TestAppend_OneRowOneLine(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header)
	log := openLog(t, path, nil)
	e := user("line one\nline two\u2028")
	e.Extra = map[string]json.RawMessage{
		"pretty": json.RawMessage("{\n \"a\": 1\r\n}"), "id": json.RawMessage(`"forged"`),
		"contextengine": json.RawMessage(`{"key":"forged","batch":"forged","row":1,"rows":9}`), "originId": json.RawMessage(`"theirs"`),
	}
	appendAll(t, log, e)
	appendAll(t, log, assistant("a1"))
	require.Len(t, strings.Split(strings.TrimSpace(read(t, path)), "\n"), 3)
	again := openLog(t, path, nil)
	require.Equal(t, []string{"line one\nline two\u2028", "a1"}, texts(t, again))
	require.Equal(t, keys(t, log), keys(t, again))
	require.NotContains(t, read(t, path), "forged")
	require.Equal(t, `"theirs"`, string(branchOf(t, again)[0].Extra["originId"]))
}

func TestEntry_UnusualTimestampsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	odd := `"timestamp":"2026-07-01T02:00:00+02:00"`
	path := writeSession(t, header, strings.Replace(msg("a", "", "user", "u1"), `"timestamp":"`+stamp+`"`, odd, 1), msg("b", "a", "user", "u2"))
	log := openLog(t, path, nil)
	require.Equal(t, `"2026-07-01T02:00:00+02:00"`, string(entriesOf(t, log)[0].Extra["timestamp"]))
	require.Equal(t, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), entriesOf(t, log)[0].Timestamp)
	swap(t, log, "b", "U2")
	copied, err := transcript.Copy(t.Context(), transcript.NewMemory(), log)
	require.NoError(t, err)
	defer copied.Close()
	require.Equal(t, `"2026-07-01T02:00:00+02:00"`, string(entriesOf(t, copied)[0].Extra["timestamp"]))
}

func TestProblem_SaysWhere(t *testing.T) {
	t.Parallel()
	p := openLog(t, writeSession(t, header, "{bad"), nil).Problems()[0]
	require.ErrorContains(t, p, "line 2: ")
	require.ErrorIs(t, p, p.Err)
	require.Equal(t, "gone", transcript.Problem{Err: errors.New("gone")}.Error())
}

// Nothing is acknowledged that nobody could read back.
func TestAppend_RefusesWhatCannotBeReadBack(t *testing.T) {
	t.Parallel()
	named := func(e transcript.Entry, id string) transcript.Entry { e.ID = id; return e }
	entries := map[string]transcript.Entry{
		"blank type":              {Type: " "},
		"type that is no text":    {Type: "x\xff"},
		"blank role":              transcript.MessageEntry(message.Message{Role: " \t", Content: []message.Block{message.Text("x")}}),
		"redacted to no role":     user("no role"),
		"id that is no text":      named(user("x"), "id\xff"),
		"key that is no text":     {Type: transcript.EntryMessage, ID: "k", Key: "\xff", Message: user("x").Message},
		"compaction of bad bytes": {Type: transcript.EntryCompaction, ID: "\xfe", Compaction: &transcript.Compaction{Summary: "S"}},
	}
	opts := &transcript.DirOptions{Redact: func(m message.Message) message.Message {
		if strings.Contains(m.Text(), "no role") {
			m.Role = ""
		}
		return m
	}}
	path := writeSession(t, header, msg("a", "", "user", "one"), msg("b", "a", "user", "two"))
	before := read(t, path)
	log := openLog(t, path, opts)
	want := describe(t, log)
	for name, e := range entries {
		_, err := log.Append(t.Context(), user("fine"), e)
		require.Error(t, err, name)
		require.Equal(t, before, read(t, path), name)
		require.Equal(t, want, describe(t, log), name)
	}
	for _, m := range []message.Message{{Content: []message.Block{message.Text("new")}}, message.User("no role")} {
		_, err := log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{{EntryID: "a", Message: m}}})
		require.Error(t, err)
		require.Equal(t, before, read(t, path))
		require.Equal(t, want, describe(t, log))
	}
}

func TestAppend_TheCallersListIsItsOwn(t *testing.T) {
	t.Parallel()
	log, err := transcript.NewMemory().Create(t.Context(), transcript.Header{})
	require.NoError(t, err)
	defer log.Close()
	out := appendAll(t, log, user("a"), user("b"))
	out[0], out[1] = out[1], out[0]
	require.Equal(t, []string{"a", "b"}, texts(t, log))
	require.Equal(t, "a", branchOf(t, log)[0].Message.Text())
}
