package message_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/internal/jsonx"
	"github.com/go-contextengine/contextengine/message"
)

func decode(t testing.TB, source string) message.Message {
	t.Helper()
	var m message.Message
	require.NoError(t, m.UnmarshalJSON([]byte(source)))
	return m
}

func encode(t testing.TB, m message.Message) string {
	t.Helper()
	out, err := m.MarshalJSON()
	require.NoError(t, err)
	require.True(t, json.Valid(out), "%s", out)
	return string(out)
}

// TestRoundTrip feeds shapes that logs contain, or might, through decode and encode.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"user text":                `{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1}`,
		"user string":              `{"role":"user","content":"hi","timestamp":1}`,
		"empty string content":     `{"role":"user","content":""}`,
		"single object content":    `{"role":"user","content":{"type":"text","text":"hi"}}`,
		"mixed content":            `{"role":"user","content":[{"type":"text","text":"hi"},"more",5,null]}`,
		"content null":             `{"role":"assistant","content":null}`,
		"content number":           `{"role":"assistant","content":7}`,
		"content missing":          `{"role":"assistant"}`,
		"content empty":            `{"role":"assistant","content":[]}`,
		"content empty on summary": `{"role":"branchSummary","summary":"s","content":[]}`,
		"assistant": `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln","redacted":true},
			{"type":"text","text":"<b>&","textSignature":"m1"},
			{"type":"toolCall","id":"c1","name":"read","arguments":{"n":12345678901234567890,"f":1.0, "z":"a"},"thoughtSignature":"x","partialJson":"{"}],
			"api":"a","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"total":0.30000000000000004}},
			"stopReason":"toolUse","timestamp":1772972204867,"responseId":"r"}`,
		"usage without totals":   `{"role":"assistant","content":[],"usage":{"input":1}}`,
		"usage null":             `{"role":"assistant","content":[],"usage":null}`,
		"usage list":             `{"role":"assistant","content":[],"usage":[1]}`,
		"usage odd numbers":      `{"role":"assistant","content":[],"usage":{"input":1.0,"output":1.5,"cacheRead":"3","cacheWrite":12345678901234567890,"totalTokens":0}}`,
		"tool result":            `{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"x"}],"details":{"a":[1]},"isError":false,"timestamp":5}`,
		"tool result bare":       `{"role":"toolResult","content":"x"}`,
		"tool result blank name": `{"role":"toolResult","toolCallId":"","toolName":"","content":[],"isError":null}`,
		"tool result snake":      `{"role":"toolResult","tool_call_id":"c1","content":[],"isError":true}`,
		"image":                  `{"role":"user","content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]}`,
		"tool use":               `{"role":"assistant","content":[{"type":"toolUse","id":"a","name":"n","input":{"x":1},"arguments":"left alone"}]}`,
		"null arguments":         `{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"n","arguments":null}]}`,
		"no arguments":           `{"role":"assistant","content":[{"type":"toolCall","name":"n"}]}`,
		"result block":           `{"role":"user","content":[{"type":"toolResult","toolCallId":"c1","content":"x"},{"type":"tool_result","tool_use_id":"c2","content":[]}]}`,
		"unknown block":          `{"role":"user","content":[{"type":"hologram","text":"t","id":5,"data":{"a":1},"signature":"s","more":[]}]}`,
		"untyped block":          `{"role":"user","content":[{},{"type":null},{"type":""},{"text":"t"}]}`,
		"text block without":     `{"role":"user","content":[{"type":"text"},{"type":"thinking","text":"wrong key"}]}`,
		"unknown role":           `{"role":"oracle","content":"x","summary":"s","tokensBefore":4,"deep":{"er":[{}]}}`,
		"no role":                `{"content":"x"}`,
		"role null":              `{"role":null}`,
		"empty":                  `{}`,
		"bash":                   `{"role":"bashExecution","command":"ls","output":"a\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":9}`,
		"custom":                 `{"role":"custom","customType":"x.y","content":"note","display":true,"details":{"k":"v"},"timestamp":9}`,
		"branch summary":         `{"role":"branchSummary","summary":"s","fromId":"root","timestamp":9}`,
		"branch summary without": `{"role":"branchSummary"}`,
		"compaction summary":     `{"role":"compactionSummary","summary":"","tokensBefore":0,"timestamp":0}`,
		"compaction odd":         `{"role":"compactionSummary","summary":null,"tokensBefore":12345678901234567890}`,
		"timestamps string":      `{"role":"user","content":[],"timestamp":"2026-03-08T12:16:36.698Z"}`,
		"timestamp fraction":     `{"role":"user","content":[],"timestamp":1772972196609.5}`,
		"timestamp float":        `{"role":"user","content":[],"timestamp":1.772972196609e12}`,
		"timestamp null":         `{"role":"user","content":[],"timestamp":null}`,
		"timestamp huge":         `{"role":"user","content":[],"timestamp":99999999999999999999}`,
		"timestamp max":          `{"role":"user","content":[],"timestamp":9223372036854775807}`,
		"timestamp zero time":    `{"role":"user","content":[],"timestamp":-62135596800000}`,
		"wrong kinds": `{"role":"assistant","content":[{"type":"text","text":5,"textSignature":{}}],"api":1,"provider":[],"model":null,
			"stopReason":false,"errorMessage":{},"isError":"no","summary":1,"toolCallId":1,"toolName":[]}`,
		"empty strings":            `{"role":"assistant","content":[],"api":"","provider":"","model":"","stopReason":"","errorMessage":"","toolCallId":"","summary":""}`,
		"lone surrogates":          `{"role":"user","content":[{"type":"text","text":"a\ud800b"}],"model":"\udfff","k\ud800":"\ud83d"}`,
		"lone surrogate string":    `{"role":"user","content":"a\ud800b"}`,
		"lone surrogate arguments": `{"role":"assistant","content":[{"type":"toolCall","id":"\ud800","name":"n","arguments":{"\ud800":"\udc00"}}]}`,
		"pairs and escapes":        `{"r\u006fle":"user","content":"\ud83d\ude00\u2028\"\\\/\b\f\n\r\t\u0000"}`,
		"negative zero":            `{"role":"compactionSummary","summary":"s","tokensBefore":-0}`,
		"spaces":                   " { \"role\" : \"user\" ,\n\t\"content\" : [ { \"type\" : \"text\" , \"text\" : \"x\" } , ] } ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source = strings.ReplaceAll(source, ", ]", "]")
			m := decode(t, source)
			out := encode(t, m)
			require.True(t, jsonx.Equal([]byte(source), []byte(out)), "%s\n%s", source, out)
			again := decode(t, out)
			require.True(t, message.Equal(m, again), cmp.Diff(m, again))
			require.Equal(t, out, encode(t, again), "encoding is stable")
			require.True(t, message.Equal(m, message.Clone([]message.Message{m})[0]))
			viaStdlib, err := json.Marshal(m)
			require.NoError(t, err)
			require.True(t, jsonx.Equal([]byte(source), viaStdlib))
		})
	}
}

