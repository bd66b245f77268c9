package prune_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func block(t *testing.T, raw string) message.Block {
	t.Helper()
	var b message.Block
	require.NoError(t, json.Unmarshal([]byte(raw), &b))
	return b
}

func TestRepairCalls(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw string
		keeps     bool
	}{
		{"whole", `{"type":"toolCall","id":"a","name":"read","arguments":{}}`, true},
		{"name with signs", `{"type":"toolCall","id":"a","name":"mcp:files.read-1","arguments":{}}`, true},
		{"other spelling", `{"type":"toolUse","id":"a","name":"read","input":{}}`, true},
		{"id elsewhere", `{"type":"tool_use","call_id":"a","name":"read","input":{}}`, true},
		{"null arguments", `{"type":"toolCall","id":"a","name":"read","arguments":null}`, false},
		{"no arguments", `{"type":"functionCall","id":"a","name":"read"}`, false},
		{"no id", `{"type":"toolCall","name":"read","arguments":{}}`, false},
		{"blank id", `{"type":"toolCall","id":" ","name":"read","arguments":{}}`, false},
		{"no name", `{"type":"toolCall","id":"a","arguments":{}}`, false},
		{"no tool name", `{"type":"toolCall","id":"a","name":"read it","arguments":{}}`, false},
		{"long name", `{"type":"toolCall","id":"a","name":"` + strings.Repeat("x", 65) + `","arguments":{}}`, false},
		{"unfinished", `{"type":"toolCall","id":"a","name":"read","arguments":{},"partialJson":"{"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ms := []message.Message{message.Assistant(message.Text("hi"), block(t, tt.raw))}
			out, r := prune.RepairCalls(ms, nil)
			require.Equal(t, tt.keeps, sameList(ms, out))
			require.Equal(t, tt.keeps, len(out[0].Content) == 2)
			require.Equal(t, tt.keeps, r == prune.CallRepair{})
		})
	}
}

func TestRepairCallsByName(t *testing.T) {
	t.Parallel()
	ms := []message.Message{
		message.User("q"),
		message.Assistant(message.ToolCall("a", " Read ", nil), message.ToolCall("b", "exec", nil)),
		message.Assistant(message.ToolCall("c", "exec", nil)),
	}
	out, r := prune.RepairCalls(ms, []string{"READ"})
	require.Equal(t, prune.CallRepair{DroppedCalls: 2, DroppedMessages: 1}, r)
	require.Len(t, out, 2)
	require.Equal(t, "Read", out[1].Content[0].Name)
}

// TestArgumentsAreObjects for every provider; what the model wrote stays to be seen.
func TestArgumentsAreObjects(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, `[]`: `{"arguments":[]}`, `"x"`: `{"arguments":"x"}`, `1`: `{"arguments":1}`, `{"a":`: `{"arguments":"{\"a\":"}`, `"{\"a\":1}"`: `{"a":1}`,
	} {
		for _, policy := range policies() {
			call := message.Block{Type: message.BlockToolCall, ID: "c1", Name: "read", Arguments: json.RawMessage(args)}
			out := hygiene(policy, prune.Input{}, message.User("hi"), message.Assistant(call), answering("c1", "ok"))
			require.Len(t, out, 3)
			require.JSONEq(t, want, string(out[1].Content[0].Arguments), "%s", policy)
		}
	}
}
