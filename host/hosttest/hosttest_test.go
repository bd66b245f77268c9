package hosttest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
)

func TestCheckRequest(t *testing.T) {
	t.Parallel()
	call := message.Assistant(message.ToolCall("c1", "read", json.RawMessage(`{}`)))
	result := message.ToolResult("c1", "read", message.Text("data"))
	hi := message.User("hi")
	for name, tc := range map[string]struct {
		messages []message.Message
		says     string
	}{
		"right":         {[]message.Message{hi, call, result}, ""},
		"none":          {nil, "no messages"},
		"empty":         {[]message.Message{message.User(" ")}, "is empty"},
		"assistant":     {[]message.Message{message.Assistant(message.Text("x")), hi}, "first message"},
		"last":          {[]message.Message{hi, message.Assistant(message.Text("x"))}, "last message"},
		"open call":     {[]message.Message{hi, call}, "no results"},
		"orphan":        {[]message.Message{hi, result}, "result of no call"},
		"second result": {[]message.Message{hi, call, result, result}, "result of no call"},
		"between":       {[]message.Message{hi, call, hi, result}, "stands between"},
		"role":          {[]message.Message{hi, message.Custom("x", message.Text("x")), hi}, "of role"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := hosttest.CheckRequest(host.Request{Messages: tc.messages})
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestStrictCountsAndRefuses(t *testing.T) {
	t.Parallel()
	m := &hosttest.Strict{Model: hosttest.Always(hosttest.Reply("yes")), Window: 10, Estimator: hosttest.ByteCount{}}
	reply, err := m.Complete(t.Context(), host.Request{Messages: []message.Message{message.User("hello")}})
	require.NoError(t, err)
	require.Equal(t, 5, reply.Usage.Input)
	require.Equal(t, 8, reply.Usage.Total)
	_, err = m.Complete(t.Context(), host.Request{Messages: []message.Message{message.User("hello, world")}})
	require.ErrorContains(t, err, "12 tokens > 10")
	require.Equal(t, 1, m.Refused())
	require.NoError(t, m.Mistakes())
	_, err = m.Complete(t.Context(), host.Request{})
	require.Error(t, err)
	require.Error(t, m.Mistakes())
}

func TestParseScript(t *testing.T) {
	t.Parallel()
	s, err := hosttest.ParseScript([]byte("A rule.\n-- host --\nselect a\n-- do --\nrun s hi\n-- trace --\n> run\n"))
	require.NoError(t, err)
	require.Equal(t, hosttest.Script{Rule: "A rule.", Host: "select a\n", Do: "run s hi\n", Trace: "> run\n"}, s)
	_, err = hosttest.ParseScript([]byte("A rule.\n-- other --\n"))
	require.ErrorContains(t, err, "other")
	_, err = hosttest.ParseScript(nil)
	require.Error(t, err)
}

func TestStreamModel(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	m := hosttest.StreamModel{Model: hosttest.NewModel(hosttest.Broken(lost, message.Text("half")), hosttest.Reply("whole"))}
	var blocks []message.Block
	var failed error
	for b, err := range m.Stream(t.Context(), host.Request{}) {
		if err != nil {
			failed = err
			break
		}
		blocks = append(blocks, b)
	}
	require.ErrorIs(t, failed, lost)
	require.Equal(t, []message.Block{message.Text("half")}, blocks)
	var last message.Block
	for b, err := range m.Stream(t.Context(), host.Request{}) {
		require.NoError(t, err)
		last = b
	}
	require.Equal(t, host.BlockFinish, last.Type)
}

// A fault under a name that no hook has would never come.
func TestEngineFailNamesAHook(t *testing.T) {
	t.Parallel()
	e := &hosttest.Engine{About: ce.Info{ID: "e", Name: "e"}} // without a tape
	e.Fail("ingest", hosttest.Failing)
	_, err := e.Ingest(t.Context(), ce.IngestParams{})
	require.ErrorIs(t, err, hosttest.ErrFault)
	_, err = e.Ingest(t.Context(), ce.IngestParams{})
	require.NoError(t, err)
	require.PanicsWithValue(t, `hosttest: an engine has no hook "onSessionEnded"`, func() { e.Fail("onSessionEnded", hosttest.Failing) })
}
