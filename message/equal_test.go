package message_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	base := decode(t, `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"f","arguments":{"a":1,"b":2}}],
		"usage":{"input":1},"timestamp":5,"x":{"k":[1]}}`)
	for name, other := range map[string]string{
		"reordered": `{"timestamp":5,"x":{"k":[1]},"content":[{"arguments":{"b":2,"a":1},"type":"toolCall","id":"c","name":"f"}],
			"role":"assistant","usage":{"input":1,"output":0}}`,
		"explicit zeros": `{"role":"assistant","content":{"type":"toolCall","id":"c","name":"f","arguments":{"a":1,"b":2}},
			"usage":{"input":1.0,"totalTokens":0},"timestamp":5.0,"x":{"k":[1]},"isError":false,"model":""}`,
	} {
		require.True(t, message.Equal(base, decode(t, other)), name)
	}
	for name, change := range map[string]func(m *message.Message){
		"role":      func(m *message.Message) { m.Role = message.RoleUser },
		"time":      func(m *message.Message) { m.Timestamp = m.Timestamp.Add(time.Millisecond) },
		"no time":   func(m *message.Message) { m.Timestamp = time.Time{} },
		"usage":     func(m *message.Message) { m.Usage = &message.Usage{Input: 2} },
		"no usage":  func(m *message.Message) { m.Usage = nil },
		"extra":     func(m *message.Message) { m.Extra = nil },
		"no blocks": func(m *message.Message) { m.Content = nil },
		"arguments": func(m *message.Message) { m.Content = []message.Block{message.ToolCall("c", "f", nil)} },
		"null":      func(m *message.Message) { *m = m.WithExtra("model", json.RawMessage("null")) },
		"broken":    func(m *message.Message) { *m = m.WithExtra("summary", json.RawMessage(`5`)) },
	} {
		changed := message.Clone([]message.Message{base})[0]
		change(&changed)
		require.False(t, message.Equal(base, changed), name)
		require.False(t, message.Equal(changed, base), name)
	}
	keyed := base
	keyed.Key = "k"
	keyed.Timestamp = keyed.Timestamp.Add(time.Microsecond)
	require.True(t, message.Equal(base, keyed))
	call := message.Assistant(message.Block{Type: message.BlockToolCall})
	require.False(t, message.Equal(call, message.Assistant(message.ToolCall("", "", nil))), "no arguments are not empty ones")
	require.False(t, message.Equal(message.Assistant(message.ToolCall("", "", nil)), call))
	one, two := decode(t, `{"role":"user","content":"\ud800"}`), decode(t, `{"role":"user","content":"\ud801"}`)
	require.Equal(t, one.Text(), two.Text())
	require.False(t, message.Equal(one, two), "different surrogates")
}

func TestEqual_Times(t *testing.T) {
	t.Parallel()
	at := func(when time.Time) message.Message {
		m := message.User("x")
		m.Timestamp = when
		return m
	}
	unknown, epoch := at(time.Time{}), at(time.UnixMilli(0))
	require.False(t, message.Equal(unknown, epoch))
	require.False(t, message.Equal(epoch, unknown))
	require.True(t, message.Equal(epoch, at(time.UnixMilli(0).UTC())))
	require.False(t, message.Equal(epoch, at(time.UnixMilli(1))))
	require.NotContains(t, encode(t, unknown), "timestamp")
	require.Contains(t, encode(t, epoch), `"timestamp":0`)
	require.True(t, message.Equal(epoch, decode(t, encode(t, epoch))))
	year1 := at(time.Time{}.Add(time.Microsecond))
	require.True(t, message.Equal(year1, decode(t, encode(t, year1))))
}

func TestClone(t *testing.T) {
	t.Parallel()
	require.Nil(t, message.Clone(nil))
	in := []message.Message{decode(t, `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"f","arguments":{},"k":1}],"usage":{"input":1,"k":1},"k":1}`)}
	in[0].Key = "key"
	out := message.Clone(in)
	require.Empty(t, cmp.Diff(in, out))
	out[0].Content[0].Arguments[0] = 'x'
	out[0].Content[0].Extra["k"][0] = 'x'
	out[0].Usage.Extra["k"][0] = 'x'
	out[0].Extra["k"][0] = 'x'
	require.Equal(t, `{}`, string(in[0].Content[0].Arguments))
	require.Equal(t, `1`, string(in[0].Content[0].Extra["k"])+"", "blocks")
	require.Equal(t, `1`, string(in[0].Usage.Extra["k"]), "usage")
	require.Equal(t, `1`, string(in[0].Extra["k"]), "extra")
}
