package prune_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// compatInput counts four characters as a token.
func compatInput(window int, after time.Duration) prune.Input {
	return prune.Input{Window: window, Estimator: tokens.Compat(), Now: start.Add(after)}
}

func TestSpec02_9_23_SoftTrim(t *testing.T) {
	t.Parallel()
	in := compatInput(20_000, 5*time.Minute)
	out := warm(nil, in).Apply(session(5, 6_000), in)
	for i := 2; i <= 10; i += 2 {
		text := out[i].Text()
		require.True(t, strings.HasPrefix(text, strings.Repeat("r", 1_500)+"\n...\n"+strings.Repeat("r", 1_500)+"\n\n["))
		require.Contains(t, text, "first 1500 and last 1500 of 6000 characters")
		require.Contains(t, text, fmt.Sprintf("entry k%02d.]", i))
	}
	exact := session(10, 4_000)
	require.True(t, sameList(exact, warm(nil, in).Apply(exact, in)), "4000 characters are not too many")
	require.NotEqual(t, exact[2].Text(), warm(nil, in).Apply(session(10, 4_001), in)[2].Text())
}

func TestSpec02_9_24_HardClear(t *testing.T) {
	t.Parallel()
	count := func(ms []message.Message) int {
		n := 0
		for _, m := range ms {
			if strings.HasPrefix(m.Text(), "[earlier tool output is left out") {
				n++
			}
		}
		return n
	}
	in := compatInput(10_000, time.Hour)
	require.Zero(t, count(warm(nil, in).Apply(session(10, 6_000), in)), "too little to be worth it")

	in = compatInput(30_000, time.Hour)
	out := warm(&prune.CacheTTLOptions{MinPrunable: 1_000}, in).Apply(session(20, 3_900), in)
	require.Equal(t, 5, count(out))
	require.Contains(t, out[2].Text(), "all of it is entry k02]", "the oldest first")

	opts := &prune.CacheTTLOptions{MinPrunable: 1_000, NoHardClear: true}
	require.Zero(t, count(warm(opts, in).Apply(session(20, 3_900), in)))
	opts = &prune.CacheTTLOptions{MinPrunable: 1_000, Placeholder: "gone"}
	require.Equal(t, "gone", warm(opts, in).Apply(session(20, 3_900), in)[2].Text())
}

func TestSpec02_9_25_ImagesOfResults(t *testing.T) {
	t.Parallel()
	ms := session(1, 1)
	ms[2].Content = []message.Block{message.Text("cap"), message.Image("AAAA", "image/png")}
	in := compatInput(1_000, time.Hour)
	out := warm(nil, in).Apply(ms, in)
	require.Equal(t, []message.Block{message.Text("cap\n" + prune.PrunedImageText)}, out[2].Content)
}

func TestCacheTTLClock(t *testing.T) {
	t.Parallel()
	ms := session(5, 6_000)
	cold := compatInput(20_000, 5*time.Minute)
	tests := []struct {
		name string
		opts *prune.CacheTTLOptions
		in   prune.Input
		make func(*prune.CacheTTLOptions, prune.Input) prune.Stateful
		acts bool
	}{
		{name: "expired", in: cold, acts: true},
		{name: "warm", in: compatInput(20_000, 5*time.Minute-time.Millisecond)},
		{name: "no request yet", in: cold, make: func(o *prune.CacheTTLOptions, _ prune.Input) prune.Stateful { return prune.CacheTTL(o) }},
		{name: "unknown time", in: prune.Input{Window: 20_000, Estimator: tokens.Compat()}},
		{name: "unknown window", in: prune.Input{Now: cold.Now}},
		{name: "never expires", opts: &prune.CacheTTLOptions{TTL: -1}, in: cold},
		{name: "longer lifetime", opts: &prune.CacheTTLOptions{TTL: time.Hour}, in: cold},
		{name: "not eligible", opts: &prune.CacheTTLOptions{Eligible: func(prune.Input) bool { return false }}, in: cold},
		{name: "tool denied", opts: &prune.CacheTTLOptions{Deny: []string{"EX*"}}, in: cold},
		{name: "tool not allowed", opts: &prune.CacheTTLOptions{Allow: []string{"read"}}, in: cold},
		{name: "enough saved", opts: &prune.CacheTTLOptions{MinSaved: 3_000}, in: cold, acts: true},
		{name: "too little saved", opts: &prune.CacheTTLOptions{MinSaved: 4_000}, in: cold},
		{name: "below the ratio", in: compatInput(40_000, time.Hour)},
		{name: "all protected", opts: &prune.CacheTTLOptions{KeepAssistants: 9}, in: cold},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			make := tt.make
			if make == nil {
				make = warm
			}
			require.Equal(t, tt.acts, !sameList(ms, make(tt.opts, tt.in).Apply(ms, tt.in)))
		})
	}
}

