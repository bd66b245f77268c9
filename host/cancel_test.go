package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A counter counts what its engine is given. Every hook is a moment at which a turn may be
// cancelled, and honours that.
type counter struct {
	*probe
	tick func()
	seen map[string]int // deliveries by message
}

func (c *counter) moment(ctx context.Context) error {
	c.tick()
	return context.Cause(ctx)
}

func (c *counter) Bootstrap(ctx context.Context, _ ce.BootstrapParams) (ce.BootstrapResult, error) {
	return ce.BootstrapResult{Bootstrapped: true}, c.moment(ctx)
}

func (c *counter) Assemble(ctx context.Context, q ce.AssembleParams) (ce.AssembleResult, error) {
	return ce.AssembleResult{Messages: q.Messages}, c.moment(ctx)
}

func (c *counter) Tools(ctx context.Context, _ ce.ToolsParams) ([]ce.Tool, error) {
	return nil, c.moment(ctx)
}

func (c *counter) Maintain(ctx context.Context, _ ce.MaintainParams) (transcript.RewriteResult, error) {
	return transcript.RewriteResult{}, c.moment(ctx)
}

func (c *counter) AfterTurn(ctx context.Context, q ce.AfterTurnParams) error {
	if err := c.moment(ctx); err != nil {
		return err
	}
	for _, m := range q.New() {
		c.seen[m.Key]++
	}
	return nil
}

// However a turn is cancelled, going on from there stores every message once, delivers every
// message once, blames nobody, and leaves no log open.
func TestCancelAtEveryMoment(t *testing.T) {
	t.Parallel()
	for _, owns := range []bool{false, true} {
		moments := 0
		for n := 1; ; n++ {
			if !cancelAt(t, n, owns) {
				break
			}
			moments = n
		}
		require.Greater(t, moments, 8)
	}
}

// cancelAt cancels a turn at its nth moment and goes on. false: it has fewer moments.
func cancelAt(t *testing.T, n int, owns bool) bool {
	t.Helper()
	moment, calls := 0, 0
	ctx, cancel := context.WithCancelCause(t.Context())
	tick := func() {
		if moment++; moment == n {
			cancel(errStop)
		}
	}
	e := &counter{probe: newProbe("alpha", everyHook, &tape{}), tick: tick, seen: map[string]int{}}
	e.About.OwnsCompaction = owns
	reg := &ce.Registry{}
	require.NoError(t, reg.Register("alpha", "test", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return e, nil }))
	st := newFaultStore(transcript.NewMemory())
	h := hostOver(t, st, &host.Options{
		Registry: reg, Selection: ce.Selection{Engine: "alpha"},
		Model: hosttest.Always(func(ctx context.Context, _ host.Request) (message.Message, error) {
			tick()
			if ctx.Err() != nil {
				return message.Message{}, context.Cause(ctx)
			}
			if calls++; calls < 3 {
				return message.Assistant(call(fmt.Sprint("c", calls), "read")), nil
			}
			return message.Assistant(message.Text("ok")), nil
		}),
		Tools: []ce.Tool{hosttest.Tool("read", func(context.Context, json.RawMessage) ([]message.Block, error) {
			tick()
			return []message.Block{message.Text("d")}, nil
		})},
	})
	_, err := h.Run(ctx, ref("s"), message.User("one"), nil)
	cancelled := moment >= n
	if err != nil {
		require.ErrorIs(t, err, errStop, "moment %d", n)
		_, err = h.Run(t.Context(), ref("s"), message.Message{}, nil)
		if errors.Is(err, host.ErrNothingToContinue) { // it was cancelled before the input was stored
			_, err = h.Run(t.Context(), ref("s"), message.User("one"), nil)
		}
		require.NoError(t, err, "moment %d", n)
	}
	require.False(t, h.Status(ref("s")).Engine.Degraded(), "moment %d", n)
	log, err := st.Store.Open(t.Context(), "s")
	require.NoError(t, err)
	v, err := log.View(t.Context())
	require.NoError(t, err)
	require.NoError(t, log.Close())
	for _, m := range v.Messages {
		require.Equal(t, 1, e.seen[m.Key], "moment %d, owner %t: deliveries of %s", n, owns, saidAll([]message.Message{m}))
	}
	require.Len(t, e.seen, len(v.Messages))
	require.NoError(t, h.Close(t.Context()))
	require.Zero(t, st.live.Load(), "moment %d: logs are open", n)
	return cancelled
}
