package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/transcript"
)

// A passFunc is a pass with a state.
type passFunc struct {
	apply    func([]message.Message) []message.Message
	snapshot func() []byte
}

func (p passFunc) Apply(ms []message.Message, _ prune.Input) []message.Message {
	if p.apply == nil {
		return ms
	}
	return p.apply(ms)
}

func (p passFunc) Snapshot() []byte {
	if p.snapshot == nil {
		return nil
	}
	return p.snapshot()
}

func (passFunc) Observe(message.Usage, time.Time) {}
func (passFunc) Restore([]byte) error             { return nil }

func passes(p passFunc) func(ce.SessionRef) []prune.Pass {
	return func(ce.SessionRef) []prune.Pass { return []prune.Pass{p} }
}

type observerFunc func(host.Event)

func (f observerFunc) Observe(_ context.Context, e host.Event) { f(e) }

type panickingCount struct{ byteCount }

func (panickingCount) Message(message.Message) int { panic("estimator") }

type panickingTool struct{ ce.Tool }

func (panickingTool) Name() string            { return "bad" }
func (panickingTool) Description() string     { return "" }
func (panickingTool) Schema() json.RawMessage { panic("schema") }

// Whatever panics that the host brought, and wherever: the session is free afterwards, and
// the host closes.
func TestPanicsLeaveTheSessionFree(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*host.Options){
		"pass": func(o *host.Options) {
			o.Passes = passes(passFunc{apply: func([]message.Message) []message.Message { panic("pass") }})
		},
		"snapshot": func(o *host.Options) {
			o.Passes = passes(passFunc{snapshot: func() []byte { panic("snapshot") }})
		},
		"passes":    func(o *host.Options) { o.Passes = func(ce.SessionRef) []prune.Pass { panic("passes") } },
		"estimator": func(o *host.Options) { o.Estimator = panickingCount{} },
		"schema":    func(o *host.Options) { o.Tools = []ce.Tool{panickingTool{}} },
		"system": func(o *host.Options) {
			o.System = func(context.Context, prompt.Run) (prompt.Prompt, error) { panic("system") }
		},
		"model": func(o *host.Options) {
			o.Model = hosttest.Always(func(context.Context, host.Request) (message.Message, error) { panic("model") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := &host.Options{Model: hosttest.Always(hosttest.Reply("ok")), Models: windowOf(8000)}
			change(opts)
			st := newFaultStore(transcript.NewMemory())
			h := hostOver(t, st, opts)
			require.Panics(t, func() { _, _ = h.Run(t.Context(), ref("s"), message.User("x"), nil) })
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.NotErrorIs(t, h.EndSession(ctx, ref("s"), ce.BoundaryReset, ce.SessionRef{}), context.DeadlineExceeded)
			require.NoError(t, h.Close(ctx))
			require.Zero(t, st.live.Load(), "logs are open")
		})
	}
}

// An observer that panics changes nothing.
func TestPanickingObserver(t *testing.T) {
	t.Parallel()
	h := newHost(t, &host.Options{
		Model: hosttest.Always(hosttest.Reply("ok")), Observer: observerFunc(func(host.Event) { panic("observer") }),
	})
	out, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
	require.NoError(t, err)
	require.Equal(t, "ok", out.Reply.Text())
	require.NotEmpty(t, out.Events)
}

// What Begin stored before it failed can be gone on with, even where the session got its id
// there.
func TestFailureAfterTheAppendTellsWhatIsStored(t *testing.T) {
	t.Parallel()
	p := newProbe("alpha", 0, &tape{})
	p.Fail("assemble", hosttest.Failing)
	reg := &ce.Registry{}
	register(t, reg, p)
	h := newHost(t, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha", Policy: ce.Strict}, Model: hosttest.Always(hosttest.Reply("ok")),
	})
	out, err := h.Run(t.Context(), ce.SessionRef{}, message.User("hi"), nil)
	var begun *host.BeginError
	require.ErrorAs(t, err, &begun)
	require.ErrorIs(t, err, hosttest.ErrFault)
	require.Equal(t, "[u:hi]", saidAll(out.Messages))
	require.NotEmpty(t, out.Session.SessionID)
	require.Equal(t, out.Session, begun.Outcome.Session)

	h.Select(ce.Selection{})
	out, err = h.Run(t.Context(), out.Session, message.Message{}, nil)
	require.NoError(t, err)
	require.Equal(t, "[u:hi | a:ok]", saidAll(out.Messages))
}

// The model has said its last word: that the compaction behind it was cut short is not the
// turn's failure.
func TestAnswerOutlivesItsCompaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tp tape
		p := newProbe("alpha", ce.HookAfterTurn, &tp)
		reg := &ce.Registry{}
		register(t, reg, p)
		m := hosttest.Always(func(ctx context.Context, r host.Request) (message.Message, error) {
			if r.Purpose != "" { // the summary takes long
				<-ctx.Done()
				return message.Message{}, context.Cause(ctx)
			}
			a := message.Assistant(message.Text("the answer"))
			a.Usage = &message.Usage{Input: 7900, Total: 7900}
			return a, nil
		})
		h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: m, Models: windowOf(8000)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		out, err := h.Run(ctx, ref("s"), message.User(strings.Repeat("hello world ", 3000)), nil)
		require.NoError(t, err)
		require.Equal(t, "the answer", out.Reply.Text())
		require.Equal(t, time.Second, time.Since(start), "the compaction ran")
		require.Contains(t, strings.Join(tp.Take(), "\n"), "afterTurn")
		require.NoError(t, h.Close(t.Context()))
	})
}

var errStop = errors.New("user pressed stop")

// An answer that came is stored, also when the caller does not wait for it any more.
func TestAnswerThatComesTooLateIsStored(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	h := newHost(t, &host.Options{Model: hosttest.Always(func(context.Context, host.Request) (message.Message, error) {
		cancel(errStop)
		return message.Assistant(message.Text("ok")), nil
	})})
	out, err := h.Run(ctx, ref("s"), message.User("x"), nil)
	require.ErrorIs(t, err, errStop)
	require.Equal(t, "[u:x | a:ok]", saidAll(out.Messages))
}
