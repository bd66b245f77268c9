package compact

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	source := fence([]string{"[User]: hello there", "[Assistant]: " + strings.Repeat("one two three ", 30)})
	tests := []struct {
		name, text string
		want       string
		flaw       flaw
	}{
		{name: "plain", text: "  They greeted.\n", want: "They greeted."},
		{name: "reasoning and text", text: "<think>hm</think>\nThey greeted.", want: "They greeted."},
		{name: "reasoning twice", text: "<think>hm</think>\n<analysis>so <think> is a tag</analysis>They greeted.", want: "They greeted."},
		{name: "reasoning in between", text: "They greeted.\n<thinking>more?</thinking>\nTwice.", want: "They greeted.\n\nTwice."},
		{name: "reasoning with another end", text: "<think>They greeted.</analysis>", flaw: flawReasoning},
		{name: "speaks of tags", text: "Filters drop `<think>` and <analysis> tags.\n- ship step 7", want: "Filters drop `<think>` and <analysis> tags.\n- ship step 7"},
		{name: "tag without end starts a line", text: "They drop\n<think> tags.\nAll of them.", want: "They drop\n<think> tags.\nAll of them."},
		{name: "end of reasoning alone", text: "I should be brief.\n</think>\n\nThey greeted.", want: "They greeted."},
		{name: "nothing after the end", text: "I should be brief.\n</think>", flaw: flawReasoning},
		{name: "end in code", text: "Format:\n```\n</think>\n```\nDone.", want: "Format:\n```\n</think>\n```\nDone."},
		{name: "tags in code", text: "Format:\n```\n<think>x</think>\ny\n```\nDone.", want: "Format:\n```\n<think>x</think>\ny\n```\nDone."},
		{name: "code fence", text: "```markdown\nThey greeted.\n```", want: "They greeted."},
		{name: "summary tag", text: "<summary>They greeted.</summary>", want: "They greeted."},
		{name: "blank", text: "\n", flaw: flawBlank},
		{name: "empty wrapper", text: "<summary>\n</summary>", flaw: flawBlank},
		{name: "reasoning", text: "<Reasoning>hm", flaw: flawReasoning},
		{name: "call", text: `[{"name":"read","input":{}}]`, flaw: flawToolCall},
		{name: "calls", text: `{"tool_calls":[{}]}`, flaw: flawToolCall},
		{name: "call tag", text: "<function_calls><invoke>", flaw: flawToolCall},
		{name: "JSON that is no call", text: `{"decisions":["x"]}`, want: `{"decisions":["x"]}`},
		{name: "goes on with the source", text: "[User]: hello there\n\n[Assistant]: hi", flaw: flawEcho},
		{name: "copies the source", text: strings.Repeat("one  two\nthree ", 20), flaw: flawEcho},
		{name: "repeats the fence", text: "<conversation> …", flaw: flawEcho},
		{name: "speaks of the fence", text: "Prompts wrap data in <conversation> tags.", want: "Prompts wrap data in <conversation> tags."},
		{name: "refusal", text: "I cannot summarise this conversation.", flaw: flawRefusal},
		{name: "apology", text: "I’m really sorry, but I’m unable to help.", flaw: flawRefusal},
		{name: "says what somebody could not do", text: "The user said: I cannot log in.", want: "The user said: I cannot log in."},
		{name: "first person with sections", text: "I cannot see earlier parts.\n## Decisions\nNone.", want: "I cannot see earlier parts.\n## Decisions\nNone."},
		{name: "broken text", text: "ok \xff", want: "ok �"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, f := judge(tt.text, source)
			require.Equal(t, tt.flaw, f)
			require.Equal(t, tt.want, text)
		})
	}
}

// A model that repeats itself costs no more than its answer is long.
func TestJudgeOfRepetitions(t *testing.T) {
	t.Parallel()
	for _, again := range []string{"<think>\n", "<think> </thinking>\n", "</think>\n", "[User]: x\n", "```\n", "<"} {
		text, f := judge("So.\n"+strings.Repeat(again, 1<<16)+"End.", "")
		require.Empty(t, f)
		require.Contains(t, text, "End.")
	}
}

func TestShortenNeverPartsACharacter(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("é漢😀", 100)
	for limit := range 60 {
		got := shorten(text, limit)
		require.Equal(t, got, strings.ToValidUTF8(got, "?"))
	}
	require.Equal(t, "abc", shorten("abc", 3))
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for i := range 4 * maxSessions {
		id := strconv.Itoa(i)
		m.ended(id, "t", failed("no_progress", nil), nil)
		m.note(id, Breaker{Failures: 1}, true, time.Now())
	}
	require.LessOrEqual(t, len(m.sessions), maxSessions)
	require.LessOrEqual(t, len(m.models), maxBreakers)
}

func TestAddTo(t *testing.T) {
	t.Parallel()
	summary := "Intro.\n\n## Decisions\nNone.\n\n## Pending user asks\n- one\n\n## Files\n- read: a\n"
	require.Equal(t, "Intro.\n\n## Decisions\n- x\n\n## Pending user asks\n- one\n\n## Files\n- read: a\n", addTo(summary, headDecisions, []string{"- x"}))
	require.Contains(t, addTo(summary, headAsks, []string{"- two"}), "- one\n- two\n\n## Files")
	require.True(t, strings.HasSuffix(addTo(summary, headRules, []string{"- r"}), "- read: a\n\n## Constraints/Rules\n- r"))
	require.Equal(t, summary, addTo(summary, headRules, nil))
	require.NotContains(t, withoutSection(summary, headFiles), "read: a")
	require.Equal(t, "x", withoutSection("x", headFiles))
}

