package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

func TestRepairPairs(t *testing.T) {
	t.Parallel()
	keepOpen := &message.RepairOptions{KeepOpenTail: true}
	keepFailed := &message.RepairOptions{FailedTurns: message.FailedTurnsKeep}
	dropFailed := &message.RepairOptions{FailedTurns: message.FailedTurnsDrop}
	for _, c := range []struct {
		name     string
		in, want string
		done     message.Repair
		opts     *message.RepairOptions
	}{
		{"empty", "", "", message.Repair{}, nil},
		{"nothing wrong", "u a:c1 r:c1 a u", "u a:c1 r:c1 a u", message.Repair{}, nil},
		{"parallel results in another order stay", "a:c1,c2 r:c2 r:c1 a", "a:c1,c2 r:c2 r:c1 a", message.Repair{}, nil},
		{"ids recur", "u a:c1 r:c1 u a:c1 r:c1", "u a:c1 r:c1 u a:c1 r:c1", message.Repair{}, nil},
		{"missing result", "u a:c1 u", "u a:c1 r?:c1 u", message.Repair{AddedResults: 1}, nil},
		{"one of two missing", "a:c1,c2 r:c1 a", "a:c1,c2 r:c1 r?:c2 a", message.Repair{AddedResults: 1}, nil},
		{"leading orphan", "r:zz u", "u", message.Repair{DroppedResults: 1}, nil},
		{"orphan between call and result", "a:c1 r:zz r:c1", "a:c1 r:c1", message.Repair{DroppedResults: 1}, nil},
		{"repeated result", "a:c1 r:c1 r:c1 u", "a:c1 r:c1 u", message.Repair{DroppedResults: 1}, nil},
		{"late result", "a:c1 a:c2 r:c2 r:c1", "a:c1 r:c1 a:c2 r:c2", message.Repair{MovedResults: 1}, nil},
		{"result behind text", "a:c1 a r:c1", "a:c1 r:c1 a", message.Repair{MovedResults: 1}, nil},
		{"very late result", "a:c1 u a u a r:c1 u", "a:c1 r:c1 u a u a u", message.Repair{MovedResults: 1}, nil},
		{"an earlier use of the id gets no later result", "a:c1 u a:c1 r:c1 r:c1", "a:c1 r?:c1 u a:c1 r:c1", message.Repair{DroppedResults: 1, AddedResults: 1}, nil},
		{"stand-in gives way to the real result", "a:c1 r?:c1 r:c1 u", "a:c1 r:c1 u", message.Repair{DroppedResults: 1}, nil},
		{"real result does not give way", "a:c1 r:c1 r?:c1 u", "a:c1 r:c1 u", message.Repair{DroppedResults: 1}, nil},
		{"two calls of one id", "a:c1,c1 r:c1 r:c1 r:c1 u", "a:c1,c1 r:c1 r:c1 u", message.Repair{DroppedResults: 1}, nil},
		{"everything at once", "r:zz u a:c1,c2 x r:c2 r:c2 u a:c3", "u a:c1,c2 r?:c1 r:c2 x u a:c3 r?:c3", message.Repair{DroppedResults: 2, AddedResults: 2, MovedResults: 1}, nil},

		{"result block in place", "a:c1 b:c1 u", "a:c1 b:c1 u", message.Repair{}, nil},
		{"mixed message in place", "a:c1,c2 b+:c1,c2 a", "a:c1,c2 b+:c1,c2 a", message.Repair{}, nil},
		{"orphan block leaves text", "u b+:zz a", "u t a", message.Repair{DroppedBlocks: 1}, nil},
		{"emptied message goes", "u b:zz,yy a", "u a", message.Repair{DroppedBlocks: 2}, nil},
		{"repeated block", "a:c1 r:c1 b+:c1", "a:c1 r:c1 t", message.Repair{DroppedBlocks: 1}, nil},
		{"block apart becomes a message", "a:c1 u b+:c1", "a:c1 r:c1 u t", message.Repair{MovedResults: 1}, nil},
		{"stand-in before a mixed message", "a:c1,c2 b+:c1 u", "a:c1,c2 r?:c2 b+:c1 u", message.Repair{AddedResults: 1}, nil},
		{"result behind a mixed message", "a:c1,c2 b+:c1 r:c2", "a:c1,c2 r:c2 b+:c1", message.Repair{MovedResults: 1}, nil},
		{"two mixed messages", "a:c1,c2 b+:c1 b+:c2", "a:c1,c2 r:c2 b+:c1 t", message.Repair{MovedResults: 1}, nil},
		{"block for two groups", "a:c1 a:c2 b:c1,c2", "a:c1 r:c1 a:c2 b:c2", message.Repair{MovedResults: 1}, nil},
		{"an assistant carries no results of another", "a:c1 B:c1 u", "a:c1 r:c1 u", message.Repair{MovedResults: 1}, nil},
		{"nor beside its text", "a:c1 B+:c1 u", "a:c1 r:c1 T u", message.Repair{MovedResults: 1}, nil},

		{"open tail is kept", "u a:c1,c2 r:c1", "u a:c1,c2 r:c1", message.Repair{}, keepOpen},
		{"open tail behind a repair", "r:zz a:c0 u a:c1,c2 r:c1", "a:c0 r?:c0 u a:c1,c2 r:c1", message.Repair{DroppedResults: 1, AddedResults: 1}, keepOpen},
		{"open tail with a mixed message", "u a:c1,c2 b+:c1", "u a:c1,c2 b+:c1", message.Repair{}, keepOpen},
		{"open before the last unit", "u a:c1 u", "u a:c1 r?:c1 u", message.Repair{AddedResults: 1}, keepOpen},
		{"open tail is closed unless asked", "u a:c1,c2 r:c1", "u a:c1,c2 r:c1 r?:c2", message.Repair{AddedResults: 1}, nil},

		{"broken-off turn", "a!:c1,c2 r:c1 u", "a!:c1,c2 r:c1 r?:c2 u", message.Repair{AddedResults: 1}, nil},
		{"broken-off turn kept", "a!:c1,c2 r:c1 u", "a!:c1,c2 r:c1 u", message.Repair{}, keepFailed},
		{"broken-off turn dropped", "a!:c1 r:c1 u", "u", message.Repair{DroppedTurns: 1, DroppedResults: 1}, dropFailed},
		{"broken-off turn dropped from between", "a:c1 a!:c2 r:c2 r:c1 u", "a:c1 r:c1 u", message.Repair{DroppedTurns: 1, DroppedResults: 1}, dropFailed},
		{"nothing to drop", "a:c1 r:c1", "a:c1 r:c1", message.Repair{}, dropFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			requireRepair(t, c.in, c.want, c.done, c.opts)
		})
	}
}

