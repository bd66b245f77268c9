package message_test

import (
	"encoding/json"
	"fmt"
	"math"
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

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"nothing":    ``,
		"truncated":  `{"role":"user","content":[{"type":"te`,
		"two values": `{} {}`,
		"list":       `[]`,
		"string":     `"user"`,
		"number":     `5`,
		"deep":       strings.Repeat(`[`, 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m message.Message
			var b message.Block
			var u message.Usage
			for _, err := range []error{
				m.UnmarshalJSON([]byte(source)), b.UnmarshalJSON([]byte(source)), u.UnmarshalJSON([]byte(source)),
			} {
				require.ErrorContains(t, err, "decoding ")
			}
		})
	}
	m := message.User("x")
	require.ErrorContains(t, m.UnmarshalJSON([]byte(`"s"`)), "want a json object, got string")
	require.NoError(t, m.UnmarshalJSON([]byte(`null`)))
	require.Equal(t, message.User("x"), m, "null changes nothing, as in encoding/json")
}

func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	bad := json.RawMessage(`{`)
	_, err := message.User("x").WithExtra("k", bad).MarshalJSON()
	require.ErrorContains(t, err, `encoding user message: field "k": invalid json`)
	m := message.Assistant(message.Block{Type: "odd", Extra: map[string]json.RawMessage{"k": bad}})
	_, err = m.MarshalJSON()
	require.ErrorContains(t, err, `content 0: odd block: field "k"`)
	m = message.Assistant()
	m.Usage = &message.Usage{Extra: map[string]json.RawMessage{"k": bad}}
	_, err = m.MarshalJSON()
	require.ErrorContains(t, err, `usage: field "k"`)
}

// What models and hosts get wrong in Go values is repaired, not refused.
func TestEncodeRepairs(t *testing.T) {
	t.Parallel()
	m := message.Assistant(
		message.Block{Type: message.BlockToolCall, ID: "c", Name: "f", Arguments: json.RawMessage(`{"x":`)},
		message.Text("a\xffb"))
	out := encode(t, m)
	require.JSONEq(t, `{"role":"assistant","content":[
		{"type":"toolCall","id":"c","name":"f","arguments":"{\"x\":"},{"type":"text","text":"a\ufffdb"}]}`, out)
	m.Content = m.Content[:1]
	require.True(t, message.Equal(m, decode(t, encode(t, m))))
}

func TestArgumentsAreByteExact(t *testing.T) {
	t.Parallel()
	arguments := "{ \"b\" : 1.0,\n \"a\":12345678901234567890,\"html\":\"<&>\" }"
	m := decode(t, `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"f","arguments":`+arguments+`}]}`)
	require.Equal(t, arguments, string(m.Content[0].Arguments))
	require.Contains(t, encode(t, m), arguments)
}

func TestFieldOrder(t *testing.T) {
	t.Parallel()
	m := message.ToolResult("c1", "read", message.Text("<x>"), message.Image("AA==", "image/png"))
	m.Timestamp = time.UnixMilli(5)
	m = m.WithExtra("details", json.RawMessage(`{"z":1,"a":2}`)).WithExtra("also", json.RawMessage(`1`))
	require.Equal(t, `{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"<x>"},`+
		`{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":false,"also":1,"details":{"z":1,"a":2},"timestamp":5}`, encode(t, m))
	a := message.Assistant(message.Thinking("hm", "sig"), message.ToolCall("c", "f", nil))
	a.API, a.Provider, a.Model, a.StopReason, a.ErrorMessage = "a", "p", "m", "error", "e"
	a.Usage = &message.Usage{Input: 1}
	require.Equal(t, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},`+
		`{"type":"toolCall","id":"c","name":"f","arguments":{}}],"api":"a","provider":"p","model":"m",`+
		`"usage":{"input":1,"output":0,"cacheRead":0,"cacheWrite":0},"stopReason":"error","errorMessage":"e"}`, encode(t, a))
	require.Equal(t, `{"role":"compactionSummary","summary":"s","tokensBefore":0}`,
		encode(t, message.CompactionSummary("s", 0, time.Time{})))
	require.NotContains(t, encode(t, message.Message{Key: "k"}), "k", "a key is not stored")
}

// A changed Go field wins over what Extra recorded of it.
func TestChangedFieldsWin(t *testing.T) {
	t.Parallel()
	m := decode(t, `{"role":"user","content":"a\ud800","model":null,"stopReason":"\udfff","isError":"x","tokensBefore":1.0,
		"usage":null,"timestamp":"t","provider":""}`)
	require.Equal(t, "a\ufffd", m.Text())
	require.Equal(t, 1, m.TokensBefore)
	m.Content = []message.Block{message.Text("new")}
	m.Model, m.StopReason, m.IsError, m.TokensBefore, m.Provider = "m", "stop", true, 2, "p"
	m.Usage = &message.Usage{}
	m.Timestamp = time.UnixMilli(3)
	out := encode(t, m)
	require.JSONEq(t, `{"role":"user","content":"new","model":"m","stopReason":"stop","isError":true,"tokensBefore":2,
		"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"timestamp":3,"provider":"p"}`, out)
	require.True(t, message.Equal(m, decode(t, out)))

	m.Content = append(m.Content, message.Text("more"))
	require.Contains(t, encode(t, m), `"content":[{`, "two blocks are no string")
	m.Content = nil
	require.Contains(t, encode(t, m), `"content":[]`)

	mixed := decode(t, `{"role":"user","content":["a",5]}`)
	require.Equal(t, "a", mixed.Text())
	mixed.Content = []message.Block{message.Text("b")}
	require.Contains(t, encode(t, mixed), `"content":[{"type":"text","text":"b"}]`)
}

