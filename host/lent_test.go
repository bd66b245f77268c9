package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A scribbler writes into every list that it gets, and then fails.
type scribbler struct {
	*probe
	in     string
	engage bool
}

func scribble(ms []message.Message) {
	for i := range ms {
		ms[i] = message.User("scribble")
	}
	_ = append(ms, message.User("scribble"))
}

func (s *scribbler) Assemble(ctx context.Context, q ce.AssembleParams) (ce.AssembleResult, error) {
	if s.engage && s.in == "assemble" {
		scribble(q.Messages)
		panic("scribbler")
	}
	return s.probe.Assemble(ctx, q)
}

func (s *scribbler) AfterTurn(ctx context.Context, q ce.AfterTurnParams) error {
	if s.engage && s.in == "afterTurn" {
		scribble(q.Messages)
		panic("scribbler")
	}
	return s.probe.AfterTurn(ctx, q)
}

func (s *scribbler) Maintain(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
	if s.engage && s.in == "maintain" {
		v, err := q.Log.View(ctx)
		if err != nil {
			return transcript.RewriteResult{}, err
		}
		scribble(v.Messages)
		panic("scribbler")
	}
	return s.probe.Maintain(ctx, q)
}

// An engine that writes into what it was lent, and then fails, spoils nobody's view.
func TestScribblersSpoilNothing(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"assemble", "afterTurn", "maintain"} {
		for _, owns := range []bool{false, true} {
			t.Run(in, func(t *testing.T) {
				t.Parallel()
				s := &scribbler{probe: newProbe("alpha", ce.HookAfterTurn|ce.HookMaintain, &tape{}), in: in}
				s.About.OwnsCompaction = owns
				reg := &ce.Registry{}
				require.NoError(t, reg.Register("alpha", "test", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return s, nil }))
				m := hosttest.NewModel(
					hosttest.Reply("1"), hosttest.Calls(call("c1", "read")), hosttest.Reply("2"), hosttest.Reply("3"),
				)
				st := transcript.NewMemory()
				h := hostOver(t, st, &host.Options{
					Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: m, Tools: []ce.Tool{readTool("d")},
				})
				_, err := h.Run(t.Context(), ref("s"), message.User("one"), nil)
				require.NoError(t, err)
				s.engage = true
				for _, text := range []string{"two", "three"} {
					_, err = h.Run(t.Context(), ref("s"), message.User(text), nil)
					require.NoError(t, err)
				}
				require.Equal(t, ce.LegacyID, h.Status(ref("s")).Engine.Answering)
				rs := m.Requests()
				require.Equal(t, "[u:one | a:1 | u:two]", saidAll(rs[1].Messages))
				require.Equal(t, "[u:one | a:1 | u:two | a:@c1 | r:c1=d]", saidAll(rs[2].Messages))
				require.Equal(t, "[u:one | a:1 | u:two | a:@c1 | r:c1=d | a:2 | u:three]", saidAll(rs[3].Messages))
			})
		}
	}
}

// An engine's own list is what is sent, also where it wrote it over what it was lent.
func TestListsMayBeBuiltInPlace(t *testing.T) {
	t.Parallel()
	h, m, _ := setUp(t, 0, func(p *probe, _ *host.Options) {
		p.OnAssemble = func(q ce.AssembleParams) ce.AssembleResult {
			for i := range q.Messages {
				q.Messages[i].Content = []message.Block{message.Text("short")}
			}
			return ce.AssembleResult{Messages: append(q.Messages[:min(1, len(q.Messages))], message.User("mine"))}
		}
	}, hosttest.Reply("1"), hosttest.Reply("2"), hosttest.Reply("3"))
	for _, text := range []string{"one", "two"} {
		_, err := h.Run(t.Context(), ref("s"), message.User(text), nil)
		require.NoError(t, err)
	}
	require.Equal(t, "[u:short | u:mine | u:two]", saidAll(m.Requests()[1].Messages))
	h.Select(ce.Selection{})
	_, err := h.Run(t.Context(), ref("s"), message.User("three"), nil)
	require.NoError(t, err)
	require.Equal(t, "[u:one | a:1 | u:two | a:2 | u:three]", saidAll(m.Requests()[2].Messages))
}

// An engine may fail because of the host, which is not held against it: what it wrote before
// that into its list is gone all the same.
func TestScribblerWhomTheHostFails(t *testing.T) {
	t.Parallel()
	p := newProbe("alpha", ce.HookAfterTurn, &tape{})
	var engage bool
	s := &asking{probe: p, before: func(q ce.AssembleParams) bool {
		if engage {
			scribble(q.Messages)
		}
		return engage
	}}
	reg := &ce.Registry{}
	require.NoError(t, reg.Register("alpha", "test", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return s, nil }))
	m := hosttest.Always(func(_ context.Context, r host.Request) (message.Message, error) {
		if r.Caller != "" {
			return message.Message{}, hosttest.ErrFault
		}
		return message.Assistant(message.Text("ok")), nil
	})
	h := newHost(t, &host.Options{Registry: reg, Selection: ce.Selection{Engine: "alpha"}, Model: m})
	for _, engage = range []bool{false, true, false} {
		out, err := h.Run(t.Context(), ref("s"), message.User("x"), nil)
		require.NoError(t, err)
		require.Equal(t, "alpha", out.Engine.Answering)
	}
	require.Equal(t, "[u:x | a:ok | u:x]", saidAll(m.Requests()[2].Messages), "after the engine's own request")
}