func TestCacheTTLClockIsPerModel(t *testing.T) {
	t.Parallel()
	ms := session(5, 6_000)
	in := compatInput(20_000, time.Hour)
	in.Provider, in.Model = "Anthropic", "claude-x"
	p := warm(nil, in)
	other := in
	other.Model = "claude-y"
	require.True(t, sameList(ms, p.Apply(ms, other)), "this model's cache was never filled")
	in.Provider, in.Model = "anthropic ", "CLAUDE-X"
	require.False(t, sameList(ms, p.Apply(ms, in)))
}

func TestCachesPrompts(t *testing.T) {
	t.Parallel()
	for in, want := range map[prune.Input]bool{
		{}:                      true,
		{Provider: "anthropic"}: true,
		{Provider: "kilocode", Model: "anthropic/claude-x"}: true,
		{Provider: "kilocode", Model: "other"}:              false,
		{Provider: "google-vertex", Model: "gemini-x"}:      true,
		{Provider: "openai", Model: "gpt"}:                  false,
	} {
		require.Equal(t, want, prune.CachesPrompts(in), "%v", in)
	}
}

// TestCacheTTLStaysAsItIs: tool loops, later turns and another process see the same bytes.
func TestCacheTTLStaysAsItIs(t *testing.T) {
	t.Parallel()
	ms := session(5, 6_000)
	in := compatInput(20_000, time.Hour)
	p := warm(nil, in)
	first := p.Apply(ms, in)
	p.Observe(message.Usage{}, in.Now)

	grown := append(message.Clone(ms), message.User("more"), message.Assistant(message.Text("ok")))
	in.Now = in.Now.Add(time.Second)
	second := p.Apply(grown, in)
	require.True(t, equalLists(first, second[:len(first)]))

	restored := prune.CacheTTL(nil)
	require.NoError(t, restored.Restore(p.Snapshot()))
	require.True(t, equalLists(second, restored.Apply(grown, in)))
	require.Equal(t, string(p.Snapshot()), string(restored.Snapshot()))
	require.NotContains(t, string(p.Snapshot()), "rrrr", "the state holds no text")
}

func TestCacheTTLForgetsWhatACompactionRemoved(t *testing.T) {
	t.Parallel()
	ms := session(5, 6_000)
	in := compatInput(20_000, time.Hour)
	p := warm(nil, in)
	p.Apply(ms, in)
	require.Contains(t, string(p.Snapshot()), `"k02"`)
	p.Observe(message.Usage{}, in.Now)
	compacted := append([]message.Message{message.CompactionSummary("so far", 9, in.Now)}, ms[5:]...)
	p.Apply(compacted, in)
	require.NotContains(t, string(p.Snapshot()), `"k02"`)
	require.Contains(t, string(p.Snapshot()), `"k06"`)
}

// A history limit in front keeps the summary and takes what follows it, so the list still
// begins as it did. A restart then changes nothing.
func TestCacheTTLForgetsWhatAHistoryLimitRemoved(t *testing.T) {
	t.Parallel()
	head := message.CompactionSummary("so far", 9, start)
	long, short := exchange(0, strings.Repeat("r", 6_000)), exchange(1, "ok")
	ms := slices.Concat([]message.Message{head}, long, short, turns(3))
	in := compatInput(3_000, time.Hour)
	p := warm(&prune.CacheTTLOptions{HardRatio: -1, MinPrunable: -1}, in)
	p.Apply(ms, in)
	require.Contains(t, string(p.Snapshot()), long[2].Key)
	require.Contains(t, string(p.Snapshot()), short[2].Key)
	p.Observe(message.Usage{}, in.Now)
	limited := append([]message.Message{head}, ms[1+len(long):]...)
	want := p.Apply(limited, in)
	require.NotContains(t, string(p.Snapshot()), long[2].Key)

	restored := prune.CacheTTL(nil)
	require.NoError(t, restored.Restore(p.Snapshot()))
	requireEqualLists(t, want, restored.Apply(limited, in), "restored")
	require.Contains(t, join(want), "ok", "a text for a shorter result makes up for nothing now")
}

