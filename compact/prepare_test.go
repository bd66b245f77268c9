package compact_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestPrepare(t *testing.T) {
	t.Parallel()
	rows := rowsOf("uauaua")
	p, ok, err := compact.Prepare(rows, 100)
	require.NoError(t, err)
	require.True(t, ok && p.Split)
	require.Equal(t, "e5", p.FirstKeptEntryID)
	require.Len(t, p.Summarise, 4)
	require.Len(t, p.TurnPrefix, 1)
	require.Equal(t, 600, p.TokensBefore)

	compaction := transcript.Entry{Type: transcript.EntryCompaction, ID: "c", Compaction: &transcript.Compaction{
		Summary: "OLD", FirstKeptEntryID: "e2", Details: json.RawMessage(`{"readFiles":["r.txt"],"modifiedFiles":["m.txt"]}`),
	}}
	_, ok, err = compact.Prepare(append(rows[:4:4], compaction), 100)
	require.NoError(t, err)
	require.False(t, ok, "it has just been compacted")

	again := append(append(rows[:4:4], compaction), rows[4:]...)
	p, ok, err = compact.Prepare(again, 200)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "OLD", p.Previous)
	require.Len(t, p.Summarise, 2, "rows that were kept are summarised again")
	require.Equal(t, 401, p.TokensBefore)
	require.Equal(t, []string{"r.txt"}, p.Files.Read)
	require.Equal(t, []string{"m.txt"}, p.Files.Edited)

	rows[5].ID = ""
	_, _, err = compact.Prepare(rows, 100)
	require.ErrorIs(t, err, compact.ErrInvalidSession)
	_, ok, err = compact.Prepare(nil, 100)
	require.NoError(t, err)
	require.False(t, ok)
}

// Names are told apart by letter case, as everywhere in JSON.
func TestFileOperationsReadExactNames(t *testing.T) {
	t.Parallel()
	rows := rowsOf("ua")
	rows[1].Message.Content = append(rows[1].Message.Content,
		message.ToolCall("1", "read", []byte(`{"Path":"/no","PATH":"/no"}`)),
		message.ToolCall("2", "edit", []byte(`{"path":"/yes","Path":"/no"}`)),
		message.ToolCall("3", "write", []byte(`{"path":7}`)),
	)
	p, ok, err := compact.Prepare(append(rows, rowsOf("ua")...), 1)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, compact.FileLists{ReadFiles: []string{}, ModifiedFiles: []string{"/yes"}}, p.Files.Lists())
}

func TestFileLists(t *testing.T) {
	t.Parallel()
	l := compact.FileOperations{Read: []string{"z", "a", "m", "a"}, Written: []string{"m"}, Edited: []string{"e"}}.Lists()
	require.Equal(t, compact.FileLists{ReadFiles: []string{"a", "z"}, ModifiedFiles: []string{"e", "m"}}, l)
}
