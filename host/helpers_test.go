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

type (
	probe     = hosttest.Engine
	tape      = hosttest.Tape
	byteCount = hosttest.ByteCount
)

func newProbe(id string, hooks ce.HookSet, t *tape) *probe { return hosttest.NewEngine(id, hooks, t) }

func saidAll(ms []message.Message) string { return hosttest.SaidAll(ms) }

// register makes probes available under their ids.
func register(t testing.TB, r *ce.Registry, ps ...*probe) {
	t.Helper()
	for _, p := range ps {
		require.NoError(t, r.Register(p.About.ID, "plugin:"+p.About.ID,
			func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return p, nil }))
	}
}

func newHost(t testing.TB, opts *host.Options) *host.Host {
	t.Helper()
	h, err := host.New(transcript.NewMemory(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.WithoutCancel(t.Context()))) })
	return h
}

func ref(id string) ce.SessionRef { return ce.SessionRef{SessionID: id} }