func requireRepair(t *testing.T, source, want string, done message.Repair, opts *message.RepairOptions) {
	t.Helper()
	in := list(source)
	out := requireRepaired(t, in, opts)
	require.Equal(t, want, words(out))
	_, got := message.RepairPairs(in, opts)
	require.Equal(t, done, got)
}

func requireSame(t testing.TB, a, b []message.Message) {
	t.Helper()
	require.Len(t, b, len(a))
	if len(a) > 0 {
		require.Same(t, &a[0], &b[0])
	}
}

// TestC1_OrphanAcrossTwoCompactions: the kept rows begin with a result whose call was
// summarised.
func TestC1_OrphanAcrossTwoCompactions(t *testing.T) {
	t.Parallel()
	out, done := message.RepairPairs(list("s r:c3 a:c2 a:c4 r:c4 u"), nil)
	require.Equal(t, "s a:c2 r?:c2 a:c4 r:c4 u", words(out))
	require.Equal(t, message.Repair{DroppedResults: 1, AddedResults: 1}, done)
}

// TestC3_PendingCalls: while the calls run they are left open and pair later; after an
// abort each gets one stand-in.
func TestC3_PendingCalls(t *testing.T) {
	t.Parallel()
	live := list("u a:c7,c8 r:c7")
	out, done := message.RepairPairs(live, &message.RepairOptions{KeepOpenTail: true})
	require.Zero(t, done)
	requireSame(t, live, out)
	for u := range message.Units(live) {
		require.Equal(t, u.Start == 1, u.Open)
	}

	out, _ = message.RepairPairs(list("u a:c7,c8 r:c7 r:c8"), nil)
	require.Equal(t, "u a:c7,c8 r:c7 r:c8", words(out))

	aborted, done := message.RepairPairs(live, nil)
	require.Equal(t, "u a:c7,c8 r:c7 r?:c8", words(aborted))
	require.Equal(t, 1, done.AddedResults)
	late, _ := message.RepairPairs(append(aborted, list("u r:c8")...), nil)
	require.Equal(t, "u a:c7,c8 r:c7 r:c8 u", words(late), "the real result replaces the stand-in")
}

func TestRepairPairs_StandIn(t *testing.T) {
	t.Parallel()
	out, _ := message.RepairPairs(list("a:c1 u"), &message.RepairOptions{MissingText: "aborted"})
	require.Equal(t, "aborted", out[1].Text())
	require.True(t, out[1].IsError)
	require.Equal(t, "tool", out[1].ToolName)
	require.Equal(t, out[0].Timestamp, out[1].Timestamp)
	require.True(t, message.IsMissingResult(decode(t, encode(t, out[1]))))
}

