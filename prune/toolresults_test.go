package prune_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

func TestMaxResultChars(t *testing.T) {
	t.Parallel()
	var none *prune.ToolResultOptions
	require.Equal(t, 16_000, none.MaxResultChars(0), "an unknown window")
	require.Equal(t, 9_600, none.MaxResultChars(8_000))
	require.Equal(t, 64_000, none.MaxResultChars(200_000))
	require.Equal(t, 400_000, none.MaxAggregateChars(200_000))
	require.Equal(t, 64_000, none.MaxAggregateChars(0))
	opts := &prune.ToolResultOptions{MaxShare: 0.1, MaxChars: 500, AggregateChars: 700}
	require.Equal(t, 40, opts.MaxResultChars(100))
	require.Equal(t, 500, opts.MaxResultChars(100_000))
	require.Equal(t, 700, opts.MaxAggregateChars(100_000))
	require.Equal(t, 1, (&prune.ToolResultOptions{MaxShare: 0.001}).MaxResultChars(10))
}

func TestX2_HugeResultIsCapped(t *testing.T) {
	t.Parallel()
	const window = 131_072
	ms := exchange(1, strings.Repeat("output of a build\n", 1_680_000/18))
	in := prune.Input{Window: window}
	require.Greater(t, tokens.Messages(tokens.ScriptAware(), ms), window, "too long for the model")
	out := prune.Apply(ms, in, prune.Standard(prune.PolicyAnthropic)...)
	require.LessOrEqual(t, len(out[2].Text()), 32_000)
	require.Less(t, tokens.Messages(tokens.ScriptAware(), out), window/4)
	require.Contains(t, out[2].Text(), "all of it is entry e1-2]")
	require.Positive(t, prune.Reducible(ms, in))
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	t.Run("short text is itself", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "abc", prune.Truncate("abc", 3, ""))
	})
	t.Run("important end", func(t *testing.T) {
		t.Parallel()
		out := prune.Truncate(strings.Repeat("line of a log\n", 2_000)+"FATAL: disk full", 10_000, "e9")
		require.LessOrEqual(t, len(out), 10_000)
		require.True(t, strings.HasPrefix(out, "line of a log\n"))
		require.Contains(t, out, "FATAL: disk full[... ")
		require.True(t, strings.HasSuffix(out, "all of it is entry e9]"))
	})
	t.Run("cut between characters", func(t *testing.T) {
		t.Parallel()
		for limit := range 400 {
			out := prune.Truncate(strings.Repeat("é中😀", 300), limit, "")
			require.True(t, utf8.ValidString(out))
			require.LessOrEqual(t, len([]rune(out)), limit)
		}
	})
	t.Run("room for nothing", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, prune.Truncate("abc", 0, ""))
		require.Empty(t, prune.Truncate("abc", -5, ""))
	})
}

func TestNotesAreNoImportantTail(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "k1"} {
		require.False(t, prune.HasImportantTail(prune.Truncate(strings.Repeat("a ", 5_000), 500, entry)))
	}
}

func TestToolResultsSharesTheCapAmongTexts(t *testing.T) {
	t.Parallel()
	m := message.ToolResult("c", "read",
		message.Text("short"), message.Image("iVBORw0KGgo", "image/png"), message.Text(strings.Repeat("a", 9_000)), message.Text(strings.Repeat("b", 7_000)))
	m.Key = "k"
	ms := []message.Message{message.Assistant(message.ToolCall("c", "read", nil)), m}
	out := prune.ToolResults(&prune.ToolResultOptions{MaxChars: 6_000}).Apply(ms, prune.Input{})[1]
	require.Equal(t, "short", out.Content[0].Text)
	require.Equal(t, m.Content[1], out.Content[1])
	require.Equal(t, len(out.Content[2].Text), len(out.Content[3].Text))
	require.LessOrEqual(t, len(out.Content[2].Text)*2+5, 6_000)
	require.Equal(t, "k", out.Key)
}

func TestToolResultsAggregate(t *testing.T) {
	t.Parallel()
	opts := &prune.ToolResultOptions{MaxChars: 1_000, AggregateChars: 4_000, AggregateSlack: -1}
	ms := exchanges(8, strings.Repeat("r", 900))
	out := prune.ToolResults(opts).Apply(ms, prune.Input{})
	var lengths []int
	for _, m := range out {
		if m.Role == message.RoleToolResult {
			lengths = append(lengths, len(m.Text()))
		}
	}
	require.Equal(t, []int{900, 900, 900}, lengths[5:], "the newest stay")
	require.Less(t, lengths[0], 100, "the oldest goes first")
	sum := 0
	for _, n := range lengths {
		sum += n
	}
	require.LessOrEqual(t, sum, 4_000)
	require.Contains(t, out[2].Text(), "all of it is entry e0-2]")
}

