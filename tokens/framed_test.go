package tokens_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/tokens/bpe"
)

// bytesEstimator counts a token per byte, so that every field shows.
func bytesEstimator() tokens.Estimator { return tokens.Framed(func(s string) int { return len(s) }) }

func TestFramedCosts(t *testing.T) {
	t.Parallel()
	const frame = tokens.MessageOverhead
	blob := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("binary", 20_000)))
	for _, tt := range []struct {
		name string
		m    message.Message
		want int
	}{
		{"empty", message.Message{}, frame},
		{"text", message.User("12345"), frame + 5},
		{"thinking without its signature", message.Assistant(message.Thinking("1234", strings.Repeat("s", 500))), frame + 4},
		{"withheld thinking", message.Assistant(message.Thinking("", strings.Repeat("s", 500))), frame + 100},
		{"image of any size", withBlocks(message.Image(blob, "image/png")), frame + tokens.ImageTokens},
		{"tool call", message.Assistant(message.ToolCall("id", "read", json.RawMessage(`{"a":1}`))), frame + tokens.ToolCallOverhead + 4 + 7},
		{"call under another name", message.Assistant(message.Block{Type: "toolUse", Name: "read", Arguments: json.RawMessage(`{"a":1}`)}), frame + tokens.ToolCallOverhead + 4 + 7},
		{"tool result", message.ToolResult("id", "read", message.Text("123")), frame + tokens.ToolResultOverhead + 4 + 3},
		{"result block", withBlocks(message.Block{Type: message.BlockToolResult, Text: "123"}), frame + tokens.ToolResultOverhead + 3},
		{"bash", message.BashExecution(message.Bash{Command: "ls", Output: "abc"}), frame + 5},
		{"bash kept from the model", message.BashExecution(message.Bash{Command: "ls", Output: "abc", Exclude: true}), 0},
		{"summary", message.Message{Role: message.RoleCompactionSummary, Summary: "1234"}, frame + tokens.SummaryOverhead + 4},
		{"details are not sent", message.ToolResult("id", "read").WithExtra("details", json.RawMessage(`{"big":"xxxxxxxxxxxxxxxx"}`)), frame + tokens.ToolResultOverhead + 4},
		{"audio with data", withBlocks(message.Block{Type: "audio", Data: blob}), frame + tokens.UnknownBlockOverhead + tokens.AttachmentTokens},
		{"file in a source object", withBlocks(message.Block{Type: "document", Extra: map[string]json.RawMessage{"source": json.RawMessage(`{"data":"` + blob + `"}`)}}), frame + tokens.UnknownBlockOverhead + len("source") + len(`{"data":"}`) + tokens.AttachmentTokens},
		{"data URL", withBlocks(message.Block{Type: "file", Extra: map[string]json.RawMessage{"url": json.RawMessage(`"data:application/pdf;base64,` + blob + `"`)}}), frame + tokens.UnknownBlockOverhead + 3 + 1 + tokens.AttachmentTokens},
		{"unknown and empty", withBlocks(message.Block{Type: "mystery"}), frame + tokens.UnknownBlockOverhead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, bytesEstimator().Message(tt.m))
		})
	}
}

// The form in which JSON has a content is no content.
func TestFramedIgnoresTheFormOfContent(t *testing.T) {
	t.Parallel()
	var bare, list message.Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","content":"hello"}`), &bare))
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","content":[{"type":"text","text":"hello"}]}`), &list))
	for _, e := range []tokens.Estimator{tokens.ScriptAware(), bpe.O200kBase()} {
		require.Equal(t, e.Message(list), e.Message(bare))
		require.Equal(t, e.Message(message.User("hello")), e.Message(bare))
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	tool := json.RawMessage(`{"name":"read","description":"Reads a file.","input_schema":{"type":"object"}}`)
	for _, e := range []tokens.Estimator{tokens.ScriptAware(), tokens.Compat(), tokens.CompatPressure(), bpe.CL100kBase()} {
		require.Positive(t, e.Schema(tool))
		require.Zero(t, e.Schema(nil))
	}
}

func TestMessagesIsTheSum(t *testing.T) {
	t.Parallel()
	ms := session(t, 50)
	for _, e := range []tokens.Estimator{tokens.ScriptAware(), tokens.Compat(), tokens.CompatPressure(), bpe.O200kBase(), tokens.NewMeter(nil, nil)} {
		want := 0
		for _, m := range ms {
			want += e.Message(m)
		}
		require.Equal(t, want, tokens.Messages(e, ms))
	}
}

func TestMeasureBreakdown(t *testing.T) {
	t.Parallel()
	e := bytesEstimator()
	history := []message.Message{
		message.User("12345"),
		withBlocks(message.Text("ab"), message.Image("AAAA", "image/png"), message.Block{Type: "audio", Data: "AAAA"}),
		message.Assistant(message.ToolCall("id", "read", json.RawMessage(`{}`))),
	}
	b := tokens.Measure(e, tokens.Parts{
		System: "be brief", Tools: []json.RawMessage{json.RawMessage(`{"n":1}`)}, History: history, Prompt: "go",
		Budget: tokens.NewBudget(200_000, nil),
	})
	require.Equal(t, tokens.Breakdown{
		System: 8, Tools: tokens.MessageOverhead + 7,
		History: 3*tokens.MessageOverhead + 5 + 2 + tokens.ToolCallOverhead + 4 + 2,
		Images:  tokens.ImageTokens, Other: tokens.UnknownBlockOverhead + tokens.AttachmentTokens,
		Prompt: tokens.MessageOverhead + 2, Reserve: 20_000,
	}, b)
	require.Equal(t, tokens.Messages(e, history), b.History+b.Images+b.Other)
	require.Equal(t, b.Used()+20_000, b.Total())
	require.Len(t, history[1].Content, 3, "the list is as it was")
	require.Equal(t, tokens.Breakdown{}, tokens.Measure(e, tokens.Parts{}))
}

func withBlocks(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleUser, Content: blocks}
}