func TestRepairPairs_FillsInTheCall(t *testing.T) {
	t.Parallel()
	call := message.Assistant(message.ToolCall("c1", "exec", nil))
	for name, c := range map[string]struct{ result, want message.Message }{
		"blank name": {
			message.ToolResult("c1", "  ", message.Text("x")),
			message.ToolResult("c1", "exec", message.Text("x")),
		},
		"padded id and name": {
			message.ToolResult(" c1 ", " exec ", message.Text("x")),
			message.ToolResult("c1", "exec", message.Text("x")),
		},
		"id under another key": {
			message.ToolResult("", "exec").WithExtra("tool_use_id", json.RawMessage(`"c1"`)),
			message.ToolResult("c1", "exec").WithExtra("tool_use_id", json.RawMessage(`"c1"`)),
		},
		"no id, the only call": {
			message.ToolResult("", "exec", message.Text("x")),
			message.Message{
				Role: message.RoleToolResult, ToolCallID: "c1", ToolName: "exec", IsError: true,
				Content: []message.Block{message.Text("x")},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, done := message.RepairPairs([]message.Message{call, c.result}, nil)
			require.Equal(t, message.Repair{FilledResults: 1}, done)
			require.Equal(t, []message.Message{call, c.want}, out)
		})
	}
	block := message.Message{Role: message.RoleUser, Content: []message.Block{{Type: message.BlockToolResult, Text: "x"}}}
	out, done := message.RepairPairs([]message.Message{call, block}, nil)
	require.Equal(t, message.Repair{MovedResults: 1}, done)
	require.True(t, out[1].IsError, "a guess")
	block.Content[0].Extra = map[string]json.RawMessage{"tool_use_id": json.RawMessage(`"c9"`)}
	block.Content[0].ID = "c1"
	_, done = message.RepairPairs([]message.Message{call, block}, nil)
	require.Zero(t, done, "the id in its own field counts")
	block.Content[0].ID = "c1 "
	out, _ = message.RepairPairs([]message.Message{call, block}, nil)
	require.Equal(t, "c1", out[1].ToolCallID)
	require.False(t, out[1].IsError, "no guess")

	out, done = message.RepairPairs([]message.Message{call, message.ToolResult("", "read")}, nil)
	require.Equal(t, message.Repair{DroppedResults: 1, AddedResults: 1}, done, "another tool's result is not adopted")
	require.Equal(t, "exec", out[1].ToolName)

	nameless := []message.Message{message.Assistant(message.ToolCall("c1", "", nil)), message.ToolResult("c1", "")}
	out, _ = message.RepairPairs(nameless, nil)
	require.Equal(t, "unknown", out[1].ToolName)

	unnumbered := []message.Message{
		message.Assistant(message.ToolCall("", "a", nil), message.ToolCall("", "b", nil)),
		message.ToolResult("", "b"), message.ToolResult("", "a"),
	}
	out, done = message.RepairPairs(unnumbered, nil)
	require.Zero(t, done, "calls without ids are matched by name")
	requireSame(t, unnumbered, out)
}

func TestRepairPairs_AnIDIsBetterThanAGuess(t *testing.T) {
	t.Parallel()
	out, done := message.RepairPairs([]message.Message{
		message.Assistant(message.ToolCall("c1", "exec", nil)),
		message.ToolResult("", "exec", message.Text("guess")),
		message.ToolResult("c1", "exec", message.Text("known")),
	}, nil)
	require.Equal(t, message.Repair{DroppedResults: 1}, done)
	require.Equal(t, "known", out[1].Text())
}

// Lists that are wrong throughout cost time in proportion to their length.
func TestRepairPairs_LargeAndBroken(t *testing.T) {
	t.Parallel()
	const n = 8_000
	repeated := func(id string) string { return strings.TrimSuffix(strings.Repeat(id+",", n), ",") }
	ids := repeated("c")
	for _, in := range []string{
		"r:zz " + strings.Repeat("a:c ", n) + strings.Repeat("r:c ", n),
		strings.Repeat("r:c ", n) + strings.Repeat("a:c ", n),
		"a:" + ids + strings.Repeat(" r:c", n) + " r:zz",
		"a:" + ids + " b+:" + ids,
		"a:" + ids + strings.Repeat(" r:", n),                // no id, no call without one
		"a:" + repeated("") + strings.Repeat(" r:@other", n), // no call of that tool
		"a:" + repeated("@") + strings.Repeat(" r:_@t", n),
		"a:c" + strings.Repeat(" r:", n) + strings.Repeat(" r?:c", n),
		"a:" + repeated("_c") + strings.Repeat(" r:c r?:c_", n),
		"a:c," + repeated("=c") + "," + ids,
	} {
		ms := list(in)
		out, _ := message.RepairPairs(ms, &message.RepairOptions{KeepOpenTail: true})
		_, done := message.RepairPairs(out, &message.RepairOptions{KeepOpenTail: true})
		require.Zero(t, done)
		message.Tail(ms, 10)
	}
}

func TestRepairPairs_OtherSpellings(t *testing.T) {
	t.Parallel()
	ms := []message.Message{
		decode(t, `{"role":"assistant","content":[{"type":"toolUse","id":"a","name":"n","input":{}}]}`),
		decode(t, `{"role":"assistant","content":[{"type":"functionCall","id":"b","name":"n","arguments":{}}]}`),
		decode(t, `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]}`),
		decode(t, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}`),
	}
	out, done := message.RepairPairs(ms, nil)
	require.Equal(t, message.Repair{AddedResults: 2}, done)
	require.Len(t, out, 6)
	require.Equal(t, "a", out[1].ToolCallID)
	require.Equal(t, "b", out[3].ToolCallID)
	require.Equal(t, ms[3], out[5], "a provider's own spelling on both sides is left alone")

	ms[2] = decode(t, `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{}}]}`)
	_, done = message.RepairPairs(ms[2:], nil)
	require.Zero(t, done, "the block answers a call that has its id")
}
