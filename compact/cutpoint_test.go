package compact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// rowsOf makes a branch of 100-token messages from a pattern: u user, a assistant, c call,
// r result, m model change, x extension message of 1,000 tokens, b shell command.
func rowsOf(pattern string) []transcript.Entry {
	text := strings.Repeat("a", 400)
	var rows []transcript.Entry
	for i, k := range pattern {
		var e transcript.Entry
		switch k {
		case 'u':
			e = transcript.MessageEntry(message.User(text))
		case 'a':
			e = transcript.MessageEntry(message.Assistant(message.Text(text)))
		case 'c':
			e = transcript.MessageEntry(message.Assistant(message.ToolCall("id", "read", json.RawMessage(`{"path":"`+strings.Repeat("a", 384)+`"}`))))
		case 'r':
			e = transcript.MessageEntry(message.ToolResult("id", "read", message.Text(text)))
		case 'm':
			e = transcript.ModelChangeEntry("p", "m")
		case 'x':
			e = transcript.CustomMessageEntry("x", strings.Repeat("a", 4000))
		case 'b':
			e = transcript.MessageEntry(message.BashExecution(message.Bash{Command: text}))
		}
		e.ID = fmt.Sprintf("e%d", i)
		rows = append(rows, e)
	}
	return rows
}

func TestFindCutPoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rows string
		keep int
		want compact.CutPoint
	}{
		{"uauaua", 100, compact.CutPoint{FirstKept: 5, TurnStart: 4}},
		{"uauaua", 101, compact.CutPoint{FirstKept: 4, TurnStart: -1}},
		{"uauaua", 200, compact.CutPoint{FirstKept: 4, TurnStart: -1}},
		{"uauaua", 250, compact.CutPoint{FirstKept: 3, TurnStart: 2}},
		{"uauaua", 9_999, compact.CutPoint{FirstKept: 0, TurnStart: -1}},
		{"uammua", 200, compact.CutPoint{FirstKept: 2, TurnStart: 0}},
		{"ucrrau", 50, compact.CutPoint{FirstKept: 5, TurnStart: -1}},
		{"ucrra", 50, compact.CutPoint{FirstKept: 4, TurnStart: 0}},
		{"ucrra", 250, compact.CutPoint{FirstKept: 4, TurnStart: 0}},
		{"uxa", 100, compact.CutPoint{FirstKept: 1, TurnStart: 1}},
		{"uba", 200, compact.CutPoint{FirstKept: 1, TurnStart: 1}},
		{"rrr", 100, compact.CutPoint{TurnStart: -1}},
		{"ucr", 1, compact.CutPoint{FirstKept: 1, TurnStart: 0}},
		{"", 100, compact.CutPoint{TurnStart: -1}},
		{"mmm", 100, compact.CutPoint{TurnStart: -1}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%d", tt.rows, tt.keep), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, compact.FindCutPoint(rowsOf(tt.rows), tt.keep, tokens.Compat()))
		})
	}
}
