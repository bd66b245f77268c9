package message_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

func ptr[T any](v T) *T { return &v }

func TestForModel(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(7).UTC()
	for name, c := range map[string]struct {
		in   message.Message
		want string // text of the user message; "": dropped
	}{
		"custom":  {message.Custom("x.y", message.Text("note")), "note"},
		"runtime": {message.RuntimeContext(message.Text("host says")), "host says"},
		"custom without content": {
			message.Custom("x.y"), "",
		},
		"compaction": {
			message.CompactionSummary("we met", 5, at),
			"The earlier part of this conversation is no longer shown. This summary stands for it:\n\n<summary>\nwe met\n</summary>",
		},
		"blank compaction": {message.CompactionSummary(" \n", 5, at), ""},
		"branch": {
			message.BranchSummary("we tried", "e1", at),
			"Before this point another line of this conversation was followed and left. This summary stands for it:\n\n<summary>\nwe tried\n</summary>",
		},
		"bash": {
			message.BashExecution(message.Bash{Command: "ls", Output: "a\nb\n"}),
			"The user ran a shell command:\n```\nls\n```\nIt printed:\n```\na\nb\n```\n",
		},
		"bash failed": {
			message.BashExecution(message.Bash{Command: "false", ExitCode: ptr(1)}),
			"The user ran a shell command:\n```\nfalse\n```\nIt printed nothing.\nIt exited with code 1.",
		},
		"bash cut and stopped": {
			message.BashExecution(message.Bash{Command: "x", Output: "````", Cancelled: true, ExitCode: ptr(9), Truncated: true, FullOutputPath: "/tmp/o"}),
			"The user ran a shell command:\n```\nx\n```\nIt printed:\n`````\n````\n`````\n\nThe user stopped it.\nThe output above is cut; all of it is in /tmp/o.",
		},
		"bash fence as long as it must be": {
			message.BashExecution(message.Bash{Command: "echo ``", Output: "`````a``b```"}),
			"The user ran a shell command:\n```\necho ``\n```\nIt printed:\n``````\n`````a``b```\n``````\n",
		},
		"bash fence of the command": {
			message.BashExecution(message.Bash{Command: "a ``` b ` c"}),
			"The user ran a shell command:\n````\na ``` b ` c\n````\nIt printed nothing.",
		},
		"bash excluded": {message.BashExecution(message.Bash{Command: "ls", Exclude: true}), ""},
		"unknown role":  {message.Message{Role: "oracle", Content: []message.Block{message.Text("x")}}, ""},
		"no role":       {message.Message{Content: []message.Block{message.Text("x")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.in.Key, c.in.Timestamp = "k", at
			in := []message.Message{message.User("before"), c.in, message.User("after")}
			out := message.ForModel(in)
			require.Equal(t, in[0], out[0])
			require.Equal(t, in[2], out[len(out)-1])
			if c.want == "" {
				require.Len(t, out, 2)
				return
			}
			require.Len(t, out, 3)
			require.Equal(t, message.Message{
				Key: "k", Role: message.RoleUser, Timestamp: at, Content: []message.Block{message.Text(c.want)},
			}, out[1])
			requireSame(t, out, message.ForModel(out))
		})
	}
}

func TestForModel_NothingToDo(t *testing.T) {
	t.Parallel()
	in := list("u a:c1 r:c1 a")
	requireSame(t, in, message.ForModel(in))
	require.Nil(t, message.ForModel(nil))
}

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

func TestText(t *testing.T) {
	t.Parallel()
	require.Empty(t, message.Assistant().Text())
	require.Equal(t, "a", message.Assistant(message.Thinking("hm", ""), message.Text("a")).Text())
	require.Equal(t, "\na\nb", message.Assistant(message.Text(""), message.Text("a"), message.Image("", ""), message.Text("b")).Text())
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	m := message.Assistant(message.Text("x"), message.ToolCall("a", "f", nil), message.ToolCall("b", "g", json.RawMessage(`{"x":1}`)))
	var ids []string
	for c := range m.ToolCalls() {
		ids = append(ids, c.ID+string(c.Arguments))
	}
	require.Equal(t, []string{"a{}", `b{"x":1}`}, ids)
	for range m.ToolCalls() {
		break
	}
	broken := message.ToolCall("a", "f", json.RawMessage(`{"x":`))
	require.Equal(t, `"{\"x\":"`, string(broken.Arguments))
}

func TestIsConversation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m    message.Message
		want bool
	}{
		"user":                 {message.User("hi"), true},
		"blank user":           {message.User(" \n\t"), false},
		"empty user":           {message.Message{Role: message.RoleUser}, false},
		"image":                {message.Message{Role: message.RoleUser, Content: []message.Block{message.Image("AA==", "image/png")}}, true},
		"unknown block":        {message.Assistant(message.Block{Type: "hologram"}), true},
		"assistant":            {message.Assistant(message.Text("yes")), true},
		"call only":            {message.Assistant(message.ToolCall("c", "f", nil)), false},
		"thinking only":        {message.Assistant(message.Thinking("hm", ""), message.Block{Type: "reasoning"}), false},
		"silent":               {message.Assistant(message.Text(" NO_REPLY\n")), false},
		"heartbeat":            {message.Assistant(message.Text("HEARTBEAT_OK")), false},
		"dressed heartbeat":    {message.Assistant(message.Text("<b>**HEARTBEAT_OK.**</b>")), false},
		"heartbeat with words": {message.Assistant(message.Text("HEARTBEAT_OK, but the disk is full")), true},
		"custom":               {message.Custom("x", message.Text("note")), true},
		"hidden custom":        {message.RuntimeContext(message.Text("note")), false},
		"bash":                 {message.BashExecution(message.Bash{Command: "ls"}), true},
		"bash excluded":        {message.BashExecution(message.Bash{Command: "ls", Exclude: true}), false},
		"blank bash":           {message.BashExecution(message.Bash{Command: " "}), false},
		"branch summary":       {message.BranchSummary("s", "", time.Time{}), true},
		"blank branch summary": {message.BranchSummary("", "", time.Time{}), false},
		"compaction summary":   {message.CompactionSummary("s", 1, time.Time{}), false},
		"result alone":         {message.ToolResult("c", "f", message.Text("x")), false},
		"unknown role":         {message.Message{Role: "oracle", Content: []message.Block{message.Text("x")}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, message.IsConversation([]message.Message{c.m}, 0))
		})
	}
	require.False(t, message.IsConversation(nil, 0))
	require.False(t, message.IsConversation(list("u"), -1))
}

// A tool result counts while what caused it is among the 20 messages before it.
func TestIsConversation_ToolResultAnchor(t *testing.T) {
	t.Parallel()
	ms := list("u " + strings.Repeat("r:c ", 21))
	for i := range ms {
		require.Equal(t, i <= 20, message.IsConversation(ms, i), i)
	}
	require.False(t, message.IsConversation(list("a r:c"), 1), "an assistant's text is no anchor")
	require.True(t, message.IsConversation(list("x r:c"), 1))
	require.False(t, message.IsConversation(list("s r:c"), 1))
}
