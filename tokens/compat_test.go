package tokens_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

func decode(t testing.TB, source string) message.Message {
	t.Helper()
	var m message.Message
	require.NoError(t, json.Unmarshal([]byte(source), &m))
	return m
}

func TestCompatMessage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, source string
		want         int
	}{
		{"surrogate pairs are two units", `{"role":"user","content":"😀😀😀"}`, 2},
		{"ceil once per message", `{"role":"user","content":[{"type":"text","text":"abc"},{"type":"text","text":"de"}]}`, 2},
		{"arguments as JavaScript prints them", `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"","arguments":{ "a" : 1.0 , "b" : "\u00e9\u0001" , "c" : 1e21 }}]}`, 8},
		{"arguments null", `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ab","arguments":null}]}`, 2},
		{"no arguments", `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls"}]}`, 3},
		{"thinking", `{"role":"assistant","content":[{"type":"thinking","thinking":"12345678"}]}`, 2},
		{"bare string of an assistant", `{"role":"assistant","content":"12345678"}`, 0},
		{"bare string of a result", `{"role":"toolResult","toolCallId":"c","content":"12345678"}`, 2},
		{"null", `{"role":"user","content":null}`, 0},
		{"a block without a list", `{"role":"user","content":{"type":"text","text":"abcd"}}`, 0},
		{"branch summary", `{"role":"branchSummary","summary":"12345"}`, 2},
		{"runtime context counts alone", `{"role":"custom","customType":"openclaw.runtime-context","content":"1234"}`, 1},
		{"unknown role", `{"role":"system","content":"12345678"}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tokens.Compat().Message(decode(t, tt.source)))
		})
	}
	require.Zero(t, tokens.CompatMessages([]message.Message{message.RuntimeContext(message.Text("1234"))}))
}

func TestCompatPressureMessage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, source string
		want         int
	}{
		{"bare string", `{"role":"user","content":"12345678"}`, 12 + 2},
		{"the same as a block", `{"role":"user","content":[{"type":"text","text":"12345678"}]}`, 12 + 6 + 2},
		{"emoji are not weighed", `{"role":"user","content":"😀😀"}`, 12 + 1},
		{"supplementary ideographs are", `{"role":"user","content":"𠀀𠀁"}`, 12 + 2},
		{"no content", `{"role":"user"}`, 12},
		{"null content", `{"role":"user","content":null}`, 12 + 2},
		{"no blocks", `{"role":"tool","content":[]}`, 12},
		{"a block without a list", `{"role":"user","content":{"type":"text","text":"a"}}`, 12 + 9},
		{"a result's bare string", `{"role":"toolResult","toolCallId":"c","toolName":"read","content":"12345678"}`, 12 + 4 + 2},
		{"a result under another role", `{"role":"tool","toolName":"read","content":"12345678"}`, 12 + 4 + 2},
		{"tool_use block", `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"abc","input":{"a":1}}]}`, 12 + 6 + 1 + 3},
		{"call without arguments", `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"abc"}]}`, 12 + 6 + 1 + 1},
		{"calls beside the content", `{"role":"assistant","content":[],"tool_calls":[{"name":"abc","arguments":{"a":1}}]}`, 12 + 6 + 1 + 3},
		{"bash", `{"role":"bashExecution","command":"ls","output":"","exitCode":0}`, 12 + 5},
		{"bash excluded", `{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true}`, 0},
		{"compaction summary with its wrapper", `{"role":"compactionSummary","summary":"a"}`, 12 + 27},
		{"branch summary with its wrapper", `{"role":"branchSummary","summary":"a"}`, 12 + 25},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tokens.CompatPressure().Message(decode(t, tt.source)))
		})
	}
}

func TestCompatBoundary(t *testing.T) {
	t.Parallel()
	history := []message.Message{decode(t, `{"role":"user","content":"`+strings.Repeat("a", 400)+`"}`)}
	require.Equal(t, 416, tokens.CompatBoundary(strings.Repeat("s", 800), strings.Repeat("p", 40), history))
	require.Equal(t, 15, tokens.CompatBoundary(" \n\t", "", nil))
}

// How JavaScript prints a JSON value decides what a call costs.
func TestCompatJSONWidths(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`{"a": [1, 2.50, -0, 1E3]}`: `{"a":[1,2.5,0,1000]}`,
		`1e400`:                     `null`,
		`0.0000001`:                 `1e-7`,
		`0.000001`:                  `0.000001`,
		`123456789012345678901`:     `123456789012345680000`,
		`1e21`:                      `1e+21`,
		`"\u0041\/\u0009\b\u001f"`:  `"A/\t\b\u001f"`,
		`"\ud83d\ude00"`:            `"😀"`,
		`"\ud83d"`:                  `"\ud83d"`,
		`"tab	raw"`:                 `"tab\traw"`,
		`"<&>"`:                     `"<&>"`,
		` [ true , false , null ] `: `[true,false,null]`,
	} {
		units := 0
		for _, r := range want {
			units++
			if r > 0xffff {
				units++
			}
		}
		four := "[" + strings.Join([]string{source, source, source, source}, ",") + "]"
		require.Equal(t, units+2, tokens.Compat().Schema(json.RawMessage(four)), source)
	}
	require.NotPanics(t, func() {
		for _, broken := range []string{`"`, `"\`, `"\u12`, `{"a":`, `-`, "\xff", `"\ud83d\`, `1e`} {
			tokens.Compat().Schema(json.RawMessage(broken))
		}
	})
}

func TestCompatContextKeepsTheQuirks(t *testing.T) {
	t.Parallel()
	require.Equal(t, tokens.ContextEstimate{Anchor: 1}, tokens.CompatContext([]message.Message{message.User("long history"), answered(1, message.Usage{})}))
	available := message.Usage{Total: 5, Extra: contextUsage(`{"state":"available","promptTokens":7,"totalTokens":9}`)}
	require.Equal(t, 9, tokens.CompatUsage(available))
	available.Extra["contextUsage"] = json.RawMessage(`null`)
	require.Equal(t, 5, tokens.CompatUsage(available))
}

func contextUsage(raw string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"contextUsage": json.RawMessage(raw)}
}
