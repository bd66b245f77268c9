package message_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// Which call a result answers does not depend on its place when ids or names tell.
func TestRepairPairs_WhoAnswersWhom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		in, want string
		done     message.Repair
	}{
		{"padded call", "a:_c1_ r:c1", "a:_c1_ r:_c1_", message.Repair{FilledResults: 1}},
		{"padded call and result", "a:_c1 r:_c1 u", "a:_c1 r:_c1 u", message.Repair{}},
		{"ids that differ in space", "a:c1_,_c1 r:_c1 r:c1_", "a:c1_,_c1 r:_c1 r:c1_", message.Repair{}},
		{"the id as it is spelled first", "a:_c1,c1 r:c1 u", "a:_c1,c1 r:c1 r?:_c1 u", message.Repair{AddedResults: 1}},
		{"then without space", "a:_c1,c1 r:c1_ r:c1 u", "a:_c1,c1 r:_c1 r:c1 u", message.Repair{FilledResults: 1}},
		{"the tool first, without space", "a:c1@read,c1@exec r:c1_@exec u", "a:c1@read,c1@exec r:c1@exec r?:c1@read u", message.Repair{FilledResults: 1, AddedResults: 1}},
		{"a mixed message keeps its call", "a:c1_,_c1 b+:c1_", "a:c1_,_c1 r?:_c1 b+:c1_", message.Repair{AddedResults: 1}},
		{"other spelling in the nearest group", "a:c1 r:c1 a:_c1 r:c1", "a:c1 r:c1 a:_c1 r:_c1", message.Repair{FilledResults: 1}},

		{"the tool tells calls of one id apart", "a:c1@read,c1@exec r:c1@exec u", "a:c1@read,c1@exec r:c1@exec r?:c1@read u", message.Repair{AddedResults: 1}},
		{"but the id decides", "a:c1@read r:c1@exec u", "a:c1@read r:c1@exec u", message.Repair{}},

		{"blank id, other tool", "a:@exec,@read r:@write", "a:@exec,@read r?:@exec r?:@read", message.Repair{DroppedResults: 1, AddedResults: 2}},
		{"blank id, padded tool", "a:@exec,@_read r:@read_", "a:@exec,@_read r:@read r?:@exec", message.Repair{FilledResults: 1, AddedResults: 1}},
		{"blank id, same tool first", "a:@,@read r:@read r:@exec", "a:@,@read r:@read r:@exec", message.Repair{}},
		{"blank id, result without a tool", "a:@exec,@read r:@ u", "a:@exec,@read r:@exec r?:@read u", message.Repair{FilledResults: 1, AddedResults: 1}},
		{"blank id, mixed message keeps its call", "a:@,@u b+:@t", "a:@,@u r?:@u b+:@t", message.Repair{AddedResults: 1}},
		{"blank id, block without a tool", "a:@u,@v b+:@v,@", "a:@u,@v r:@u b+:@v", message.Repair{MovedResults: 1}},
		{"blank ids that differ", "a:_@t,@t r:_@t u", "a:_@t,@t r:_@t r?:@t u", message.Repair{AddedResults: 1}},
		{"blank id as it is spelled before the tool", "a:_@,@u r:_@u r:@u", "a:_@,@u r:_@u r:@u", message.Repair{}},
		{"blank id, other spelling, same tool first", "a:_@,_@u r:@u r:@v", "a:_@,_@u r:_@u r:_@v", message.Repair{FilledResults: 2}},
		{"blank id, other spelling, other tool", "a:_@u,_@v r:@w", "a:_@u,_@v r?:_@u r?:_@v", message.Repair{DroppedResults: 1, AddedResults: 2}},
		{"no id among two calls", "a:c1,@read r:@exec", "a:c1,@read r?:c1 r?:@read", message.Repair{DroppedResults: 1, AddedResults: 2}},
		{"a guess among two calls", "a:c1,c2 r: u", "a:c1,c2 r?:c1 r?:c2 u", message.Repair{DroppedResults: 1, AddedResults: 2}},
		{"one guess only", "a:c1 r: r: u", "a:c1 r:c1 u", message.Repair{DroppedResults: 1, FilledResults: 1}},
		{"no guess beyond the last group", "a:c1 a:c2,c3 r: u", "a:c1 r?:c1 a:c2,c3 r?:c2 r?:c3 u", message.Repair{DroppedResults: 1, AddedResults: 3}},

		{"stand-in before two results", "a:c1,c1 r?:c1 r:c1 r:c1", "a:c1,c1 r:c1 r:c1", message.Repair{DroppedResults: 1}},
		{"stand-in between two results", "a:c1,c1 r:c1 r?:c1 r:c1", "a:c1,c1 r:c1 r:c1", message.Repair{DroppedResults: 1}},
		{"stand-in beside a result", "a:c1,c1 r?:c1 r:c1 u", "a:c1,c1 r?:c1 r:c1 u", message.Repair{}},
		{"stand-in before a block", "a:c1 r?:c1 b+:c1 u", "a:c1 b+:c1 u", message.Repair{DroppedResults: 1}},
		{"stand-in before a padded result", "a:c1 r?:c1 r:_c1", "a:c1 r:c1", message.Repair{DroppedResults: 1, FilledResults: 1}},
		{"stand-in before a guess", "a:c1 r?:c1 r:", "a:c1 r:c1", message.Repair{DroppedResults: 1, FilledResults: 1}},
		{"stand-in behind a guess", "a:c1 r: r?:c1", "a:c1 r:c1", message.Repair{DroppedResults: 1, FilledResults: 1}},
		{"stand-in without an id", "a:@t,@t r?:@t r:@t r:@t", "a:@t,@t r:@t r:@t", message.Repair{DroppedResults: 1}},
		{"stand-in that guesses", "a:c1 r?: u", "a:c1 r?:c1 u", message.Repair{FilledResults: 1}},

		{"padded block", "a:c1 b+:_c1", "a:c1 r:c1 t", message.Repair{MovedResults: 1}},
		{"block with the id elsewhere", "a:c1 b:~c1 u", "a:c1 r:c1 u", message.Repair{MovedResults: 1}},
		{"one block of two without the id", "a:c1,c2 b:c1,~c2 u", "a:c1,c2 b:c1 r:c2 u", message.Repair{MovedResults: 1}},
		{"guessed block", "a:c1 b:", "a:c1 r:c1", message.Repair{MovedResults: 1}},
		{"a provider's block", "a:c1 b:^c1 u", "a:c1 b:^c1 u", message.Repair{}},
		{"a provider's block, padded", "a:c1 b:^_c1 u", "a:c1 r:c1 u", message.Repair{MovedResults: 1}},
		{"a provider's block, repeated", "a:c1 r:c1 b+:^c1", "a:c1 r:c1 t", message.Repair{DroppedBlocks: 1}},
		{"a provider's block for a provider's call", "a:c1 r:c1 b:^c9,^", "a:c1 r:c1 b:^c9,^", message.Repair{}},

		{"result behind its call in one message", "a:c1,=c1,c2 r:c2 u", "a:c1,=c1,c2 r:c2 u", message.Repair{}},
		{"result before its call in one message", "a:=c1,c1 u", "a:c1 r?:c1 u", message.Repair{DroppedBlocks: 1, AddedResults: 1}},
		{"result between two calls", "a:c1,=c2,c2 u", "a:c1,c2 r?:c1 r?:c2 u", message.Repair{DroppedBlocks: 1, AddedResults: 2}},
		{"result between two calls of one id", "a:c1,=c1,=c1,c1 u", "a:c1,=c1,c1 r?:c1 u", message.Repair{DroppedBlocks: 1, AddedResults: 1}},
		{"result between calls of one id and other tools", "a:c1@t,=c1,c1@u r:c1@t", "a:c1@t,=c1,c1@u r:c1@t", message.Repair{}},
		{"result before its call is an earlier call's", "a:c1 a:=c1,c1 r:c1 u", "a:c1 r:c1 a:c1 r:c1 u", message.Repair{MovedResults: 1}},
		{"padded result in one message", "a:c1,=_c1 u", "a:c1 r:c1 u", message.Repair{MovedResults: 1}},
		{"an id is better than one in the message", "a:c1,=_c1 r:c1 u", "a:c1 r:c1 u", message.Repair{DroppedBlocks: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			requireRepair(t, c.in, c.want, c.done, nil)
		})
	}
}