// TestCacheTTLNeverLengthens: a short result was cleared beside long ones; when a compaction
// takes those, it is shown in full again.
func TestCacheTTLNeverLengthens(t *testing.T) {
	t.Parallel()
	ms := session(20, 3_900)
	ms[8].Content = []message.Block{message.Text("ok")}
	in := compatInput(30_000, time.Hour)
	p := warm(&prune.CacheTTLOptions{MinPrunable: 1_000}, in)
	out := p.Apply(ms, in)
	require.Contains(t, out[8].Text(), "left out")
	p.Observe(message.Usage{}, in.Now)
	require.Equal(t, "ok", p.Apply(ms[7:], in)[1].Text())

	short := session(3, 2)
	require.True(t, sameList(short, warm(&prune.CacheTTLOptions{SoftRatio: -1, HardRatio: -1, MinPrunable: -1}, in).Apply(short, in)))
}

func TestCacheTTLProtectsTheBeginning(t *testing.T) {
	t.Parallel()
	ms := append(session(1, 20_000)[1:3:3], session(3, 6_000)...)
	in := compatInput(20_000, time.Hour)
	out := warm(nil, in).Apply(ms, in)
	require.Equal(t, ms[:2], out[:2])
	require.NotEqual(t, ms[4], out[4])
	noUser := session(5, 6_000)[1:]
	require.True(t, sameList(noUser, warm(nil, in).Apply(noUser, in)))
}

func TestCacheTTLRestoreRefusesNonsense(t *testing.T) {
	t.Parallel()
	p := prune.CacheTTL(nil)
	require.Nil(t, p.Snapshot())
	require.Error(t, p.Restore([]byte("{")))
	p.Observe(message.Usage{}, start)
	before := p.Snapshot()
	require.NotEmpty(t, before)
	for _, raw := range []string{
		`null`, `{"results":null}`, `{"touched":null}`, `{"results":{"k":null}}`, `{"results":{"k":{"h":"x","as":"bogus"}}}`,
		`{"results":{"k":{"h":"","as":"trim"}}}`, `{"touched":{"m":-1}}`,
	} {
		require.Error(t, p.Restore([]byte(raw)), raw)
		require.Equal(t, before, p.Snapshot(), raw)
	}
	require.NoError(t, p.Restore(nil))
	require.Nil(t, p.Snapshot())
	p.Observe(message.Usage{}, time.Time{})
	require.Nil(t, p.Snapshot(), "an unknown time says nothing")
}

func TestCacheTTLMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		allow, deny []string
		tool        string
		want        bool
	}{
		{nil, nil, "any", true},
		{[]string{"web_*"}, nil, " Web_Fetch ", true},
		{[]string{"web_*"}, []string{"web_search"}, "web_search", false},
		{[]string{"read"}, nil, "reader", false},
		{[]string{"*a*c"}, nil, "xaybc", true},
		{[]string{"*a*c"}, nil, "xaybcd", false},
		{[]string{"a*b*c"}, nil, "abxc", true},
		{[]string{"a*b*c"}, nil, "ac", false},
		{[]string{"*"}, nil, "", true},
		{[]string{" "}, nil, "any", true},
		{nil, []string{"*"}, "any", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, prune.CacheTTLOptions{Allow: tt.allow, Deny: tt.deny}.Matches(tt.tool), "%v", tt)
	}
}

func TestCacheTTLWithoutThinking(t *testing.T) {
	t.Parallel()
	ms := session(3, 4_500)
	thinks := message.Assistant(message.Thinking(strings.Repeat("t", 80_000), "s"))
	thinks.Key = "t"
	ms = append([]message.Message{ms[0], thinks}, ms[1:]...)
	in := compatInput(50_000, time.Hour)
	require.False(t, sameList(ms, warm(nil, in).Apply(ms, in)))
	require.True(t, sameList(ms, warm(&prune.CacheTTLOptions{ThinkingDropped: true}, in).Apply(ms, in)), "what is not sent does not count")
}
