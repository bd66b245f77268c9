package tokens_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// session is a list of n messages like those of a coding agent, about 350 bytes each.
func session(tb testing.TB, n int) []message.Message {
	tb.Helper()
	prose := readCorpus(tb, "prose")
	ms := make([]message.Message, 0, n)
	for i := 0; len(ms) < n; i++ {
		text := fmt.Sprintf("%d %s", i, prose[i%2000:i%2000+320])
		id := fmt.Sprintf("call_%024d", i)
		switch i % 4 {
		case 0:
			ms = append(ms, message.User(text))
		case 1:
			ms = append(ms, message.Assistant(message.Text(text)))
		case 2:
			ms = append(ms, message.Assistant(message.Text(text[:80]), message.ToolCall(id, "read_file", json.RawMessage(fmt.Sprintf(`{"path":"src/module_%d/file.go","limit":2000}`, i)))))
		default:
			ms = append(ms, message.ToolResult(id, "read_file", message.Text(text)))
		}
	}
	return ms
}

func readCorpus(tb testing.TB, name string) string {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "corpus", name+".txt"))
	require.NoError(tb, err)
	return string(b)
}

func BenchmarkScriptAware(b *testing.B) {
	e := tokens.ScriptAware()
	for _, name := range []string{"prose", "code", "russian", "han", "thai", "latin", "indic"} {
		text, err := os.ReadFile(filepath.Join("testdata", "corpus", name+".txt"))
		if err != nil {
			text, err = os.ReadFile(filepath.Join("testdata", "training", name+".txt"))
		}
		require.NoError(b, err)
		s := strings.Repeat(string(text), 20)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				e.Text(s)
			}
		})
	}
}

// A pass over 10,000 remembered messages.
func BenchmarkMeter10k(b *testing.B) {
	ms := session(b, 10_000)
	m := tokens.NewMeter(tokens.ScriptAware(), nil)
	m.Messages(ms)
	b.ReportAllocs()
	for b.Loop() {
		m.Messages(ms)
	}
}

// A tool result of 1.7 MB: it may take 100 ms at most, and takes a few.
func BenchmarkHugeToolResult(b *testing.B) {
	e := tokens.ScriptAware()
	for name, unit := range map[string]string{"letter": "a", "blanks": " ", "han": "中", "code": readCorpus(b, "code")} {
		m := message.ToolResult("c", "read", message.Text(strings.Repeat(unit, 1_700_000/len(unit))))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(1_700_000)
			b.ReportAllocs()
			for b.Loop() {
				e.Message(m)
			}
		})
	}
}