func TestToolResultsKeepWhatTheModelWaitsFor(t *testing.T) {
	t.Parallel()
	opts := &prune.ToolResultOptions{MaxChars: 5_000, AggregateChars: 1_000}
	ms := exchanges(3, strings.Repeat("r", 900))
	out := prune.ToolResults(opts).Apply(ms, prune.Input{})
	require.Equal(t, ms[8], out[8])
	require.Less(t, len(out[2].Text()), 100)
}

// TestToolResultsShrinkRarely: between rounds the beginning of the list stays the same.
func TestToolResultsShrinkRarely(t *testing.T) {
	t.Parallel()
	pass := prune.ToolResults(&prune.ToolResultOptions{MaxChars: 1_000, AggregateChars: 20_000})
	var sent []message.Message
	rounds := 0
	for n := 1; n <= 100; n++ {
		out := pass.Apply(exchanges(n, strings.Repeat("r", 900)), prune.Input{})
		if !equalLists(sent, out[:len(sent)]) {
			rounds++
		}
		sent = out
	}
	require.Positive(t, rounds)
	require.LessOrEqual(t, rounds, 100/4)
}

func TestToolResultsForgetWhatACompactionRemoved(t *testing.T) {
	t.Parallel()
	pass := prune.ToolResults(&prune.ToolResultOptions{MaxChars: 1_000, AggregateChars: 2_000}).(prune.Stateful)
	require.Nil(t, pass.Snapshot())
	ms := exchanges(6, strings.Repeat("r", 900))
	pass.Apply(ms, prune.Input{})
	require.Contains(t, string(pass.Snapshot()), `"e0-2"`)
	head := message.CompactionSummary("so far", 9, time.UnixMilli(1))
	pass.Apply(append([]message.Message{head}, ms...), prune.Input{})
	require.Contains(t, string(pass.Snapshot()), `"e0-2"`)
	pass.Apply(append([]message.Message{head}, ms[12:]...), prune.Input{}) // begins as it did
	require.NotContains(t, string(pass.Snapshot()), `"e0-2"`)
}

// An image that HistoryImages replaces brings no text back.
func TestToolResultsStayShortWithoutTheirImages(t *testing.T) {
	t.Parallel()
	pass := prune.ToolResults(&prune.ToolResultOptions{MaxChars: 1_000, AggregateChars: 2_000})
	ms := exchanges(3, strings.Repeat("r", 900))
	ms[2].Content = append(ms[2].Content, message.Image("iVBORw0KGgoAAAA", "image/png"))
	require.Contains(t, pass.Apply(ms, prune.Input{})[2].Text(), "left out")
	ms = message.Clone(ms[:6]) // now there would be room for all of it
	ms[2].Content[1] = message.Text(prune.SeenImageText)
	require.Contains(t, pass.Apply(ms, prune.Input{})[2].Text(), "left out")
}

func TestToolResultsStateIsBoundToTheText(t *testing.T) {
	t.Parallel()
	pass := prune.ToolResults(&prune.ToolResultOptions{MaxChars: 1_000, AggregateChars: 2_000})
	ms := exchanges(6, strings.Repeat("r", 900))
	pass.Apply(ms, prune.Input{})
	ms = message.Clone(ms)
	ms[2].Content[0].Text = "rewritten"
	require.Equal(t, "rewritten", pass.Apply(ms, prune.Input{})[2].Text())
}

func TestToolResultsWithoutKeys(t *testing.T) {
	t.Parallel()
	ms := exchanges(6, strings.Repeat("r", 900))
	for i := range ms {
		ms[i].Key = ""
	}
	pass := prune.ToolResults(&prune.ToolResultOptions{MaxChars: 1_000, AggregateChars: 2_000})
	out := pass.Apply(ms, prune.Input{})
	require.NotContains(t, out[2].Text(), "entry")
	require.Less(t, len(out[2].Text()), 100)
	require.True(t, equalLists(out, pass.Apply(ms, prune.Input{})))
}

func TestToolResultsRestoreRefusesNonsense(t *testing.T) {
	t.Parallel()
	pass := prune.ToolResults(&prune.ToolResultOptions{MaxChars: 1_000, AggregateChars: 2_000}).(prune.Stateful)
	pass.Apply(exchanges(6, strings.Repeat("r", 900)), prune.Input{})
	before := pass.Snapshot()
	require.Error(t, pass.Restore([]byte("[")))
	require.Equal(t, before, pass.Snapshot())
	for _, raw := range []string{
		`null`, `{"k":null}`, `{"k":{"h":"x"}}`, `{"k":{"h":"x","n":-5}}`, `{"k":{"h":"x","n":1}}`, `{"k":{"n":50}}`, `{"k":{"h":"x","n":1e99}}`,
	} {
		require.Error(t, pass.Restore([]byte(raw)), raw)
		require.Equal(t, before, pass.Snapshot(), raw)
	}
	require.NoError(t, pass.Restore(nil))
	require.Empty(t, pass.Snapshot())
	pass.Apply(exchanges(6, strings.Repeat("r", 900)), prune.Input{})
}