func TestHugeMessage(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("\u65e5\\n\U0001f600<", 10<<20/9)
	m := decode(t, `{"role":"user","content":"`+text+`","timestamp":1}`)
	require.Len(t, m.Text(), len(text)-len(text)/10)
	require.True(t, message.Equal(m, decode(t, encode(t, m))))
}

// Any count of milliseconds that fits is a time; what does not fit is kept as it is.
func TestDecode_HugeTimestamps(t *testing.T) {
	t.Parallel()
	for _, ms := range []int64{math.MaxInt64, math.MinInt64, 1 << 53, 253402300800000, -1} {
		source := fmt.Sprintf(`{"role":"user","content":[],"timestamp":%d}`, ms)
		m := decode(t, source)
		require.Equal(t, ms, m.Timestamp.UnixMilli())
		require.Nil(t, m.Extra)
		require.JSONEq(t, source, encode(t, m))
		require.Contains(t, encode(t, m), fmt.Sprint(ms))
	}
	for _, raw := range []string{"9223372036854775808", "-9223372036854775809", "1e300"} {
		m := decode(t, `{"role":"user","content":[],"timestamp":`+raw+`}`)
		require.True(t, m.Timestamp.IsZero(), raw)
		require.Equal(t, raw, string(m.Extra["timestamp"]))
		m.Timestamp = time.UnixMilli(5)
		require.Contains(t, encode(t, m), `"timestamp":5`)
	}
}

// FuzzMessageJSON: whatever decodes encodes to the same meaning, and stays there.
func FuzzMessageJSON(f *testing.F) {
	for _, seed := range []string{
		`{"role":"user","content":"a\ud800","timestamp":1.0}`,
		`{"role":"assistant","content":[{"type":"toolCall","id":null,"name":"","arguments":{"n":1e999}},"x",[]],"usage":{"input":-0}}`,
		`{"role":"toolResult","toolCallId":1,"content":{},"isError":true,"isError":null,"\ud800":0}`,
		`{"role":"compactionSummary","tokensBefore":9007199254740993,"content":[],"":{}}`,
		`{"role":"custom","content":[{"type":"thinking","text":"t"},{"type":"toolUse","arguments":1}],"usage":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m message.Message
		if m.UnmarshalJSON(data) != nil || jsonx.KindOf(data) == jsonx.Null {
			return
		}
		out, err := m.MarshalJSON()
		require.NoError(t, err)
		require.True(t, json.Valid(out), "%s", out)
		require.True(t, jsonx.Equal(data, out), "%s\n%s", data, out)
		var again message.Message
		require.NoError(t, again.UnmarshalJSON(out))
		require.True(t, message.Equal(m, again))
		twice, err := again.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(out), string(twice))
		list := []message.Message{m, again}
		repaired, _ := message.RepairPairs(list, nil)
		_, done := message.RepairPairs(repaired, nil)
		require.Zero(t, done)
		message.ForModel(list)
		message.IsConversation(list, 1)
	})
}
