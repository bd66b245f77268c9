package message_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
)

// requirePaired checks what a provider checks, with code of its own.
func requirePaired(t require.TestingT, ms []message.Message) {
	open := map[string]int{} // unanswered calls of the group
	inRun := false
	answer := func(id string) {
		require.Positive(t, open[id], "result %q without a call in %s", id, words(ms))
		open[id]--
	}
	requireClosed := func() {
		for id, n := range open {
			require.Zero(t, n, "call %q without a result in %s", id, words(ms))
		}
	}
	for _, m := range ms {
		if m.Role == message.RoleToolResult {
			require.True(t, inRun, "result apart in %s", words(ms))
			answer(m.ToolCallID)
			continue
		}
		var own []string
		more := false
		for _, b := range m.Content {
			if b.Type == message.BlockToolResult {
				own = append(own, b.ID)
			} else {
				more = true
			}
		}
		if len(own) > 0 {
			require.True(t, inRun && m.Role != message.RoleAssistant, "blocks apart in %s", words(ms))
			for _, id := range own {
				answer(id)
			}
			inRun = !more
			continue
		}
		requireClosed()
		clear(open)
		inRun = false
		if m.Role == message.RoleAssistant {
			for c := range m.ToolCalls() {
				open[c.ID]++
				inRun = true
			}
		}
	}
	requireClosed()
}

// untouched lists what is no result, which a repair keeps in order.
func untouched(ms []message.Message) string {
	var out []string
	for _, w := range strings.Fields(words(ms)) {
		kind, _, _ := strings.Cut(w, ":")
		switch kind {
		case "r", "r?", "b", "B":
		case "b+":
			out = append(out, "t")
		case "B+":
			out = append(out, "T")
		default:
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

func drawList(t *rapid.T) []message.Message {
	id := rapid.SampledFrom([]string{"c1", "c1", "c2", "c2", "c3", "c4", ""})
	kind := rapid.SampledFrom([]string{"u", "a", "s", "x", "a:", "a:", "a:", "a!:", "r:", "r:", "r:", "r?:", "b:", "b+:", "B:", "B+:"})
	words := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		k := kind.Draw(t, "kind")
		switch {
		case !strings.HasSuffix(k, ":"):
			return k
		case strings.HasPrefix(k, "r"):
			return k + id.Draw(t, "id")
		default:
			return k + strings.Join(rapid.SliceOfN(id, 1, 3).Draw(t, "ids"), ",")
		}
	}), 0, 30).Draw(t, "words")
	ms := list(strings.Join(words, " "))
	for i := range ms { // some late clocks, some unknown times
		shift := rapid.IntRange(-1, 3).Draw(t, "shift")
		ms[i].Timestamp = ms[i].Timestamp.Add(time.Duration(shift) * 10 * time.Millisecond)
		if shift == 3 {
			ms[i].Timestamp = time.Time{}
		}
	}
	return ms
}

func TestRepairPairs_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := drawList(t)
		before := message.Clone(ms)
		out, done := message.RepairPairs(ms, nil)
		require.Equal(t, before, ms, "input untouched")
		requirePaired(t, out)
		require.Equal(t, untouched(ms), untouched(out), "everything else in order")
		again, twice := message.RepairPairs(out, nil)
		require.Zero(t, twice, words(out))
		if len(out) > 0 {
			require.Same(t, &out[0], &again[0])
		}
		if done == (message.Repair{}) && len(ms) > 0 {
			require.Same(t, &ms[0], &out[0])
		}

		open := &message.RepairOptions{KeepOpenTail: true}
		tail, _ := message.RepairPairs(ms, open)
		_, twice = message.RepairPairs(tail, open)
		require.Zero(t, twice)
		for _, policy := range []message.FailedTurnPolicy{message.FailedTurnsKeep, message.FailedTurnsDrop} {
			opts := &message.RepairOptions{FailedTurns: policy}
			once, _ := message.RepairPairs(ms, opts)
			_, twice = message.RepairPairs(once, opts)
			require.Zero(t, twice, "%s: %s", policy, words(once))
		}
	})
}

// drawSession makes a well-formed session whose ids recur from turn to turn.
func drawSession(t *rapid.T) []message.Message {
	turn := rapid.SampledFrom([]string{"u a", "u a:c1 r:c1 a", "u a:c1,c2 r:c2 r:c1 a:c1 r:c1 a", "u a:c1,c2 b+:c1,c2 a", "x", "u a:c3 r:c3 u a"})
	return list(strings.Join(rapid.SliceOfN(turn, 1, 12).Draw(t, "turns"), " "))
}

// TestC1_AnyBoundary cuts sessions twice, at any row, as compactions of other programs do,
// and at a safe one.
func TestC1_AnyBoundary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := drawSession(t)
		first := rapid.IntRange(0, len(ms)).Draw(t, "first boundary")
		second := rapid.IntRange(0, len(ms)-first).Draw(t, "second boundary")
		kept := append(list("s s"), ms[first:][second:]...)
		out, done := message.RepairPairs(kept, nil)
		requirePaired(t, out)
		require.Equal(t, untouched(kept), untouched(out))
		require.Zero(t, done.AddedResults+done.MovedResults, "the end of a well-formed list only has orphans")

		cut := message.SafeCut(ms, first+second)
		safe, done := message.RepairPairs(ms[cut:], nil)
		require.Zero(t, done)
		require.Len(t, safe, len(ms)-cut)
	})
}

func TestUnits_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := drawList(t)
		whole, _ := message.RepairPairs(ms, nil)
		starts := map[int]bool{len(ms): true}
		next := 0
		var parts []message.Message
		for u := range message.Units(ms) {
			require.Equal(t, next, u.Start)
			require.Greater(t, u.End, u.Start)
			next = u.End
			starts[u.Start] = true
			part, _ := message.RepairPairs(ms[u.Start:u.End], nil)
			parts = append(parts, part...)
		}
		require.Equal(t, len(ms), next, "units cover the list")
		require.Equal(t, words(whole), words(parts), "each unit can be repaired alone")

		i := rapid.IntRange(-1, len(ms)+1).Draw(t, "cut")
		down, up := message.SafeCut(ms, i), message.SafeCutAfter(ms, i)
		require.True(t, starts[down] && starts[up], "%d %d", down, up)
		require.True(t, down <= max(i, 0) && up >= min(i, len(ms)))
		tail := message.Tail(ms, i)
		require.GreaterOrEqual(t, len(tail), min(max(i, 0), len(ms)))
		require.True(t, starts[len(ms)-len(tail)])
	})
}

func FuzzRepairPairs(f *testing.F) {
	alphabet := []string{"u", "a", "s", "x", "a:c1", "a:c2", "a:c1,c2", "a:c1,c1", "a!:c1", "r:c1", "r:c2", "r?:c1", "b:c1", "b+:c1,c2", "B:c1", "B+:c2"}
	f.Add([]byte("\x00\x04\x09"))
	f.Add([]byte("\x06\x0d\x0a\x0e"))
	f.Fuzz(func(t *testing.T, program []byte) {
		var chosen []string
		for _, b := range program {
			chosen = append(chosen, alphabet[int(b)%len(alphabet)])
		}
		ms := list(strings.Join(chosen, " "))
		out, _ := message.RepairPairs(ms, nil)
		requirePaired(t, out)
		require.Equal(t, untouched(ms), untouched(out))
		_, twice := message.RepairPairs(out, nil)
		require.Zero(t, twice)
	})
}
