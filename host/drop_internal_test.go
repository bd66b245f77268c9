package host

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// Dropping keeps calls with their results, the last message of the user and what follows
// it, and the order; it goes on until the rest fits or nothing else is left.
func TestDropOldestKeepsUnits(t *testing.T) {
	t.Parallel()
	meter := tokens.NewMeter(tokens.ScriptAware(), nil)
	rapid.Check(t, func(t *rapid.T) {
		var list []message.Message
		for i := range rapid.IntRange(1, 12).Draw(t, "turns") {
			id := fmt.Sprint("c", i)
			list = append(list, message.User(fmt.Sprint("ask ", i)))
			if rapid.Bool().Draw(t, "tools") {
				list = append(list, message.Assistant(message.ToolCall(id, "read", nil)), message.ToolResult(id, "read", message.Text("data")))
			}
			if rapid.Bool().Draw(t, "answered") {
				list = append(list, message.Assistant(message.Text("answer")))
			}
		}
		head := rapid.IntRange(0, 1).Draw(t, "summaries")
		if head == 1 {
			list = slices.Insert(list, 0, message.User("summary"))
		}
		limit := rapid.IntRange(1, meter.Messages(list)+5).Draw(t, "limit")
		kept, gone := dropOldest(list, head, limit, meter)
		if _, repair := message.RepairPairs(kept, nil); repair != (message.Repair{}) {
			t.Fatalf("%+v", repair)
		}
		last := lastOfUser(list)
		require.GreaterOrEqual(t, len(kept), len(list)-last)
		require.Equal(t, len(list)-len(kept), gone)
		require.Equal(t, saidBy(list[last:]), saidBy(kept[len(kept)-(len(list)-last):]))
		require.Equal(t, message.RoleUser, kept[0].Role)
		if meter.Messages(kept) > limit {
			require.Len(t, kept, len(list)-last, "nothing else is left")
		}
		if meter.Messages(list) <= limit {
			require.Zero(t, gone)
		}
	})
}
