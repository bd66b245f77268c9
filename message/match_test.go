package message_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

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
		{"the id as it is spelled before the tool", "a:_c1@exec,c1@read r:c1@exec u", "a:_c1@exec,c1@read r:c1@exec r?:_c1@exec u", message.Repair{AddedResults: 1}},
		{"without space, other tool", "a:c1@read r:_c1@exec", "a:c1@read r:c1@exec", message.Repair{FilledResults: 1}},
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
		{"blank id with space, other tool", "a:_@t r:_@u", "a:_@t r?:_@t", message.Repair{DroppedResults: 1, AddedResults: 1}},
		{"blank id as it is spelled, result without a tool", "a:_@u,@v r:@ u", "a:_@u,@v r:@v r?:_@u u", message.Repair{FilledResults: 1, AddedResults: 1}},
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
		{"not one in the message itself", "r:c1 a:=c1,c1", "a:c1 r:c1", []int{9, 5}, message.Repair{MovedResults: 1, DroppedBlocks: 1}},
		{"the second call", "r:c2 a:c1,c2 r:c1", "a:c1,c2 r:c1 r:c2", []int{9, 5, 6}, message.Repair{MovedResults: 1}},
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
