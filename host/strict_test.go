package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// dense counts three tokens where the host counts two, as a provider with another
// tokenizer would.
type dense struct{ tokens.Estimator }

func (d dense) Text(s string) int             { return d.Estimator.Text(s) * 3 / 2 }
func (d dense) Message(m message.Message) int { return d.Estimator.Message(m) * 3 / 2 }

var (
	errOverloaded = errors.New("529 overloaded")
	errStopped    = errors.New("user pressed stop")
)

// A moody model goes wrong on a schedule, else it calls tools now and then.
type moody struct {
	calls atomic.Int64
}

func (m *moody) Complete(ctx context.Context, r host.Request) (message.Message, error) {
	n := m.calls.Add(1)
	if r.Purpose != "" {
		return m.summary(n)
	}
	switch {
	case n%37 == 0:
		return message.Message{}, errOverloaded
	case n%53 == 0:
		<-ctx.Done()
		return message.Assistant(message.Text("half"), message.ToolCall(fmt.Sprint("h", n), "read", nil)), context.Cause(ctx)
	case n%61 == 0: // an empty error
		reply := message.Assistant()
		reply.StopReason, reply.ErrorMessage = message.StopError, "500 internal error"
		return reply, nil
	case n%71 == 0:
		return message.Message{}, slow{}
	case n%83 == 0: // cut in silence, as it says
		reply := message.Assistant(message.Text("in silence"))
		reply.StopReason, reply.Usage = message.StopEnd, &message.Usage{Input: 40_000, Total: 40_001, Output: 1}
		return reply, nil
	}
	if last := r.Messages[len(r.Messages)-1]; last.Role == message.RoleUser && n%3 == 0 {
		return message.Assistant(
			message.Text("I look at it."),
			message.ToolCall(fmt.Sprint("a", n), "read", json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))),
			message.ToolCall(fmt.Sprint("b", n), "broken", nil),
			message.ToolCall(fmt.Sprint("c", n), "unknown", nil),
		), nil
	}
	return message.Assistant(message.Text(fmt.Sprintf("Answer %d. %s", n, strings.Repeat("It is as you say. ", int(n%40))))), nil
}

// summary is the answer to the built-in compaction.
func (m *moody) summary(n int64) (message.Message, error) {
	switch n % 11 {
	case 0:
		return message.Message{}, errOverloaded
	case 1:
		return message.Assistant(), nil
	case 2:
		return message.Assistant(message.Text(strings.Repeat("far too long ", 20_000))), nil
	}
	return message.Assistant(message.Text("## Goal\nThe user goes on.\n\n## Progress\nMuch was said.\n\n## Next\nAnswer.")), nil
}

type slow struct{}

func (slow) Error() string { return "provider timeout" }
func (slow) Timeout() bool { return true }

// A shaky engine fails on a schedule, and keeps a window where it owns compaction.
type shaky struct {
	*probe
	turns atomic.Int64
}

func newShaky(id string, owns bool) *shaky {
	s := &shaky{probe: newProbe(id, everyHook, &tape{})}
	s.About.OwnsCompaction = owns
	if owns {
		s.About.TurnMaintenance = ce.MaintenanceBackground
	}
	var window atomic.Int64
	window.Store(400)
	s.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
		if !owns {
			return ce.AssembleResult{Messages: q.Messages}
		}
		from := max(0, len(q.Messages)-int(window.Load())) // in the middle of pairs, too
		return ce.AssembleResult{Messages: append([]message.Message{}, q.Messages[from:]...)}
	}
	s.OnCompact = func(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
		switch s.turns.Load() % 3 {
		case 0:
			return ce.DelegateCompaction(ctx, q)
		case 1:
			return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
		}
		window.Store(max(4, window.Load()/2))
		after := q.CurrentTokens / 2
		return ce.CompactResult{OK: true, Compacted: true, Result: &ce.CompactDetails{TokensAfter: &after}}, nil
	}
	return s
}

// schedule makes the hooks of a turn go wrong.
func (s *shaky) schedule(n int) {
	s.turns.Store(int64(n))
	s.Tape.Take() // nobody reads it
	hooks := []string{"assemble", "afterTurn", "maintain", "tools", "compact", "bootstrap"}
	faults := []hosttest.Fault{hosttest.Failing, hosttest.Panicking, hosttest.Hanging}
	if n%9 == 0 {
		s.Fail(hooks[n/9%len(hooks)], faults[n/9%len(faults)])
	}
}

