package message_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
)

// TestRoundTrip_Properties judges by the standard decoder instead of our own comparison.
func TestRoundTrip_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := drawObject(t, messageFields, 3)
		var m message.Message
		require.NoError(t, json.Unmarshal([]byte(source), &m))
		for _, encoder := range []func() ([]byte, error){
			m.MarshalJSON,
			func() ([]byte, error) { return json.Marshal([]message.Message{m}[0]) },
			func() ([]byte, error) { return m.AppendJSON(nil) },
		} {
			out, err := encoder()
			require.NoError(t, err)
			require.Equal(t, meaning(t, source), meaning(t, string(out)), "%s\n%s", source, out)
			var again message.Message
			require.NoError(t, json.Unmarshal(out, &again))
			require.True(t, message.Equal(m, again), "%s\n%s", source, out)
		}
	})
}

func meaning(t require.TestingT, source string) any {
	dec := json.NewDecoder(strings.NewReader(source))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v))
	return v
}

var (
	messageFields = []string{
		"role", "content", "timestamp", "toolCallId", "toolName", "isError", "api", "provider", "model",
		"stopReason", "errorMessage", "usage", "summary", "tokensBefore", "details", "text", "<&>", "",
	}
	blockFields = []string{
		"type", "text", "thinking", "textSignature", "thinkingSignature", "thoughtSignature", "signature", "id",
		"toolCallId", "name", "toolName", "arguments", "input", "data", "mimeType", "content", "role",
	}
	usageFields = []string{"input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"}
	words4JSON  = []string{
		`""`, `"text"`, `"thinking"`, `"toolCall"`, `"toolUse"`, `"toolResult"`, `"image"`, `"user"`, `"assistant"`,
		`"compactionSummary"`, `"custom"`, `"a\ud800"`, `"\ud83d\ude00<&>\u2028"`, `"\udc00\ud800"`, `"日本"`,
	}
	numbers = []string{`0`, `-0`, `1`, `1.0`, `1e2`, `1.5`, `-3`, `12345678901234567890`, `1772972196609`, `1e400`}
)

func drawObject(t *rapid.T, fields []string, depth int) string {
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom(fields), 0, len(fields), rapid.ID[string]).Draw(t, "keys")
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		quoted, err := json.Marshal(key)
		require.NoError(t, err)
		b.Write(quoted)
		b.WriteString(": ")
		b.WriteString(drawValue(t, key, depth))
	}
	b.WriteByte('}')
	return b.String()
}

func drawValue(t *rapid.T, key string, depth int) string {
	kinds := []string{"string", "string", "number", "literal"}
	if depth > 0 {
		kinds = append(kinds, "object", "list", "list")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "string":
		return rapid.SampledFrom(words4JSON).Draw(t, "string")
	case "number":
		return rapid.SampledFrom(numbers).Draw(t, "number")
	case "object":
		fields := blockFields
		if key == "usage" {
			fields = usageFields
		}
		return drawObject(t, fields, depth-1)
	case "list":
		var values []string
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			values = append(values, drawValue(t, "content", depth-1))
		}
		return "[" + strings.Join(values, " , ") + "]"
	default:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
	}
}
