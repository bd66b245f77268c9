package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

const recorded = "../internal/parity/testdata/sessions"

type recordedView struct {
	ThinkingLevel string
	Model         struct{ Provider, ModelID string }
	List          [][3]any
}

// What the reference makes of two sessions is what we make of them.
func TestRecordedSessionsGiveTheRecordedView(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(recorded, "expected.json"))
	require.NoError(t, err)
	var all map[string]recordedView
	require.NoError(t, json.Unmarshal(raw, &all))
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(recorded, name)
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			log, err := transcript.OpenFile(path, nil)
			require.NoError(t, err)
			defer log.Close()
			require.Empty(t, log.Problems())

			v, err := log.View(t.Context())
			require.NoError(t, err)
			require.Equal(t, want.ThinkingLevel, v.ThinkingLevel)
			require.Equal(t, want.Model.Provider, v.Provider)
			require.Equal(t, want.Model.ModelID, v.Model)
			require.Equal(t, want.List, shape(v.Messages))

			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after, "opening must not write")
		})
	}
}

// shape reduces messages to role, time and length of text, as recorded.
func shape(ms []message.Message) [][3]any {
	out := make([][3]any, len(ms))
	for i, m := range ms {
		text := m.Text()
		if m.Summary != "" {
			text = m.Summary
		}
		out[i] = [3]any{string(m.Role), float64(m.Timestamp.UnixMilli()), float64(len(utf16.Encode([]rune(text))))}
	}
	return out
}
