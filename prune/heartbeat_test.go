package prune_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

func TestHygieneDropsQuietHeartbeats(t *testing.T) {
	t.Parallel()
	ask := message.User("Look around. If all is well, say HEARTBEAT_OK.")
	quiet := []message.Message{ask, calling("c1"), answering("c1", "r"), message.Assistant(message.Text("**HEARTBEAT_OK**"))}
	loud := []message.Message{ask, message.Assistant(message.Text("The disk is full.")), message.Assistant(message.Text("HEARTBEAT_OK"))}
	out := hygiene(prune.PolicyCommon, prune.Input{}, append(append(quiet, loud...), quiet...)...)
	require.Equal(t, "uaauata", roles(out), "the last turn is not over")
}

func TestOnlyHeartbeatAsksGo(t *testing.T) {
	t.Parallel()
	ok := stopped(message.StopEnd, message.Text(message.HeartbeatReply))
	marked := message.User("Look around.").WithExtra("provenance", json.RawMessage(`{"kind":"heartbeat"}`))
	joined := message.Message{Role: message.RoleUser, Content: []message.Block{message.Text("Deploy v2."), message.Text("Or say HEARTBEAT_OK.")}}
	for _, tt := range []struct {
		name string
		ask  message.Message
		goes bool
	}{
		{"a person's", message.User("Deploy v2 to /srv/prod now."), false},
		{"a prompt", message.User("If all is well, say HEARTBEAT_OK."), true},
		{"a marked one", marked, true},
		{"one by a custom message", message.Custom("heartbeat", message.Text("Look around.")), true},
		{"another custom message", message.Custom("note", message.Text("Look around.")), false},
		{"a person's and a prompt", joined, false},
		{"a summary", message.CompactionSummary("we said HEARTBEAT_OK", 9, time.Time{}), false},
		{"a converted summary", message.ForModel([]message.Message{message.CompactionSummary("we said HEARTBEAT_OK", 9, time.Time{})})[0], false},
	} {
		out := hygiene(prune.PolicyCommon, prune.Input{}, tt.ask, ok, message.User("well?"))
		require.Equal(t, tt.goes, len(out) == 1, tt.name)
	}
}