// A provider that refuses every invalid request, and every one above its window, is
// driven for 500 turns while engines, tools, model and user fail on a schedule. Every
// turn ends with an answer or with one error, no request is invalid, and nothing is left
// running.
func TestStrictProvider500Turns(t *testing.T) { // not parallel: it counts goroutines
	for name, options := range map[string]func(*host.Options){
		"legacy":    func(o *host.Options) { o.Selection.Engine = "" },
		"non-owner": func(o *host.Options) { o.RescueCompaction = true },
		"owner":     func(o *host.Options) { o.Selection.Engine = "owner"; o.SoftThreshold = 4_000 },
		"window unknown": func(o *host.Options) {
			o.Models = func(context.Context, string) (host.ModelInfo, error) {
				return host.ModelInfo{Provider: "anthropic", ID: "m"}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			turns := 500
			switch {
			case testing.Short():
				turns = 60
			case name != "owner" && name != "non-owner" && os.Getenv("CONTEXTENGINE_NIGHTLY") == "":
				turns = 150
			}
			synctest.Test(t, func(t *testing.T) { driveStrict(t, turns, options) })
		})
	}
}

func driveStrict(t *testing.T, turns int, options func(*host.Options)) {
	reg := &ce.Registry{}
	engines := []*shaky{newShaky("plain", false), newShaky("owner", true)}
	heal := func() {
		for _, e := range engines {
			require.NoError(t, reg.Register(e.About.ID, "o", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return e, nil }))
		}
	}
	heal()
	model := &hosttest.Strict{Model: &moody{}, Window: 32_000, Estimator: dense{tokens.ScriptAware()}}
	limits := ce.DefaultDeadlines()
	opts := &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "plain", Deadline: limits}, Model: model, DropOldest: true,
		Tools: []ce.Tool{
			readTool(strings.Repeat("line after line of data\n", 1_500)),
			hosttest.Tool("broken", func(context.Context, json.RawMessage) ([]message.Block, error) { panic("broken") }),
		},
		Models: func(context.Context, string) (host.ModelInfo, error) {
			return host.ModelInfo{Provider: "anthropic", ID: "m", Budget: tokens.NewBudget(32_000, nil)}, nil
		},
	}
	options(opts)
	h, err := host.New(transcript.NewMemory(), opts)
	require.NoError(t, err)
	var outcomes sync.Map
	early := 0
	for n := range turns {
		for _, e := range engines {
			e.schedule(n)
		}
		if n%25 == 0 {
			heal()
		}
		if n == 30 {
			synctest.Wait()
			early = runtime.NumGoroutine()
		}
		kind := oneTurn(t, h, n)
		count, _ := outcomes.LoadOrStore(kind, new(int))
		*count.(*int)++
	}
	synctest.Wait()
	require.LessOrEqual(t, runtime.NumGoroutine(), early+2, "goroutines grow")
	require.NoError(t, model.Mistakes())
	closing, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_ = h.Close(closing) // may report calls that never came back
	outcomes.Range(func(kind, n any) bool {
		t.Logf("%s: %d", kind, *n.(*int))
		return true
	})
	t.Logf("refused as too large: %d", model.Refused())
	answered, ok := outcomes.Load("answer")
	require.True(t, ok)
	require.Greater(t, *answered.(*int), turns*3/4)
}

// oneTurn runs a turn and names how it ended.
func oneTurn(t *testing.T, h *host.Host, n int) string {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := time.AfterFunc(10*time.Minute, func() { cancel(errStopped) })
	defer stop.Stop()
	size := 20 + n%7*400
	if n%97 == 96 {
		size = 60_000
	}
	input := message.User(fmt.Sprintf("Question %d: %s", n, strings.Repeat("why so ", size/7)))
	out, err := h.Run(ctx, ref("s"), input, nil)
	var overflow *host.OverflowError
	var looping *host.LoopError
	switch {
	case err == nil:
		require.NotEmpty(t, out.Reply.Text(), "turn %d", n)
		return "answer"
	case errors.Is(err, errOverloaded):
		return "overloaded"
	case errors.Is(err, errStopped):
		return "stopped"
	case errors.As(err, &overflow):
		require.True(t, compact.IsContextOverflow(overflow.Err))
		return "overflow"
	case errors.As(err, &looping):
		return "loop"
	case errors.Is(err, slow{}):
		return "timeout"
	case strings.Contains(err.Error(), "500 internal error"):
		return "broke off"
	}
	t.Fatalf("turn %d: %v", n, err)
	return ""
}
