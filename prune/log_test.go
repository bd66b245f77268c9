package prune_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/transcript"
)

// TestLogIsUntouchedAfter100Turns: what is sent shrinks at each turn, the log only grows by
// what was appended, to the byte.
func TestLogIsUntouchedAfter100Turns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memory", "file"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, store := t.TempDir(), transcript.NewMemory()
			if name == "file" {
				store = openDir(t, dir)
			}
			log, err := store.Create(t.Context(), transcript.Header{ID: "s"})
			require.NoError(t, err)
			defer func() { require.NoError(t, log.Close()) }()
			clock := start
			ttl := prune.CacheTTL(&prune.CacheTTLOptions{HardRatio: 0.01, MinPrunable: -1})
			all := append([]prune.Pass{prune.BatchedHistoryLimit(40), ttl}, prune.Standard(prune.PolicyOpenAIChat)...)
			shrunk := 0
			for turn := range 100 {
				appendTurn(t, log, turn, clock)
				stored, view := written(t, dir), viewOf(t, log)
				require.Equal(t, name == "file", stored != "")
				before := message.Clone(view)
				clock = clock.Add(10 * time.Minute)
				out := prune.Apply(view, prune.Input{Window: 1_200, Now: clock}, all...)
				ttl.Observe(message.Usage{}, clock)
				require.True(t, equalLists(before, view), "turn %d", turn)
				require.Equal(t, stored, written(t, dir), "turn %d", turn)
				if len(join(out)) < len(join(view)) {
					shrunk++
				}
			}
			require.Greater(t, shrunk, 80)
			require.Len(t, viewOf(t, log), 400)
			require.Contains(t, join(viewOf(t, log)), "line 0 of the log")
		})
	}
}

func openDir(t *testing.T, dir string) transcript.Store {
	t.Helper()
	store, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	return store
}

func appendTurn(t *testing.T, log transcript.Log, turn int, at time.Time) {
	t.Helper()
	id := fmt.Sprintf("call_%d", turn)
	ask := stopped(message.StopToolUse, message.ToolCall(id, "read", nil))
	result := message.ToolResult(id, "read", message.Text(strings.Repeat(fmt.Sprintf("line %d of the log\n", turn), 120)), message.Image("iVBORw0KGgo", "image/png"))
	var entries []transcript.Entry
	for _, m := range []message.Message{message.User("go on"), ask, result, stopped(message.StopEnd, message.Text("done"))} {
		m.Timestamp = at
		entries = append(entries, transcript.MessageEntry(m))
	}
	_, err := log.Append(t.Context(), entries...)
	require.NoError(t, err)
}

func viewOf(t *testing.T, log transcript.Log) []message.Message {
	t.Helper()
	view, err := log.View(t.Context())
	require.NoError(t, err)
	return view.Messages
}

// written is everything on disk.
func written(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	require.NoError(t, err)
	for _, path := range files {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		all.Write(raw)
	}
	return all.String()
}
