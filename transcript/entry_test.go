package transcript_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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

// A file that cannot be read any more gives errors, and works again when it can.
func TestFault_ReadErrors(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	faults := &transcript.Faults{}
	log, err := transcript.OpenFileWithFaults(path, nil, faults)
	require.NoError(t, err)
	defer log.Close()
	broken := func(string, int64) error { return errInjected }
	faults.ReadAt = broken
	_, err = log.View(t.Context())
	require.ErrorIs(t, err, errInjected)
	for _, err := range log.Branch(t.Context()) {
		require.ErrorIs(t, err, errInjected)
	}
	_, err = transcript.OpenFileWithFaults(path, nil, faults)
	require.ErrorIs(t, err, errInjected)
	var not *transcript.NotSessionError
	require.False(t, errors.As(err, &not), "a broken disk is no wrong file")
	faults.ReadAt = nil
	require.Equal(t, []string{"u1"}, texts(t, log))

	require.NoError(t, os.WriteFile(path+".new", []byte(header+"\n"+msg("b", "", "user", "other")+"\n"), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	faults.ReadAt = broken
	_, err = log.View(t.Context())
	require.ErrorIs(t, err, errInjected)
	faults.ReadAt = nil
	require.Equal(t, []string{"other"}, texts(t, log))
}

// A torn row that cannot be set aside stays, and nothing is written behind it.
func TestFault_TornRowThatCannotBeSetAside(t *testing.T) {
	t.Parallel()
	path := writeSession(t, header, msg("a", "", "user", "u1"))
	torn := read(t, path) + `{"type":"mess`
	require.NoError(t, os.WriteFile(path, []byte(torn), 0o600))
	faults := &transcript.Faults{Open: func(name string, _ int) error {
		if strings.Contains(name, ".torn-") {
			return errInjected
		}
		return nil
	}}
	log, err := transcript.OpenFileWithFaults(path, nil, faults)
	require.NoError(t, err)
	defer log.Close()
	_, err = log.Append(t.Context(), user("u2"))
	require.ErrorIs(t, err, errInjected)
	require.Equal(t, torn, read(t, path))
	faults.Open = nil
	appendAll(t, log, user("u2"))
	require.Equal(t, []string{"u1", "u2"}, texts(t, openLog(t, path, nil)))
}

func TestRepair_MissingResults(t *testing.T) {
	t.Parallel()
	row := func(id, parent, rest string) string {
		return `{"type":"message","id":"` + id + `","parentId":"` + parent + `","timestamp":"` + stamp + `","message":{"role":"assistant",` + rest + `,"timestamp":1}}`
	}
	path := writeSession(t, header, msg("a", "", "user", "u1"),
		row("b", "a", `"api":"openai-chatgpt-responses","provider":"openai","content":[{"type":"toolCall","id":"c1","name":"exec","arguments":{}},{"type":"toolCall","id":"c2","name":"exec","arguments":{}}]`),
		`{"type":"message","id":"c","parentId":"b","timestamp":"`+stamp+`","message":{"role":"toolResult","toolCallId":"c2","toolName":"exec","content":[{"type":"text","text":"r2"}]}}`,
		row("d", "c", `"api":"x","provider":"y","content":[{"type":"toolCall","id":"c3","name":"message","arguments":{}}]`),
		row("e", "d", `"provider":"openclaw","model":"delivery-mirror","content":[{"type":"text","text":"sent"}]`),
		row("f", "e", `"api":"x","provider":"y","content":[{"type":"toolCall","id":"c4","name":"read","arguments":{}}]`),
		row("g", "f", `"content":[],"stopReason":"error"`),
	)
	report, err := transcript.Repair(t.Context(), path)
	require.NoError(t, err)
	require.Len(t, report.Changes, 3)
	require.ErrorContains(t, report.Changes[0], `missing result: call "c1"`)
	require.Equal(t, filepath.Dir(path), filepath.Dir(report.Backup))
	var got []string
	for _, m := range viewOf(t, openLog(t, path, nil)).Messages {
		got = append(got, m.ToolCallID+"|"+m.Text())
	}
	require.Equal(t, []string{
		"|u1", "|", "c1|" + transcript.RepairResultText, "c2|r2", "|", "c3|" + transcript.RepairResultText, "|sent", "|", "|" + transcript.RepairAnswerText,
	}, got)
}

func TestRepair_RefusesWhatIsNoSession(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{{"hello"}, {msg("a", "", "user", "no header")}} {
		path := writeSession(t, lines...)
		before := read(t, path)
		_, err := transcript.Repair(t.Context(), path)
		var not *transcript.NotSessionError
		require.ErrorAs(t, err, &not)
		require.Equal(t, path, not.Path)
		require.Equal(t, before, read(t, path))
	}
	_, err := transcript.Repair(t.Context(), filepath.Join(t.TempDir(), "none.jsonl"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestRepair_MigratesOlderVersions(t *testing.T) {
	t.Parallel()
	path := writeSession(t, versionOne...)
	before := texts(t, openLog(t, path, nil))
	report, err := transcript.Repair(t.Context(), path)
	require.NoError(t, err)
	require.Len(t, report.Changes, 2) // migrated, and the broken line
	log := openLog(t, path, nil)
	require.Equal(t, 3, log.Header().Version)
	require.Equal(t, before, texts(t, log))
	require.Empty(t, log.Problems())
}

// A folder that cannot be forced to the disk: a new session is not there, a migrated one is.
func TestFault_FolderThatCannotBeSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	faults := &transcript.Faults{SyncDir: func() error { return errInjected }}
	st, err := transcript.OpenDirWithFaults(dir, nil, faults)
	require.NoError(t, err)
	log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	defer log.Close()
	_, err = log.Append(t.Context(), user("u1"))
	require.ErrorIs(t, err, errInjected)
	require.Empty(t, listDir(t, dir))
	require.Empty(t, texts(t, log))

	path := writeSession(t, versionTwo...)
	old, err := transcript.OpenFileWithFaults(path, nil, faults)
	require.NoError(t, err)
	defer old.Close()
	_, err = old.Append(t.Context(), user("u2"))
	require.ErrorIs(t, err, errInjected)
	require.Equal(t, []string{"u1", "h"}, texts(t, old))

	faults.SyncDir = nil
	appendAll(t, log, user("u1"))
	appendAll(t, old, user("u2"))
	require.Equal(t, []string{"u1"}, texts(t, openIn(t, dir, "s")))
	require.Equal(t, []string{"u1", "h", "u2"}, texts(t, openLog(t, path, nil)))
}