func TestDecodeFields(t *testing.T) {
	t.Parallel()
	m := decode(t, `{"role":"assistant","content":[
		{"type":"thinking","thinking":"hm","thinkingSignature":"s1"},
		{"type":"text","text":"yes","textSignature":"s2"},
		{"type":"toolCall","id":"c1","name":"read","arguments":{ "n" : 12345678901234567890 },"thoughtSignature":"s3"}],
		"api":"a","provider":"p","model":"m","stopReason":"toolUse","errorMessage":"e","timestamp":1772972204867,
		"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10}}`)
	want := message.Message{
		Role: message.RoleAssistant,
		Content: []message.Block{
			{Type: message.BlockThinking, Text: "hm", Signature: "s1"},
			{Type: message.BlockText, Text: "yes", Signature: "s2"},
			{
				Type: message.BlockToolCall, ID: "c1", Name: "read", Signature: "s3",
				Arguments: json.RawMessage(`{ "n" : 12345678901234567890 }`),
			},
		},
		API: "a", Provider: "p", Model: "m", StopReason: message.StopToolUse, ErrorMessage: "e",
		Timestamp: time.UnixMilli(1772972204867).UTC(),
		Usage:     &message.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Total: 10},
	}
	require.Empty(t, cmp.Diff(want, m))
}
