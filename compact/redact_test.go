package compact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

const secret = "SECRET-123456"

func withoutSecret(text string) string { return strings.ReplaceAll(text, secret, "(secret)") }

// secretive is a conversation whose older part has the secret wherever text can be.
func secretive() []message.Message {
	failed := message.ToolResult("c", "tool "+secret, message.Text("bad "+secret+" \nline"))
	failed.IsError = true
	ms := []message.Message{
		message.User("key " + secret),
		message.Assistant(
			message.Block{Type: message.BlockThinking, Text: secret}, message.Text(secret),
			message.ToolCall("c", "read", []byte(`{"path":"/x/`+secret+`"}`)),
			message.ToolCall("d", "write", []byte(`{"path":"/y/\u0053ECRET-123456","n":[1,"a\"b"]}`)),
		),
		failed, message.ToolResult("d", "write", message.Text("ok")),
		message.BranchSummary("branch "+secret, "e", time.Time{}),
		message.Custom("x-"+secret, message.Text(secret)),
		message.BashExecution(message.Bash{Command: "echo " + secret, Output: secret}),
	}
	return append(ms, talk(20)...)
}

// No text of the source reaches a summariser, a plugin or the log with what is to be removed.
func TestRedactionReachesEveryText(t *testing.T) {
	t.Parallel()
	script := compact.Scripted(compact.Reply{Text: "The user said: my key is " + secret})
	echo := plugin{text: "The user said: my key is " + secret, got: new(compact.ProviderRequest)}
	for name, opts := range map[string]compact.Options{
		"extractive": {Summarizer: compact.Extractive()},
		"model":      {Summarizer: script},
		"plugin":     {Summarizer: script, Provider: echo},
	} {
		store, log := newLog(t, secretive()...)
		v := view(t, log)
		_, err := log.CommitCompaction(t.Context(), v.Generation, transcript.Compaction{
			Summary:          "Old. The key is " + secret + ".\n## Exact identifiers\n- " + secret,
			FirstKeptEntryID: v.Messages[0].Key,
			Details:          []byte(`{"readFiles":["/old/` + secret + `"],"modifiedFiles":[]}`),
		})
		require.NoError(t, err)
		start := len(dump(t, log))
		opts.KeepRecent, opts.Redact = 800, withoutSecret
		res, err := compactor(t, store, &opts).CompactSession(t.Context(), manual())
		require.NoError(t, err)
		require.True(t, res.Compacted, "%s: %s", name, res.Detail)
		require.NotContains(t, dump(t, log)[start:], secret, name)
		require.NotContains(t, res.Result.Summary+string(res.Result.Details), secret, name)
	}
	require.NotEmpty(t, script.Requests())
	for _, r := range script.Requests() {
		require.NotContains(t, fmt.Sprint(r), secret)
		require.NotContains(t, fmt.Sprint(r), `\u0053ECRET`, "an escape hides nothing")
	}
	require.NotEmpty(t, echo.got.Messages)
	raw, err := json.Marshal(echo.got.Messages)
	require.NoError(t, err)
	require.NotContains(t, string(raw), secret)
	require.Contains(t, string(raw), `{"path":"/y/(secret)","n":[1,"a\"b"]}`)
}

// What a model put together out of harmless parts is removed before another request has it.
func TestRedactionOfPartsThatAreMerged(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(100)...)
	s := compact.Scripted(compact.Reply{Text: "They joined SECRET and the number to " + secret + " in that step."})
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800, Summarizer: &probe{Summarizer: s, window: 8_000}, Redact: withoutSecret,
	})
	_, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	merged := false
	for _, r := range s.Requests() {
		merged = merged || strings.Contains(r.Source, "[Part 1 of")
		require.NotContains(t, r.Source, secret)
	}
	require.True(t, merged)
}

// What a provider says of a request may quote it.
func TestRedactionOfErrors(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, secretive()...)
	s := compact.Scripted(compact.Reply{Err: &compact.AuthError{Err: errors.New("no access to " + secret)}})
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: s, Redact: withoutSecret})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.Equal(t, ce.ReasonProviderUnavailable, res.Reason)
	require.Contains(t, res.Detail, "no access to (secret)")
}

// Half a secret matches no rule, so nothing is cut before it is redacted.
func TestRedactionComesBeforeShortening(t *testing.T) {
	t.Parallel()
	key := "sk-" + strings.Repeat("A1b2C3d4", 6)
	rule := regexp.MustCompile(`sk-[A-Za-z0-9]{48}`)
	for pad := 1_400; pad < 1_560; pad += 7 {
		body := strings.Repeat("x", pad) + " " + key + " " + strings.Repeat("y ", 2_000)
		ms := append([]message.Message{
			message.User("look"), call("q"), message.ToolResult("q", "read", message.Text(body)),
			message.Assistant(message.ToolCall("w", "write", []byte(`{"text":"`+body[pad-700:]+`"}`))),
			message.ToolResult("w", "write", message.Text("ok")),
		}, talk(20)...)
		store, _ := newLog(t, ms...)
		s := compact.Scripted(compact.Reply{Text: "Short."})
		_, err := compactor(t, store, &compact.Options{
			KeepRecent: 800, Summarizer: s,
			Redact: func(text string) string { return rule.ReplaceAllString(text, "(secret)") },
		}).CompactSession(t.Context(), manual())
		require.NoError(t, err)
		for _, r := range s.Requests() {
			require.NotContains(t, r.Source, key[:15], "pad %d", pad)
			require.NotContains(t, r.Source, key[len(key)-15:], "pad %d", pad)
		}
	}
}

// A redaction that leaves nothing leaves no summary.
func TestRedactionOfEverything(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	before := dump(t, log)
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800, Summarizer: brief(), Redact: func(string) string { return " " },
	})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.False(t, res.OK)
	require.NotEmpty(t, res.Reason)
	require.Equal(t, before, dump(t, log))
}

func TestRedaction(t *testing.T) {
	t.Parallel()
	ms := talk(10)
	ms[0] = message.User("The password is hunter-2222, never write it down.")
	ms[3] = message.ToolResult("call_0", "read", message.Text("token hunter-2222"))
	ms[3].IsError = true
	store, log := newLog(t, ms...)
	for _, s := range []compact.Summarizer{compact.Extractive(), brief()} {
		c := compactor(t, store, &compact.Options{
			KeepRecent: 300, Summarizer: s,
			Redact: func(text string) string { return strings.ReplaceAll(text, "hunter-2222", "(secret)") },
		})
		res, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
		if res.Compacted {
			require.NotContains(t, res.Result.Summary, "hunter-2222")
			require.NotContains(t, string(res.Result.Details), "hunter-2222")
		}
	}
	require.NotContains(t, view(t, log).Messages[0].Summary, "hunter-2222")
}
