package prune_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

// An anyLog is a session in which nothing is as it should be: calls without results and
// the reverse, ids that recur, blank and failed messages, names and arguments that no
// provider takes.
type anyLog struct {
	*rand.Rand
	made int
	ms   []message.Message
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (l *anyLog) text() message.Block {
	return message.Text(pick(l.Rand, "", " ", "x", "NO_REPLY", "hello", "[media attached: a.png]", strings.Repeat("out ", 900),
		"漢字", "error: }", "\xff", prune.FailedText, `{"action":"NO_REPLY"}`, "HEARTBEAT_OK", "All well? Then say HEARTBEAT_OK."))
}

func (l *anyLog) call() message.Block {
	id := pick(l.Rand, fmt.Sprintf("call_%d", l.IntN(4)), "functions.read:0", "toolu_01", strings.Repeat("y", 70))
	b := message.ToolCall(id, pick(l.Rand, "read", " read ", "mcp.read", "a:b"), json.RawMessage(pick(l.Rand, `{}`, `{}`, `[]`, `"{}"`, `1`)))
	if l.IntN(9) == 0 {
		b.Arguments = json.RawMessage(`{"a":`)
	}
	return b
}

func (l *anyLog) result() message.Message {
	b := l.call()
	m := message.ToolResult(b.ID, b.Name, l.text(), l.text())
	m.IsError = l.IntN(2) == 0
	return m
}

func (l *anyLog) assistant() message.Message {
	m := message.Assistant()
	for range l.IntN(4) {
		m.Content = append(m.Content, pick(l.Rand, l.call(), l.text(), l.text(), message.Thinking("hm", pick(l.Rand, "", "c2ln", "!!"))))
	}
	m.StopReason = pick(l.Rand, "", message.StopEnd, message.StopError, message.StopAborted, message.StopLength, message.StopToolUse)
	m.Model = pick(l.Rand, "", "claude-3-5-sonnet", "gpt-9")
	if l.IntN(3) == 0 {
		m.Usage = &message.Usage{}
	}
	return m
}

func (l *anyLog) message() message.Message {
	l.made++
	at := time.UnixMilli(int64(1_000_000 + l.made*1000))
	user, custom := message.User("see"), message.Custom("n", l.text())
	picture := message.Image(pick(l.Rand, "iVBORw0KGgoAAAA", "", "zzzz"), pick(l.Rand, "", "image/png"))
	user.Content = append(user.Content, picture)
	custom.Content = append(custom.Content, picture)
	m := pick(l.Rand, message.User(l.text().Text), message.User(l.text().Text), user, custom, message.Custom("n", l.text()),
		l.assistant(), l.assistant(), l.assistant(), l.result(), l.result(), message.ToolResult("call_1", "read"),
		message.CompactionSummary(l.text().Text, 5, at), message.BranchSummary("b", "e", time.Time{}),
		message.BashExecution(message.Bash{Command: "ls", Exclude: l.IntN(2) == 0}))
	m.Timestamp = at
	if l.IntN(8) > 0 {
		m.Key = fmt.Sprintf("k%d", l.made)
	}
	return m
}

// change lets the session go on: mostly it grows, but messages also change or go.
func (l *anyLog) change() {
	switch n := len(l.ms); {
	case n > 0 && l.IntN(6) == 0:
		l.ms = append([]message.Message(nil), l.ms...)
		l.ms[l.IntN(n)] = l.message()
	case n > 4 && l.IntN(6) == 0:
		l.ms = append([]message.Message{message.CompactionSummary("s", 1, time.UnixMilli(int64(1_000_000+l.made*1000)))}, l.ms[l.IntN(n):]...)
	case l.IntN(6) == 0:
		l.ms = l.ms[:l.IntN(n+1)]
	case l.IntN(6) == 0:
		l.ms = message.Clone(l.ms)
	}
	for range l.IntN(5) {
		l.ms = append(l.ms[:len(l.ms):len(l.ms)], l.message())
	}
}

// TestAnyList gives passes that remember what no pass should meet. What they make of it is
// what passes make that remember nothing, is valid, and stays as it is when they see it
// again.
func TestAnyList(t *testing.T) {
	t.Parallel()
	seeds := uint64(80)
	if os.Getenv("CONTEXTENGINE_NIGHTLY") != "" {
		seeds = 5_000
	}
	for seed := range seeds {
		anySession(t, seed)
		if t.Failed() {
			return
		}
	}
}

func anySession(t *testing.T, seed uint64) {
	t.Helper()
	log := &anyLog{Rand: rand.New(rand.NewPCG(seed, 9))}
	policy := pick(log.Rand, policies()...)
	fresh := pick(log.Rand, prune.Hygiene, prune.Standard)
	warm := fresh(policy)
	window := pick(log.Rand, 2_000, 100_000)
	for range 12 {
		log.change()
		in := prune.Input{
			Provider: pick(log.Rand, "", "anthropic"), Model: pick(log.Rand, "", "claude-3-5-sonnet", "claude-sonnet-4-5"),
			Window: window, Now: time.UnixMilli(5_000_000),
		}
		before := message.Clone(log.ms)
		got := prune.Apply(log.ms, in, warm...)
		about := fmt.Sprintf("seed %d, policy %q", seed, policy)
		require.True(t, equalLists(before, log.ms), "%s: changed in place", about)
		if window > 2_000 { // no decisions of earlier requests
			requireEqualLists(t, prune.Apply(message.Clone(log.ms), in, fresh(policy)...), got, about+": a fresh pass")
		}
		requireEqualLists(t, got, prune.Apply(message.Clone(got), in, fresh(policy)...), about+": again")
		requireSendable(t, policy, in, got, about)
	}
}

var (
	plainNames   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	anthropicIDs = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

func requireSendable(t *testing.T, policy prune.Policy, in prune.Input, ms []message.Message, about string) {
	t.Helper()
	if policy == prune.PolicyAuto {
		policy = prune.PolicyFor(in.Provider, in.API)
	}
	require.True(t, paired(ms), about)
	for i, m := range ms {
		require.Contains(t, []message.Role{message.RoleUser, message.RoleAssistant, message.RoleToolResult}, m.Role, about)
		require.NotEmpty(t, m.Content, about)
		for _, b := range m.Content {
			require.False(t, b.Type == message.BlockText && strings.TrimSpace(b.Text) == "", "%s: a blank text in a %s", about, m.Role)
			require.False(t, b.Type == message.BlockImage && b.MIMEType == "", "%s: an image without a type", about)
		}
		for b := range m.ToolCalls() {
			var object map[string]any
			require.NoError(t, json.Unmarshal(b.Arguments, &object), about)
			if policy != prune.PolicyCommon && policy != prune.PolicyGemini {
				require.Regexp(t, plainNames, b.Name, about)
			}
			if policy == prune.PolicyAnthropic {
				require.Regexp(t, anthropicIDs, b.ID, about)
			}
		}
		if policy == prune.PolicyAnthropic && i > 0 && m.Role != message.RoleToolResult {
			require.NotEqual(t, ms[i-1].Role, m.Role, about)
		}
	}
	if policy == prune.PolicyAnthropic && len(ms) > 0 {
		require.Equal(t, message.RoleUser, ms[0].Role, about)
	}
	if n := len(ms); n > 0 && ms[n-1].Role == message.RoleAssistant && ms[n-1].StopReason == message.StopError && len(ms[n-1].Content) == 1 {
		require.NotEqual(t, prune.FailedText, ms[n-1].Text(), about)
	}
}
