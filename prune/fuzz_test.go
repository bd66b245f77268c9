package prune_test

import (
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func FuzzTruncate(f *testing.F) {
	f.Add("plain text\nwith lines\nError: x", 20, "")
	f.Add("é中😀\n😀😀😀 total 3", 7, "e1")
	f.Add("{\"a\":1}", -1, "k")
	f.Fuzz(func(t *testing.T, text string, limit int, entry string) {
		out := prune.Truncate(text, limit, entry)
		if utf8.ValidString(text) && utf8.ValidString(entry) && !utf8.ValidString(out) {
			t.Errorf("cut into a character: %q", out)
		}
		if out != text && len(utf16.Encode([]rune(out))) > max(0, limit) {
			t.Errorf("%d units: %q", limit, out)
		}
	})
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"e0-2":{"h":"x","n":70}}`))
	f.Add([]byte(`{"touched":{"/":1},"results":{"e0-2":{"h":"x","as":"trim"}}}`))
	f.Add([]byte(`null`))
	ms := exchanges(3, "some output")
	sum := prune.ToolResults(&prune.ToolResultOptions{AggregateChars: 1}).(prune.Stateful)
	sum.Apply(ms, prune.Input{})
	f.Add(sum.Snapshot())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, p := range []prune.Stateful{prune.CacheTTL(nil), prune.ToolResults(nil).(prune.Stateful)} {
			if p.Restore(b) != nil {
				continue
			}
			p.Apply(ms, testInput())
			p.Observe(message.Usage{}, testInput().Now)
			again := p.Snapshot()
			if err := p.Restore(again); err != nil {
				t.Errorf("its own snapshot: %v", err)
			}
		}
	})
}
