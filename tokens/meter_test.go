package tokens_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// A counting Estimator says how often it was asked.
type counting struct {
	tokens.Estimator
	asked atomic.Int64
}

func newCounting() *counting { return &counting{Estimator: tokens.ScriptAware()} }

func (c *counting) Message(m message.Message) int {
	c.asked.Add(1)
	return c.Estimator.Message(m)
}

func TestMeterRemembersByContent(t *testing.T) {
	t.Parallel()
	e := newCounting()
	m := tokens.NewMeter(e, nil)
	first := message.User("hello")
	first.Key = "k1"
	n := m.Message(first)
	require.Equal(t, tokens.ScriptAware().Message(first), n)

	same := message.User("hello")
	same.Key, same.Timestamp, same.Usage = "k2", time.Now(), &message.Usage{Input: 5}
	require.Equal(t, n, m.Message(same))
	require.EqualValues(t, 1, e.asked.Load())

	changed := message.User("hello, and a good deal more than that")
	changed.Key = "k1"
	require.Greater(t, m.Message(changed), n)
	require.EqualValues(t, 2, e.asked.Load())
}

// Every field that can count must change the hash: text moved from one to another too.
func TestMeterTellsFieldsApart(t *testing.T) {
	t.Parallel()
	base := func() message.Message {
		return message.Message{
			Role: message.RoleAssistant, ToolCallID: "c", ToolName: "n", StopReason: "s", ErrorMessage: "e", Summary: "u",
			Content: []message.Block{
				{Type: "x", Text: "t", Signature: "g", ID: "i", Name: "m", Arguments: json.RawMessage("{}"), Data: "d", MIMEType: "y", Extra: map[string]json.RawMessage{"a": json.RawMessage("1")}},
				{Type: message.BlockText, Text: "second"},
			},
			Extra: map[string]json.RawMessage{"k": json.RawMessage("1"), "l": json.RawMessage("2")},
		}
	}
	edits := map[string]func(m *message.Message){
		"nothing":       func(*message.Message) {},
		"role":          func(m *message.Message) { m.Role = message.RoleUser },
		"call id":       func(m *message.Message) { m.ToolCallID = "cc" },
		"call id empty": func(m *message.Message) { m.ToolCallID = "" },
		"tool name":     func(m *message.Message) { m.ToolName = "nn" },
		"swapped":       func(m *message.Message) { m.ToolCallID, m.ToolName = m.ToolName, m.ToolCallID },
		"error":         func(m *message.Message) { m.IsError = true },
		"stop":          func(m *message.Message) { m.StopReason = "" },
		"error text":    func(m *message.Message) { m.ErrorMessage = "longer than sixteen bytes" },
		"summary":       func(m *message.Message) { m.Summary = "" },
		"type":          func(m *message.Message) { m.Content[0].Type = "z" },
		"text":          func(m *message.Message) { m.Content[0].Text = "T" },
		"text+second":   func(m *message.Message) { m.Content[0].Text, m.Content[1].Text = "tsecond", "" },
		"border":        func(m *message.Message) { m.Content[0].Text, m.Content[1].Text = "ts", "econd" },
		"signature":     func(m *message.Message) { m.Content[0].Signature = "" },
		"text in sig":   func(m *message.Message) { b := &m.Content[0]; b.Text, b.Signature = b.Signature, b.Text },
		"id":            func(m *message.Message) { m.Content[0].ID = "j" },
		"name":          func(m *message.Message) { m.Content[0].Name = "o" },
		"arguments":     func(m *message.Message) { m.Content[0].Arguments = json.RawMessage("{ }") },
		"no arguments":  func(m *message.Message) { m.Content[0].Arguments = nil },
		"data":          func(m *message.Message) { m.Content[0].Data = "D" },
		"mime":          func(m *message.Message) { m.Content[0].MIMEType = "" },
		"block extra":   func(m *message.Message) { m.Content[0].Extra = nil },
		"extra key": func(m *message.Message) {
			m.Extra = map[string]json.RawMessage{"K": json.RawMessage("1"), "l": json.RawMessage("2")}
		},
		"extra values": func(m *message.Message) {
			m.Extra = map[string]json.RawMessage{"k": json.RawMessage("2"), "l": json.RawMessage("1")}
		},
		"no extra":      func(m *message.Message) { m.Extra = nil },
		"one block":     func(m *message.Message) { m.Content = m.Content[:1] },
		"block order":   func(m *message.Message) { m.Content[0], m.Content[1] = m.Content[1], m.Content[0] },
		"a third block": func(m *message.Message) { m.Content = append(m.Content, message.Block{}) },
	}
	e := newCounting()
	m := tokens.NewMeter(e, nil)
	for name, edit := range edits {
		before := e.asked.Load()
		x := base()
		edit(&x)
		m.Message(x)
		require.Equal(t, before+1, e.asked.Load(), "%q has the hash of another", name)
	}
	for name, edit := range edits {
		x := base()
		edit(&x)
		m.Message(x)
		require.EqualValues(t, len(edits), e.asked.Load(), name)
	}
}

