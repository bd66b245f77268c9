package compact

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

func TestSourceIsReducedToABoundedNumberOfRequests(t *testing.T) {
	t.Parallel()
	s, err := newSettings(&Options{MaxCalls: 8, Summarizer: Scripted()})
	require.NoError(t, err)
	s.Budget.Window = 6_000
	j := &job{s: s, memory: newMemory(), room: 500}
	var ms []message.Message
	for i := range 600 {
		id := strconv.Itoa(i)
		ms = append(ms, message.Assistant(message.ToolCall(id, "read", nil)), message.ToolResult(id, "read", message.Text(strings.Repeat("out "+id+" ", 300))))
	}
	st := stage{rules: instructionSet{task: firstInstructions, sections: true}}
	ps := j.render(ms, st)
	limit := j.sourceLimit(st)
	require.LessOrEqual(t, len(j.group(j.reduce(ps, limit), limit)), 3)
	require.Positive(t, j.left, "even cut short it is too much, so the oldest went")
	require.Contains(t, ps[len(ps)-1].text, "out 599", "the newest stays")
}

// A turn that began before an earlier compaction is not forgotten when another begins.
func TestJoinTurnKeepsEarlierTurns(t *testing.T) {
	t.Parallel()
	first := joinTurn("History.", "First ask.\n## Decisions\nOne.")
	require.Equal(t, "History.\n\n## Turn in progress\nFirst ask.\n### Decisions\nOne.", first)
	second := joinTurn(first, "Second ask.")
	require.Equal(t, "History.\n\n## Earlier turn\nFirst ask.\n### Decisions\nOne.\n\n## Turn in progress\nSecond ask.", second)
}
