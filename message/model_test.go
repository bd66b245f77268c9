package message_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

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