func TestMeterEqualsItsEstimator(t *testing.T) {
	t.Parallel()
	e := tokens.ScriptAware()
	m := tokens.NewMeter(e, &tokens.MeterOptions{Entries: 4})
	rapid.Check(t, func(t *rapid.T) {
		x := message.User(rapid.SampledFrom([]string{"", "a", "abc", "日本", strings.Repeat("long ", 300)}).Draw(t, "text"))
		x.Role = rapid.SampledFrom([]message.Role{message.RoleUser, message.RoleToolResult, "other"}).Draw(t, "role")
		x.ToolName = rapid.SampledFrom([]string{"", "read"}).Draw(t, "tool")
		if got, want := m.Message(x), e.Message(x); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
		if got, want := m.Text(x.Text()), e.Text(x.Text()); got != want {
			t.Fatalf("text %d, want %d", got, want)
		}
		schema := json.RawMessage(`{"name":"` + x.ToolName + `"}`)
		if got, want := m.Schema(schema), e.Schema(schema); got != want {
			t.Fatalf("schema %d, want %d", got, want)
		}
	})
}

// BenchmarkMeter10k says how long this takes: less than a millisecond.
func TestMeterAllocatesNothing(t *testing.T) {
	ms := session(t, 10_000)
	e := newCounting()
	m := tokens.NewMeter(e, nil)
	want := m.Messages(ms)
	require.Zero(t, testing.AllocsPerRun(3, func() { m.Messages(ms) }))
	require.Equal(t, want, m.Messages(ms))
	require.EqualValues(t, len(ms), e.asked.Load(), "each message is counted once")
}

func TestMeterForgetsTheOldest(t *testing.T) {
	t.Parallel()
	e := newCounting()
	m := tokens.NewMeter(e, &tokens.MeterOptions{Entries: 1024})
	kept := message.User("asked for all the time")
	for i := range 20_000 {
		m.Message(kept)
		m.Message(message.User(fmt.Sprint(i)))
	}
	require.EqualValues(t, 20_001, e.asked.Load(), "what is asked for stays")
	for i := range 10_000 {
		m.Message(message.User(fmt.Sprint(i)))
	}
	require.EqualValues(t, 30_001, e.asked.Load(), "memory is bounded")
}

func TestMeterConcurrently(t *testing.T) {
	t.Parallel()
	ms := session(t, 200)
	m := tokens.NewMeter(tokens.ScriptAware(), &tokens.MeterOptions{Entries: 64})
	want := tokens.Messages(tokens.ScriptAware(), ms)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if got := m.Messages(ms); got != want {
					t.Errorf("%d, want %d", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestNewMeterOverMeter(t *testing.T) {
	t.Parallel()
	m := tokens.NewMeter(nil, nil)
	require.Same(t, m, tokens.NewMeter(m, nil))
	require.Equal(t, tokens.ScriptAware().Text("x"), m.Text("x"))
}
