package message_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

func TestBash(t *testing.T) {
	t.Parallel()
	b := message.Bash{
		Command: "ls <x>", Output: "<a>&\n", ExitCode: ptr(2), Cancelled: true, Truncated: true,
		FullOutputPath: "/tmp/o", Exclude: true,
	}
	require.Equal(t, b, message.BashExecution(b).Bash())
	require.Equal(t, b, decode(t, encode(t, message.BashExecution(b))).Bash())
	require.Zero(t, message.User("x").Bash())
	odd := decode(t, `{"role":"bashExecution","command":5,"output":null,"exitCode":"1","cancelled":1}`)
	require.Zero(t, odd.Bash(), "wrong kinds read as zero")
}

func TestCustom(t *testing.T) {
	t.Parallel()
	m := decode(t, `{"role":"custom","customType":"openclaw.runtime-context","content":"c","display":false,"details":{"k":1}}`)
	require.True(t, message.IsRuntimeContext(m))
	require.False(t, m.Display())
	require.JSONEq(t, `{"k":1}`, string(m.Details()))
	require.False(t, message.IsRuntimeContext(message.Custom("x")))
	user := m
	user.Role = message.RoleUser
	require.False(t, message.IsRuntimeContext(user))

	shown := m.WithExtra("display", json.RawMessage("true"))
	require.True(t, shown.Display())
	require.False(t, m.Display(), "the original is not written to")
	require.Nil(t, message.User("x").WithExtra("a", nil).Extra)
	require.True(t, message.Message{}.Display())
}

func ptr[T any](v T) *T { return &v }