// A message may have more calls than a machine word has bits.
func TestRepairPairs_ManyCalls(t *testing.T) {
	t.Parallel()
	for _, n := range []int{63, 64, 65, 66, 130} {
		var ids, results []string
		for i := range n {
			ids = append(ids, fmt.Sprint("c", i))
			results = append(results, fmt.Sprint("r:c", n-1-i))
		}
		calls := "a:" + strings.Join(ids, ",") + " "
		whole := calls + strings.Join(results, " ")
		requireRepair(t, whole, whole, message.Repair{}, nil)
		requireRepair(t, whole+" r:c0 u", whole+" u", message.Repair{DroppedResults: 1}, nil)
		requireRepair(t, whole+fmt.Sprint(" r:c", n-1), whole, message.Repair{DroppedResults: 1}, nil)

		last := calls + strings.Join(results[1:], " ")
		requireRepair(t, last+" u", last+fmt.Sprint(" r?:c", n-1)+" u", message.Repair{AddedResults: 1}, nil)
		requireRepair(t, last, last, message.Repair{}, &message.RepairOptions{KeepOpenTail: true})
		requireRepair(t, last+" u "+results[0], last+" "+results[0]+" u", message.Repair{MovedResults: 1}, nil)
		for u := range message.Units(list(last)) {
			require.Equal(t, message.Unit{Start: 0, End: n, Open: true}, u)
		}
	}
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

// Of several real results for one call the first counts, whatever stands between.
func TestRepairPairs_FirstResultCounts(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"a:c1 r:c1 r:c1 u", "a:c1 r?:c1 r:c1 r:c1 u", "a:c1 r:c1 r?:c1 u r:c1", "a:c1 r:c1 b+:c1"} {
		in := list(source)
		first := slices.IndexFunc(in, func(m message.Message) bool {
			return m.Role == message.RoleToolResult && !message.IsMissingResult(m)
		})
		out, _ := message.RepairPairs(in, nil)
		require.Equal(t, in[first], out[1], source)
	}
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

// A result that was stored before its call is the call's only if it is younger.
func TestRepairPairs_ResultBeforeItsCall(t *testing.T) {
	t.Parallel()
	ms := list("u r:c1 a:c1 u")
	ms[1].Timestamp = ms[2].Timestamp.Add(time.Second)
	out, done := message.RepairPairs(ms, nil)
	require.Equal(t, "u a:c1 r:c1 u", words(out))
	require.Equal(t, message.Repair{MovedResults: 1}, done)
	require.Equal(t, message.SafeCut(ms, 2), 1, "and belongs to its unit")

	out, _ = message.RepairPairs(list("u r:c1 a:c1 u"), nil)
	require.Equal(t, "u a:c1 r?:c1 u", words(out))
}

func TestRepairPairs_EachEarlyResultIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		in, want string
		at       []int // milliseconds of the messages, 0: unknown
		done     message.Repair
	}{
		{"the first call gets it", "r:c1 a:c1 a:c1", "a:c1 r:c1 a:c1 r?:c1", []int{9, 1, 2}, message.Repair{MovedResults: 1, AddedResults: 1}},
		{"or nobody", "r:c1 a:c1 a:c1", "a:c1 r?:c1 a:c1 r?:c1", []int{5, 7, 2}, message.Repair{DroppedResults: 1, AddedResults: 2}},
		{"the nearest alone", "r:c1 r:c1 a:c1", "a:c1 r?:c1", []int{9, 3, 5}, message.Repair{DroppedResults: 2, AddedResults: 1}},
		{"two calls look at two", "r:c1 r:c1 a:c1,c1", "a:c1,c1 r:c1 r:c1", []int{9, 9, 5}, message.Repair{MovedResults: 2}},
		{"the spelling decides", "r:c1 r:_c1 a:c1,_c1", "a:c1,_c1 r:c1 r:_c1", []int{9, 9, 5}, message.Repair{MovedResults: 2}},
		{"space is ignored", "r:_c1 a:c1", "a:c1 r:c1", []int{9, 5}, message.Repair{MovedResults: 1, FilledResults: 1}},
		{"at the same time", "r:c1 a:c1", "a:c1 r?:c1", []int{5, 5}, message.Repair{DroppedResults: 1, AddedResults: 1}},
		{"call without a time", "r:c1 a:c1", "a:c1 r?:c1", []int{5, 0}, message.Repair{DroppedResults: 1, AddedResults: 1}},
		{"result without a time", "r:c1 a:c1", "a:c1 r?:c1", []int{0, 5}, message.Repair{DroppedResults: 1, AddedResults: 1}},
		{"no id", "r:@t a:@t", "a:@t r?:@t", []int{9, 5}, message.Repair{DroppedResults: 1, AddedResults: 1}},
		{"a block", "b+:c1 a:c1", "t a:c1 r:c1", []int{9, 5}, message.Repair{MovedResults: 1}},
		{"answered already", "r:c1 a:c1 r:c1", "a:c1 r:c1", []int{9, 5, 6}, message.Repair{DroppedResults: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := list(c.in)
			for i, ms := range c.at {
				if in[i].Timestamp = time.UnixMilli(int64(ms)); ms == 0 {
					in[i].Timestamp = time.Time{}
				}
			}
			out := requireRepaired(t, in, nil)
			_, done := message.RepairPairs(in, nil)
			require.Equal(t, c.want, words(out))
			require.Equal(t, c.done, done)
		})
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

func TestSplitResults(t *testing.T) {
	t.Parallel()
	m := decode(t, `{"role":"user","timestamp":7,"content":[
		{"type":"text","text":"before"},
		{"type":"toolResult","toolCallId":"c1","toolName":"read","content":"one","isError":true,"k":1},
		{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"},{"type":"image","data":"AA==","mimeType":"image/png"}]}]}`)
	parts := message.SplitResults(m)
	require.Len(t, parts, 3)
	require.Equal(t, "c1", parts[0].ToolCallID)
	require.Equal(t, "read", parts[0].ToolName)
	require.Equal(t, "one", parts[0].Text())
	require.True(t, parts[0].IsError)
	require.JSONEq(t, `1`, string(parts[0].Extra["k"]))
	require.Equal(t, m.Timestamp, parts[0].Timestamp)
	require.Equal(t, "c2", parts[1].ToolCallID)
	require.Len(t, parts[1].Content, 2)
	require.Equal(t, message.RoleUser, parts[2].Role)
	require.Equal(t, "before", parts[2].Text())

	require.Equal(t, []message.Message{message.User("x")}, message.SplitResults(message.User("x")))

	flags := decode(t, `{"role":"user","content":[
		{"type":"toolResult","toolCallId":" c1","isError":false,"is_error":true},
		{"type":"toolResult","toolCallId":"c2","isError":true,"is_error":false},
		{"type":"toolResult","toolCallId":"c3","isError":false}]}`)
	for i, part := range message.SplitResults(flags) {
		require.Equal(t, i < 2, part.IsError, i)
		require.Nil(t, part.Extra, "the flag is in its field")
	}
	require.Equal(t, " c1", message.SplitResults(flags)[0].ToolCallID, "as its call may spell it")

	result := message.ToolResult("c1", "read", message.Block{Type: message.BlockToolResult, ID: "c2"}, message.Text("x"))
	require.Equal(t, []message.Message{result}, message.SplitResults(result), "is one already")
}
