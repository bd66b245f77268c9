package message_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

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
