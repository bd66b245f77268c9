package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// Whatever list an engine makes of whatever history, the request is one that a provider
// takes.
func TestRequestsAreAlwaysValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		store := transcript.NewMemory()
		log, err := store.Create(ctx, transcript.Header{ID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(1, 10).Draw(t, "rows") {
			if _, err := log.Append(ctx, transcript.MessageEntry(anyMessage(t, fmt.Sprint("row", i)))); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		p := newProbe("alpha", ce.HookAfterTurn, &tape{})
		p.About.OwnsCompaction = rapid.Bool().Draw(t, "owns")
		p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
			out := []message.Message{}
			for i := range q.Messages {
				switch rapid.IntRange(0, 4).Draw(t, "fate") {
				case 0: // left out
				case 1:
					out = append(out, anyMessage(t, "foreign"))
				case 2:
					out = append(out, q.Messages[i], q.Messages[len(q.Messages)-1-i])
				default:
					out = append(out, q.Messages[i])
				}
			}
			return ce.AssembleResult{Messages: out}
		}
		reg := &ce.Registry{}
		if err := reg.Register("alpha", "o", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return p, nil }); err != nil {
			t.Fatal(err)
		}
		h, err := host.New(store, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "alpha"}, DropOldest: true, RescueCompaction: true,
			Models: func(context.Context, string) (host.ModelInfo, error) {
				return host.ModelInfo{Provider: rapid.SampledFrom([]string{"anthropic", "google", "openai", "mistral"}).Draw(t, "provider")}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = h.Close(ctx) }()
		turn, err := h.Begin(ctx, ref("s"), message.User("the question"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if err := hosttest.CheckRequest(turn.Request()); err != nil {
				t.Fatalf("request %d: %v\n%s", i, err, saidAll(turn.Request().Messages))
			}
			if rapid.Bool().Draw(t, "recover") {
				if _, err := turn.Recover(ctx, fmt.Errorf("prompt is too long")); err != nil {
					break
				}
				continue
			}
			id := fmt.Sprint("own", i)
			err := turn.Append(ctx, message.Assistant(message.ToolCall(id, "read", nil)), message.ToolResult(id, "read", message.Text("data")))
			if err != nil {
				break
			}
		}
		if _, err := turn.End(ctx, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// anyMessage is a message as logs and engines hold them.
func anyMessage(t *rapid.T, label string) message.Message {
	id := rapid.SampledFrom([]string{"c1", "c2", "own0"}).Draw(t, label+" id")
	switch rapid.IntRange(0, 9).Draw(t, label) {
	case 0:
		return message.Assistant(message.ToolCall(id, "read", nil))
	case 1:
		return message.Assistant(message.Text("both"), message.ToolCall("c1", "read", nil), message.ToolCall("c2", "read", nil))
	case 2, 3:
		return message.ToolResult(id, "read", message.Text("data"))
	case 4:
		return message.ToolResult(id, "read")
	case 5:
		return message.User("  ")
	case 6:
		return message.Custom("note", message.Text("n"))
	case 7:
		m := message.Assistant()
		m.StopReason, m.ErrorMessage = message.StopError, "500"
		return m
	case 8:
		return message.Assistant(message.Text("yes"))
	}
	return message.User("hello")
}

// The host's context stays in front of the input when the user says more.
func TestContextStaysInFrontOfTheInput(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	tn, err := h.Begin(t.Context(), ref("s"), message.User("one"), &host.TurnOptions{Context: []message.Message{message.User("noon")}})
	require.NoError(t, err)
	require.NoError(t, tn.Append(t.Context(), message.Assistant(call("c1", "read"))))
	require.NoError(t, tn.Append(t.Context(), message.ToolResult("c1", "read", message.Text("d")), message.User("more")))
	require.Equal(t, "[u:noon | u:one | a:@c1 | r:c1=d | u:more]", saidAll(tn.Request().Messages))
	_, err = tn.End(t.Context(), nil)
	require.NoError(t, err)
}

// What is sent for an unchanged history begins with the same bytes turn after turn.
func TestRequestsKeepTheirPrefix(t *testing.T) {
	t.Parallel()
	h, m, _ := setUp(t, 0, func(_ *probe, o *host.Options) {
		o.Tools = []ce.Tool{readTool("data")}
	}, hosttest.Calls(call("c1", "read")), hosttest.Reply("a"), hosttest.Reply("b"))
	for _, text := range []string{"one", "two"} {
		_, err := h.Run(t.Context(), ref("s"), message.User(text), nil)
		require.NoError(t, err)
	}
	var before string
	for _, r := range m.Requests() {
		raw, err := json.Marshal(r.Messages)
		require.NoError(t, err)
		now := strings.TrimSuffix(string(raw), "]")
		require.True(t, strings.HasPrefix(now, before), "%s\n%s", before, now)
		before = now
	}
}
