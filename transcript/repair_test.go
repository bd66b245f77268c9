package transcript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/transcript"
)

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

func TestRepair_MendsAndKeepsTheOldFile(t *testing.T) {
	t.Parallel()
	image := `{"type":"message","id":"d","parentId":"c","timestamp":"` + stamp + `","message":{"role":"user","content":[{"type":"image","data":"@@@","mimeType":"image/png"},{"type":"text","text":"see"}],"timestamp":1}}`
	path := writeSession(t, header, msg("a", "", "user", " "), `{"type":"message","id":"b","parentId":"a","message":{"content":"x"}}`,
		"{bad", msg("c", "b", "user", "u2"), image)
	before := read(t, path)
	report, err := transcript.Repair(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, before, read(t, report.Backup))
	kinds := map[int]transcript.RepairKind{}
	for _, c := range report.Changes {
		var r *transcript.RepairedError
		require.ErrorAs(t, c.Err, &r)
		kinds[c.Line] = r.Kind
	}
	require.Equal(t, map[int]transcript.RepairKind{
		2: transcript.RepairBlankInput, 3: transcript.RepairDroppedLine, 4: transcript.RepairDroppedLine, 6: transcript.RepairImage,
	}, kinds)
	log := openLog(t, path, nil)
	require.Empty(t, log.Problems())
	require.Equal(t, []string{transcript.RepairInputText, "u2", transcript.RepairImageText + "\nsee"}, texts(t, log))

	report, err = transcript.Repair(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, transcript.RepairReport{}, report, "nothing more to do")
	require.Len(t, listDir(t, path[:strings.LastIndex(path, "/")]), 2)
}