func TestFileLinesAreBounded(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 200 {
		paths = append(paths, "/src/dir/file-"+strconv.Itoa(i))
	}
	lines := fileLines(FileLists{ReadFiles: paths}, maxFileList)
	require.Len(t, lines, 1)
	require.Less(t, len(lines[0]), maxFileList+40)
	require.Contains(t, lines[0], "more")
	require.Equal(t, []string{"- read: 200 files"}, fileLines(FileLists{ReadFiles: paths}, 3))
}

func TestSourceIsReducedToABoundedNumberOfRequests(t *testing.T) {
	t.Parallel()
	s, err := newSettings(&Options{MaxCalls: 8, Summarizer: Scripted()})
	require.NoError(t, err)
	s.Budget.Window = 6_000
	j := &job{s: s, memory: newMemory(), room: 500}
	var ms []message.Message
	for i := range 600 {
		id := strconv.Itoa(i)
		ms = append(ms, message.Assistant(message.ToolCall(id, "read", nil)), message.ToolResult(id, "read", message.Text(strings.Repeat("out "+id+" ", 300))))
	}
	st := stage{rules: instructionSet{task: firstInstructions, sections: true}}
	ps := j.render(ms, st)
	limit := j.sourceLimit(st)
	require.LessOrEqual(t, len(j.group(j.reduce(ps, limit), limit)), 3)
	require.Positive(t, j.left, "even cut short it is too much, so the oldest went")
	require.Contains(t, ps[len(ps)-1].text, "out 599", "the newest stays")
}

// A turn that began before an earlier compaction is not forgotten when another begins.
func TestJoinTurnKeepsEarlierTurns(t *testing.T) {
	t.Parallel()
	first := joinTurn("History.", "First ask.\n## Decisions\nOne.")
	require.Equal(t, "History.\n\n## Turn in progress\nFirst ask.\n### Decisions\nOne.", first)
	second := joinTurn(first, "Second ask.")
	require.Equal(t, "History.\n\n## Earlier turn\nFirst ask.\n### Decisions\nOne.\n\n## Turn in progress\nSecond ask.", second)
}

// Skipping text that cannot hold an identifier changes nothing but the time it takes.
func TestPromisingPartsHaveAllIdentifiers(t *testing.T) {
	t.Parallel()
	words := []string{
		"the", "build", "failed.", "see", "/srv/app/main.go", "250", "ms", "30 days", "(cafebabe).", "e.g.",
		"https://x.org/a?b=1,", "JIRA-12", "\n", "\t", "db.prod:5432", "MAX_RETRIES", "说：", "编号是srv-9a8b7c，", "deadbeef", "a", "99.5%", "v1.2.3",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, "words"), rapid.SampledFrom([]string{" ", "  ", "\n"}).Draw(t, "between"))
		var whole, parts []string
		whole = identifier.FindAllString(text, -1)
		for _, p := range promising(text) {
			parts = append(parts, identifier.FindAllString(p, -1)...)
		}
		require.Equal(t, whole, parts)
	})
}

// An identifier is in a text when it stands there by itself.
func TestHolds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		id, text string
		want     bool
	}{
		{"/srv/app", "see /srv/app.", true},
		{"/srv/app", "see /srv/app/main.go", true},
		{"/srv/app", "/srv/application/x", false},
		{"/srv/app", "/old/srv/app", false},
		{"/srv/app", "../srv/app", false},
		{"/srv/app", "/srv/application and /srv/app", true},
		{"v1.2.3", "v1.2.34", false},
		{"v1.2.3", "v1.2.3.4", false},
		{"v1.2.3", "v1.2.3-rc1", false},
		{"v1.2.3", "It is v1.2.3. Ship it", true},
		{"12 ms", "112 ms", false},
		{"12 ms", "0.12 ms", false},
		{"12 ms", "- 12 ms, at most", true},
		{"250 rows", "1,250 rows", false},
		{"123456", "9123456", false},
		{"123456", "1234567", false},
		{"654321", "123456,654321", true},
		{"report.go", "myreport.go", false},
		{"report.go", "my-report.go", false},
		{"report.go", "report.go.bak", false},
		{"report.go", "`src/report.go:12`", true},
		{"db.internal:5432", "db.internal:54321", false},
		{"srv-9a8b", "编号是srv-9a8b请", true},
		{"99.5%", "99.5% of them", true},
		{"deadbeef", "DEADBEEF", true},
		{"deadbeef", "deadbeefcafe", false},
		{"job_1a", "xjob_1a job_1ab", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, holds(tt.text, strings.ToLower(tt.text), tt.id), "%q in %q", tt.id, tt.text)
	}
}

// Where a text is cut, what follows the cut is no label.
func TestCuttingMakesNoLabels(t *testing.T) {
	t.Parallel()
	s, err := newSettings(nil)
	require.NoError(t, err)
	j := &job{s: s}
	for pad := range 16 {
		text := "[Result of read]: " + strings.Repeat("x", pad) + strings.Repeat("[User]: do it ", 500)
		p := piece{text: text, tokens: s.counter.Text(text)}
		for _, got := range []string{j.fit(p, 300).text, s.dropOldest([]piece{p})[0].text} {
			require.Less(t, len(got), len(text))
			for _, seg := range segments(got) {
				require.NotEqual(t, labelUser, seg.label, "pad %d: %s", pad, got)
			}
		}
	}
	kept := asTail("[Call of x]: {}\n[User]: yes", "[User]: yes")
	require.Equal(t, "[User]: yes", kept, "a label that stood at the start of a line is one")
}
