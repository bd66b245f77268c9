package compact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

func plan(t require.TestingT, v transcript.View, opts compact.Options) compact.Plan {
	p, err := compact.MakePlan(v, &opts)
	require.NoError(t, err)
	return p
}

func TestC13_ScriptAwareTail(t *testing.T) {
	t.Parallel()
	han := strings.Repeat("漢字文章内容", 334)[:2000*3]
	var ms []message.Message
	for i := range 40 {
		if i%2 == 0 {
			ms = append(ms, message.User(han))
		} else {
			ms = append(ms, message.Assistant(message.Text(han)))
		}
	}
	v := viewOf(ms...)
	p := plan(t, v, compact.Options{})
	require.NotEmpty(t, p.Keep)
	require.LessOrEqual(t, tokens.Messages(tokens.ScriptAware(), p.Keep), compact.DefaultKeepRecent)
	require.Greater(t, p.Kept, compact.DefaultKeepRecent/2, "the tail uses its room")
	require.Equal(t, p.Keep[0].Key, p.FirstKept)
	require.Equal(t, len(ms), len(p.Summarise)+len(p.TurnPrefix)+len(p.Keep))
	require.GreaterOrEqual(t, tokens.ScriptAware().Text(han[:300]+strings.Repeat("a", 100)), 125)
}

func TestC3_PendingCallsOfARunningTurn(t *testing.T) {
	t.Parallel()
	long := message.User(strings.Repeat("word ", 400))
	open := message.Assistant(message.ToolCall("c7", "read", nil), message.ToolCall("c8", "read", nil))
	v := viewOf(long, message.Assistant(message.Text("ok")), message.User("go on"), open, result("c7"), message.User("and hurry"))

	running := plan(t, v, compact.Options{KeepRecent: 1, ActiveTurn: true})
	require.Empty(t, running.Reason)
	require.Equal(t, "k3", running.FirstKept, "the tail starts with the calls that wait")

	aborted := plan(t, v, compact.Options{KeepRecent: 1})
	require.Equal(t, "k5", aborted.FirstKept)
	source := compact.RenderSource(append(aborted.Summarise, aborted.TurnPrefix...))
	require.Equal(t, 1, strings.Count(source, "none; the run ended before it"), "c8 is closed once:\n%s", source)

	only := plan(t, viewOf(open, result("c7"), message.User(strings.Repeat("more ", 100))), compact.Options{KeepRecent: 1, ActiveTurn: true})
	require.Equal(t, ce.ReasonPendingToolCalls, only.Reason)
	require.Len(t, only.Keep, 3)
}

func TestC1_TailNeverStartsWithALeftOverResult(t *testing.T) {
	t.Parallel()
	summary := message.Message{Role: message.RoleCompactionSummary, Summary: "earlier"}
	v := viewOf(summary, result("c3"), call("c4"), result("c4"), message.User(strings.Repeat("x ", 300)), call("c5"), result("c5"), message.Assistant(message.Text("done")))
	for keep := 1; keep < 700; keep += 7 {
		p := plan(t, v, compact.Options{KeepRecent: keep, MinSource: 1})
		if p.Reason != "" {
			continue
		}
		require.NotEqual(t, message.RoleToolResult, p.Keep[0].Role)
		require.Equal(t, "earlier", p.Previous)
	}
}

func TestC8_ReusedCallIDsAndEqualTexts(t *testing.T) {
	t.Parallel()
	turn := func(out string) []message.Message {
		return []message.Message{
			message.User("ok"), call("call_0"), message.ToolResult("call_0", "read", message.Text(out)),
			message.Assistant(message.Text(strings.Repeat("so ", 50))),
		}
	}
	v := viewOf(append(turn("first"), turn("second")...)...)
	p := plan(t, v, compact.Options{KeepRecent: 130})
	require.Equal(t, "k4", p.FirstKept)
	source := compact.RenderSource(p.Summarise)
	require.Contains(t, source, "first")
	require.NotContains(t, source, "second")
	require.Len(t, p.Keep, 4)
	_, repair := message.RepairPairs(p.Keep, nil)
	require.Zero(t, repair)
}

func TestPlanSplitsATurn(t *testing.T) {
	t.Parallel()
	var ms []message.Message
	ms = append(ms, message.User(strings.Repeat("first ask ", 40)), message.Assistant(message.Text("answered")))
	ms = append(ms, message.User("second ask"))
	for i := range 10 {
		ms = append(ms, call(fmt.Sprint(i)), result(fmt.Sprint(i)))
	}
	v := viewOf(ms...)
	p := plan(t, v, compact.Options{KeepRecent: 60})
	require.Equal(t, message.RoleAssistant, p.Keep[0].Role)
	require.Len(t, p.Summarise, 2)
	require.Equal(t, "second ask", p.TurnPrefix[0].Text())
	require.Equal(t, p.Before, p.Source+p.Kept)
	require.Contains(t, p.Explain(), "begun turn")
}

