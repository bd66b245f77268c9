package prune_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func TestHygieneOfSingleMessages(t *testing.T) {
	t.Parallel()
	q, a := message.User("q"), message.Assistant(message.Text("a"))
	mirror := message.Assistant(message.Text("sent"))
	mirror.Provider, mirror.Model = "openclaw", "delivery-mirror"
	tests := []struct {
		name string
		in   message.Message
		want string // what is left between q and a; "-": nothing
	}{
		{"blank user", message.User(" \n"), "-"},
		{"blank text beside another", message.Message{Role: message.RoleUser, Content: []message.Block{message.Text(" "), message.Text("x")}}, "x"},
		{"silent reply", message.Assistant(message.Text(" NO_REPLY\n")), "-"},
		{"silent action", message.Assistant(message.Text(`{"action":"NO_REPLY"}`)), "-"},
		{"no silence", message.Assistant(message.Text("I send NO_REPLY")), "I send NO_REPLY"},
		{"host's own note", mirror, "-"},
		{"reasoning cut off", stopped(message.StopLength, message.Thinking("t", "")), "-"},
		{"failed without a word", stopped(message.StopError), prune.FailedText},
		{"blank failure", stopped(message.StopError, message.Text(" ")), "-"},
		{"unfinished call", message.Assistant(message.Text("hi"), message.Block{Type: message.BlockToolCall, ID: "c", Name: "n", Arguments: json.RawMessage("null")}), "hi"},
		{"broken image", message.Message{Role: message.RoleUser, Content: []message.Block{message.Image("???", "")}}, prune.UnreadableImageText},
		{"only displayed", message.BashExecution(message.Bash{Command: "ls", Exclude: true}), "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := hygiene(prune.PolicyCommon, prune.Input{}, q, tt.in, a)
			if tt.want == "-" {
				require.Len(t, out, 2)
				return
			}
			require.Len(t, out, 3)
			require.Equal(t, tt.want, out[1].Text())
		})
	}
}

func TestHygieneLeavesGoodListsAlone(t *testing.T) {
	t.Parallel()
	ms := []message.Message{message.User("q"), calling("toolu1"), answering("toolu1", "r"), stopped(message.StopEnd, message.Text("a"))}
	for _, policy := range []prune.Policy{prune.PolicyCommon, prune.PolicyAnthropic, prune.PolicyGemini, prune.PolicyOpenAIChat, prune.PolicyOpenAIResponses} {
		require.True(t, sameList(ms, prune.Apply(ms, prune.Input{Window: 1000}, prune.Standard(policy)...)), "%s", policy)
	}
	require.Empty(t, hygiene(prune.PolicyGemini, prune.Input{}))
}

func TestHygieneEndsWithoutFailedAnswers(t *testing.T) {
	t.Parallel()
	zero := stopped(message.StopEnd)
	zero.Usage = &message.Usage{}
	out := hygiene(prune.PolicyCommon, prune.Input{}, message.User("q"), stopped(message.StopError), zero)
	require.Equal(t, "u", roles(out))
}

func TestHygieneDropsFailedTurnsWithResults(t *testing.T) {
	t.Parallel()
	broken := stopped(message.StopAborted, message.Text("I will"), message.ToolCall("c1", "read", nil))
	out := hygiene(prune.PolicyCommon, prune.Input{}, message.User("q"), broken, answering("c1", "r"), message.User("n"))
	require.Equal(t, "uu", roles(out))
}

func TestHygieneFillsResults(t *testing.T) {
	t.Parallel()
	blank := answering("c1", " ").WithExtra("details", json.RawMessage(`{"secret":1}`))
	out := hygiene(prune.PolicyCommon, prune.Input{}, message.User("q"), calling("c1"), blank, calling("c2"), message.User("n"))
	require.Equal(t, "uatatu", roles(out))
	require.Equal(t, prune.EmptyText, out[2].Text())
	require.Empty(t, out[2].Details())
	require.True(t, out[4].IsError)
}

func TestX10_UsageBeforeACompactionIsForgotten(t *testing.T) {
	t.Parallel()
	used := func(at int64) message.Message {
		m := stopped(message.StopEnd, message.Text("a"))
		m.Usage, m.Timestamp = &message.Usage{Total: 9}, time.UnixMilli(at)
		return m
	}
	ms := []message.Message{message.CompactionSummary("s", 1, time.UnixMilli(50)), message.User("q"), used(40), message.User("n"), used(60)}
	out := hygiene(prune.PolicyCommon, prune.Input{}, ms...)
	require.Nil(t, out[2].Usage, "it counted what the summary replaced")
	require.Equal(t, 9, out[4].Usage.Total)
	require.NotNil(t, ms[2].Usage)
	none := ms[1:]
	require.True(t, sameList(none, prune.ForgetStaleUsage(none)))
}

func TestImageTypes(t *testing.T) {
	t.Parallel()
	webp := "UklGRiQAAABXRUJQVlA4"
	for data, want := range map[string]string{
		"iVBORw0KGgoAAAA": "image/png", "/9j/4AAQ": "image/jpeg", "R0lGODlh": "image/gif", webp: "image/webp", "AAAA": "image/x",
	} {
		ms := prune.CleanContent([]message.Message{{Role: message.RoleUser, Content: []message.Block{message.Image(data, "image/x")}}})
		require.Equal(t, want, ms[0].Content[0].MIMEType, data)
	}
	huge := message.Image(strings.Repeat("A", 8<<20), "image/png")
	ms := prune.CleanContent([]message.Message{{Role: message.RoleUser, Content: []message.Block{huge}}})
	require.Equal(t, prune.UnreadableImageText, ms[0].Text())
}

func TestCleanReplay(t *testing.T) {
	t.Parallel()
	ms := []message.Message{message.User("q"), message.Assistant(message.Text(" ")), message.User("")}
	out := prune.CleanReplay(ms)
	require.Equal(t, "ua", roles(out), "blank answers are left to CleanContent")
	require.Equal(t, "u", roles(prune.CleanContent(out)))
	require.True(t, sameList(out, prune.CleanReplay(out)))
}

// TestCustomMessagesAreCleanedLikeUsers: they become user messages.
func TestCustomMessagesAreCleanedLikeUsers(t *testing.T) {
	t.Parallel()
	for _, m := range []message.Message{
		message.Custom("n", message.Text(" ")), message.Custom("n"), message.BranchSummary("  ", "e", time.Time{}), message.CompactionSummary("", 1, time.Time{}),
	} {
		require.Len(t, hygiene(prune.PolicyCommon, prune.Input{}, message.User("hi"), m), 1, "%s", m.Role)
	}
	out := hygiene(prune.PolicyCommon, prune.Input{}, message.Custom("n", message.Text("a"), message.Image("zzzz", ""), message.Text("")))
	require.Equal(t, []message.Block{message.Text("a"), message.Text(prune.UnreadableImageText)}, out[0].Content)
}

func TestFailedAnswerGoesWhenWhatFollowedItGoes(t *testing.T) {
	t.Parallel()
	for _, policy := range policies() {
		out := hygiene(policy, prune.Input{}, message.User("hi"), stopped(message.StopError), answering("gone", "x"))
		require.Equal(t, "u", roles(out), "%s", policy)
	}
}