func TestShortenAndMeasure(t *testing.T) {
	t.Parallel()
	ms := exchanges(3, "short")
	out, r := prune.Shorten(ms, prune.Input{Window: 1_000}, nil)
	require.True(t, sameList(ms, out))
	require.Zero(t, r.Reducible())
	require.Equal(t, 3, r.Results)

	ms = exchanges(20, strings.Repeat("r", 15_000))
	in := prune.Input{Window: 50_000}
	out, r = prune.Shorten(ms, in, nil)
	require.True(t, r.Exceeded)
	require.Equal(t, r, prune.Measure(ms, in, nil))
	require.Equal(t, prune.Reducible(ms, in), r.Reducible())
	left := 0
	for _, m := range out {
		left += len(m.Content) * len(m.Text()) * b2i(m.Role == message.RoleToolResult)
	}
	require.Equal(t, 300_000-r.Reducible(), left)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestCapStored(t *testing.T) {
	t.Parallel()
	user := message.User(strings.Repeat("u", 50_000))
	require.Equal(t, user, prune.CapStored(user, 0, nil))
	small := message.ToolResult("c", "read", message.Text("ok")).WithExtra("details", json.RawMessage(`{"exitCode":0}`))
	require.Equal(t, small, prune.CapStored(small, 0, nil))

	large := message.ToolResult("c", "read", message.Text(strings.Repeat("r", 50_000)))
	large.Key = "k" // not stored in full: the note must not send the model there
	large = large.WithExtra("details", json.RawMessage(`{"exitCode":0,"log":"`+strings.Repeat("x", 9_000)+`","cwd":"/tmp"}`))
	out := prune.CapStored(large, 8_000, nil)
	require.Len(t, out.Text(), 9_600)
	require.NotContains(t, out.Text(), "entry")
	require.JSONEq(t, `{"persistedDetailsTruncated":true,"exitCode":0,"cwd":"/tmp"}`, string(out.Details()))
	require.Len(t, large.Text(), 50_000)

	odd := message.ToolResult("c", "read", message.Text("ok")).WithExtra("details", json.RawMessage(`"`+strings.Repeat("x", 9_000)+`"`))
	require.JSONEq(t, `{"persistedDetailsTruncated":true}`, string(prune.CapStored(odd, 0, nil).Details()))
}

func TestCapResultKeepsOthers(t *testing.T) {
	t.Parallel()
	user := message.User(strings.Repeat("u", 99))
	require.Equal(t, user, prune.CapResult(user, 10))
	m := message.ToolResult("c", "read", message.Text(strings.Repeat("r", 5_000)))
	require.Len(t, prune.CapResult(m, 3_000).Text(), 3_000)
	require.Len(t, m.Text(), 5_000)
}

// TestDroppedResultsHoldNoEmptyTexts: providers refuse them.
func TestDroppedResultsHoldNoEmptyTexts(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("line of output\n", 300)
	var log []message.Message
	for i := range 200 {
		id := fmt.Sprintf("c%d", i)
		result := message.ToolResult(id, "read", message.Text(big), message.Image("R0lGODlh", "image/gif"), message.Text("tail "+big))
		result.Key = id
		log = append(log, message.User("go"), calling(id), result)
	}
	many := message.ToolResult("many", "read")
	for range 400 {
		many.Content = append(many.Content, message.Text(big))
	}
	log = append(log, calling("many"), many, message.User("go"))
	in := prune.Input{Window: 8_000}
	small := &prune.ToolResultOptions{AggregateChars: 5_000}
	shorten := func(opts *prune.ToolResultOptions) []message.Message {
		out, _ := prune.Shorten(log, in, opts)
		return out
	}
	for name, out := range map[string][]message.Message{
		"ToolResults": prune.ToolResults(nil).Apply(log, in), "ToolResults, small": prune.ToolResults(small).Apply(log, in),
		"Shorten": shorten(nil), "Shorten, small": shorten(small),
		"CapResult": {prune.CapResult(many, 100), prune.CapResult(many, 0), prune.CapResult(many, 16_000)},
	} {
		for _, m := range out {
			require.NotEmpty(t, m.Content, name)
			for _, b := range m.Content {
				require.False(t, b.Type == message.BlockText && strings.TrimSpace(b.Text) == "", "%s: %v", name, m.Content)
			}
		}
	}
	for _, limit := range []int{0, 1, 50, 100, 16_000} {
		capped := prune.CapResult(many, limit)
		require.LessOrEqual(t, len(capped.Text()), max(1, limit)+len(capped.Content), "all of them together")
	}
	out := prune.ToolResults(small).Apply(log, in)
	require.Len(t, out[2].Content, 2)
	require.Contains(t, out[2].Content[0].Text, "[tool output dropped")
	require.Equal(t, message.BlockImage, out[2].Content[1].Type, "only texts are bounded")
}
