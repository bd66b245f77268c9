package transcript_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A compaction whose row has no time came after what it kept: a kept report is about the context
// before it, and the next report anchors again.
func TestView_CompactionWithoutATime(t *testing.T) {
	t.Parallel()
	answer := func(id, parent string, second, total int) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-07-01T00:00:%02d.000Z","message":{"role":"assistant","content":[{"type":"text","text":"ok"}],"usage":{"input":1,"totalTokens":%d},"timestamp":%d}}`,
			id, parent, second, total, 1_782_864_000_000+second*1000)
	}
	compaction := func(parent, kept, time string) string {
		return fmt.Sprintf(`{"type":"compaction","id":"k","parentId":%q,%s"summary":"S","firstKeptEntryId":%q,"tokensBefore":180000}`, parent, time, kept)
	}
	for name, time := range map[string]string{"missing": "", "unreadable": `"timestamp":"yesterday",`, "empty": `"timestamp":"",`} {
		for kept, lines := range map[string][]string{
			"answer":  {msg("a", "", "user", "u1"), answer("b", "a", 5, 180_000), compaction("b", "b", time)},
			"nothing": {msg("a", "", "user", "u1"), answer("b", "a", 5, 180_000), compaction("b", "", time)},
		} {
			t.Run(name+" time, kept "+kept, func(t *testing.T) {
				t.Parallel()
				log := openLog(t, writeSession(t, append([]string{header}, lines...)...), nil)
				require.Equal(t, -1, tokens.Anchored(tokens.ScriptAware(), viewOf(t, log).Messages).Anchor)

				next := message.Assistant(message.Text("done"))
				next.Usage = &message.Usage{Total: 700}
				appendAll(t, log, user("next"), transcript.Entry{Message: &next})
				view := viewOf(t, log).Messages
				require.Equal(t, message.RoleCompactionSummary, view[0].Role)
				got := tokens.Anchored(tokens.ScriptAware(), view)
				require.Equal(t, tokens.ContextEstimate{Tokens: 700, Usage: 700, Anchor: len(view) - 1}, got)
			})
		}
	}
}
