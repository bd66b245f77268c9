package turn

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

// Whatever field of a message changes, it is not the host's any more.
func TestUntouchedLooksAtEveryField(t *testing.T) {
	t.Parallel()
	values := map[string]any{
		"Key": "k", "Role": message.RoleUser, "Content": []message.Block{message.Text("x")}, "Timestamp": time.Unix(1, 0),
		"ToolCallID": "c", "ToolName": "t", "IsError": true, "API": "a", "Provider": "p", "Model": "m", "StopReason": "s",
		"ErrorMessage": "e", "Usage": &message.Usage{}, "Summary": "s", "TokensBefore": 1,
		"Extra": map[string]json.RawMessage{"a": nil},
	}
	require.True(t, untouched(message.Message{}, message.Message{}))
	typ := reflect.TypeFor[message.Message]()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		require.Contains(t, values, name)
		var m message.Message
		reflect.ValueOf(&m).Elem().Field(i).Set(reflect.ValueOf(values[name]))
		require.True(t, untouched(m, m), name)
		require.False(t, untouched(m, message.Message{}), name)
	}
	a, b := message.User("x"), message.User("x")
	require.False(t, untouched(a, b), "another copy of the content")
}

// An engine's list is the host's memory where it is the host's list, or a part of it.
func TestBack(t *testing.T) {
	t.Parallel()
	own := []message.Message{{Key: "1", Role: message.RoleUser}, {Key: "2"}, {Key: "3"}}
	l := lentList{own: own, lent: append([]message.Message(nil), own...)}
	require.Same(t, &own[0], &l.back(l.lent, false)[0])
	require.Same(t, &own[1], &l.back(l.lent[1:], false)[0])
	require.Len(t, l.back(l.lent[1:2], false), 1)
	require.Equal(t, 1, cap(l.back(l.lent[1:2], false)))
	require.Empty(t, l.back(nil, false))
	other := []message.Message{{Key: "1"}}
	require.Same(t, &other[0], &l.back(other, false)[0])
	l.lent[1].Summary = "written"
	require.Same(t, &l.lent[0], &l.back(l.lent, false)[0])
	require.Same(t, &own[2], &l.back(l.lent[2:], false)[0])
	require.Same(t, &own[0], &l.back(l.lent, true)[0], "the stand-in did not write it")
}

// The host's own messages in front of everything follow no message: a summary, which has no
// key either, does not bring them back.
func TestRevealLeavesOutWhatFollowsNothing(t *testing.T) {
	t.Parallel()
	note := message.RuntimeContext(message.Text("note"))
	first := message.User("first")
	first.Key = "1"
	summary := message.Message{Role: message.RoleCompactionSummary, Summary: "S"}
	got := reveal([]message.Message{summary, first}, []message.Message{note, first, note})
	require.Equal(t, []message.Message{summary, first, note}, got)
}
