package compact_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

func extract(t require.TestingT, r compact.Request) string {
	s, err := compact.Extractive().Summarize(context.Background(), r)
	require.NoError(t, err)
	return s.Text
}

func TestExtractive(t *testing.T) {
	t.Parallel()
	source := compact.RenderSource([]message.Message{
		message.User("Please move billing to the new queue. Never touch table invoices_2024."),
		message.Assistant(message.Text("We decided to use billing-v2.internal:9092 because the old broker drops messages. Next step: write the migration.")),
		call("1"),
		message.ToolResult("1", "read", message.Text("created run_77aa21")),
		message.User("Good. What about refunds?"),
	})
	text := extract(t, compact.Request{Source: source, TargetTokens: 400})
	for _, want := range []string{
		"without a model",
		"We decided to use billing-v2.internal:9092 because",
		"Never touch table invoices_2024.",
		"Next step: write the migration.",
		"Good. What about refunds?",
		"From tools:\n- run_77aa21",
	} {
		require.Contains(t, text, want)
	}
	require.Empty(t, compact.AuditSummary(compact.AuditInput{Summary: text, LatestAsk: "What about refunds?"}))

	// The next extract carries on what this one has.
	next := extract(t, compact.Request{Source: compact.RenderSource(talk(3)), Previous: text, TargetTokens: 600})
	for _, want := range []string{"billing-v2.internal:9092", "invoices_2024", "run_77aa21", "/srv/app/step02.sql"} {
		require.Contains(t, next, want)
	}
	require.Equal(t, 1, strings.Count(next, "without a model"))
}

func TestExtractiveCarriesWhatAModelWrote(t *testing.T) {
	t.Parallel()
	previous := "The user moves billing.\n\n## Progress\nThe broker is broker-17.internal:9092. Half is done.\n\n## Exact identifiers\n- `JIRA-4711`, tok_9aa\n- auth, which is broken\n\n## Turn in progress\n### Decisions\nUse queue_v2 instead of cron."
	text := extract(t, compact.Request{Source: compact.RenderSource(talk(1)), Previous: previous, TargetTokens: 500})
	for _, want := range []string{"broker-17.internal:9092", "JIRA-4711", "tok_9aa", "Use queue_v2 instead of cron."} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "auth", "a word before a comma is no name")
}

// What tools made for the occasion goes before paths, which they print by the hundred, and
// stays from extract to extract.
func TestExtractivePrefersWhatToolsMade(t *testing.T) {
	t.Parallel()
	ms := []message.Message{message.User("Deploy it.")}
	for i := range 20 {
		id := strconv.Itoa(i)
		ms = append(ms, call(id), message.ToolResult(id, "deploy", message.Text(
			"created deploy_77aa"+id+"\nwrote /var/lib/releases/"+id+"/manifest.json and /var/lib/releases/"+id+"/sums.txt",
		)))
	}
	text := extract(t, compact.Request{Source: compact.RenderSource(ms), TargetTokens: 300})
	next := extract(t, compact.Request{Source: compact.RenderSource(talk(1)), Previous: text, TargetTokens: 400})
	for i := range 20 {
		require.Contains(t, text, "deploy_77aa"+strconv.Itoa(i))
		require.Contains(t, next, "deploy_77aa"+strconv.Itoa(i))
	}
	require.NotContains(t, text, "/9/sums.txt", "there was no room for all")
}

func TestExtractiveProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ms []message.Message
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			text := rapid.StringOfN(rapid.RuneFrom([]rune("ab漢é 1/.-_:\n[]#")), 0, 400, -1).Draw(t, "text")
			ms = append(ms, message.User("We decided "+text), message.Assistant(message.Text(text)))
		}
		r := compact.Request{
			Source:       compact.RenderSource(ms),
			Previous:     rapid.StringOfN(rapid.RuneFrom([]rune("ab#\n- 12/")), 0, 400, -1).Draw(t, "previous"),
			TargetTokens: rapid.IntRange(1, 800).Draw(t, "target"),
		}
		text := extract(t, r)
		require.Equal(t, text, extract(t, r), "deterministic")
		require.LessOrEqual(t, tokens.ScriptAware().Text(text), r.TargetTokens)
		require.True(t, utf8.ValidString(text))
	})
}

func TestExtractiveCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := compact.Extractive().Summarize(ctx, compact.Request{Source: "x"})
	require.ErrorIs(t, err, context.Canceled)
}