func TestPlanNothingToDo(t *testing.T) {
	t.Parallel()
	small := []message.Message{message.User("hello"), message.Assistant(message.Text("hi"))}
	heartbeat := []message.Message{message.User("HEARTBEAT_OK"), message.Assistant(message.Text("NO_REPLY"))}
	tests := []struct {
		name string
		v    transcript.View
		opts compact.Options
		want ce.CompactionReason
	}{
		{name: "empty", want: ce.ReasonNothingToCompact},
		{name: "only a summary", v: viewOf(message.Message{Role: message.RoleCompactionSummary, Summary: "s"}), want: ce.ReasonNothingToCompact},
		{name: "all recent", v: viewOf(small...), want: ce.ReasonNothingToCompact},
		{name: "one message", v: viewOf(small[0]), opts: compact.Options{KeepRecent: 1}, want: ce.ReasonNothingToCompact},
		{name: "too little", v: viewOf(append(small, message.User(strings.Repeat("x", 60_000)))...), opts: compact.Options{KeepRecent: 16_000}, want: ce.ReasonNothingToCompact},
		{name: "no conversation", v: viewOf(append(heartbeat, heartbeat...)...), opts: compact.Options{KeepRecent: 1}, want: ce.ReasonNoRealConversation},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := plan(t, tt.v, tt.opts)
			require.Equal(t, tt.want, p.Reason)
			require.Empty(t, p.Summarise)
			require.Empty(t, p.TurnPrefix)
			require.Contains(t, p.Explain(), tt.want.Sentence())
		})
	}
}

func TestPlanWithoutKeys(t *testing.T) {
	t.Parallel()
	v := transcript.View{Messages: []message.Message{message.User(strings.Repeat("a ", 500)), message.User("b")}}
	_, err := compact.MakePlan(v, &compact.Options{KeepRecent: 1})
	require.ErrorIs(t, err, compact.ErrNoKeys)
}

func TestPlanLeavesRoomInASmallWindow(t *testing.T) {
	t.Parallel()
	v := viewOf(talk(200)...)
	opts := compact.Options{Budget: tokens.NewBudget(16_000, nil)}
	p := plan(t, v, opts)
	require.True(t, p.Pressure)
	require.LessOrEqual(t, p.Kept, opts.Budget.Prompt()/2)
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	_, err := compact.MakePlan(transcript.View{}, &compact.Options{
		Mode: "maybe", Extractive: "x", Identifiers: "y", KeepRecent: -1, Failover: []compact.Summarizer{nil},
	})
	for _, want := range []string{`"maybe"`, `"x"`, `"y"`, "keep recent", "failover"} {
		require.ErrorContains(t, err, want)
	}
	_, err = compact.New(nil, nil)
	require.Error(t, err)
}

func TestPlanProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := viewOf(genMessages().Draw(t, "messages")...)
		opts := compact.Options{
			KeepRecent: rapid.IntRange(1, 400).Draw(t, "keep"), MinSource: 1,
			ActiveTurn: rapid.Bool().Draw(t, "active"),
		}
		p := plan(t, v, opts)
		again := plan(t, v, opts)
		require.Equal(t, p.FirstKept, again.FirstKept, "same input, same plan")
		all := len(p.Summarise) + len(p.TurnPrefix) + len(p.Keep)
		if p.Previous != "" || len(v.Messages) > 0 && v.Messages[0].Role == message.RoleCompactionSummary {
			all++
		}
		require.Equal(t, len(v.Messages), all, "nothing gets lost or doubled")
		if p.Reason != "" {
			require.Empty(t, p.Summarise)
			return
		}
		require.NotEmpty(t, p.Keep)
		require.NotEqual(t, message.RoleToolResult, p.Keep[0].Role)
		require.Equal(t, p.FirstKept, p.Keep[0].Key)
		// No call is parted from a result that it had.
		source := slices.Concat(p.Summarise, p.TurnPrefix)
		body := append(append([]message.Message(nil), source...), p.Keep...)
		require.Equal(t, len(source), message.SafeCut(body, len(source)))
	})
}

func FuzzCutPoint(f *testing.F) {
	f.Add([]byte("uacruacr"), 20)
	f.Fuzz(func(t *testing.T, kinds []byte, keep int) {
		var rows []transcript.Entry
		for i, k := range kinds[:min(len(kinds), 200)] {
			var e transcript.Entry
			switch k % 6 {
			case 0:
				e = transcript.MessageEntry(message.User("ask"))
			case 1:
				e = transcript.MessageEntry(message.Assistant(message.Text("answer")))
			case 2:
				e = transcript.MessageEntry(result("c"))
			case 3:
				e = transcript.ModelChangeEntry("p", "m")
			case 4:
				e = transcript.CustomMessageEntry("x", "note")
			case 5:
				e = transcript.BranchSummaryEntry("root", "left")
			}
			e.ID = fmt.Sprint(i)
			rows = append(rows, e)
		}
		c := compact.FindCutPoint(rows, keep, tokens.Compat())
		if c.FirstKept < 0 || c.FirstKept > len(rows) || c.TurnStart > c.FirstKept {
			t.Fatalf("%+v of %d rows", c, len(rows))
		}
		if p, ok, err := compact.Prepare(rows, keep); err == nil && ok && p.FirstKeptEntryID == "" {
			t.Fatal("nothing to keep from")
		}
	})
}
