package hosttest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// made is a factory of engines that are all made alike.
func made(e func() ce.ContextEngine) ce.Factory {
	return func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return e(), nil }
}

func TestCheckEngineFindsNothing(t *testing.T) {
	t.Parallel()
	every := ^ce.HookSet(0)
	for name, e := range map[string]func() ce.ContextEngine{
		"legacy": ce.Legacy,
		"tape":   func() ce.ContextEngine { return hosttest.NewEngine("tape", every, nil) },
		"owner": func() ce.ContextEngine {
			e := hosttest.NewEngine("owner", every, nil)
			e.About.OwnsCompaction = true
			e.OnAssemble = func(p ce.AssembleParams) ce.AssembleResult {
				return ce.AssembleResult{Messages: message.Tail(p.Messages, 2)}
			}
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, hosttest.CheckEngine(t.Context(), made(e)))
		})
	}
}

// faulty is an engine with one fault.
type faulty struct {
	ce.ContextEngine
	info     ce.Info
	assemble func(ctx context.Context, p ce.AssembleParams) (ce.AssembleResult, error)
	maintain error
}

func (f *faulty) Info() ce.Info { return f.info }

func (f *faulty) Assemble(ctx context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	if f.assemble != nil {
		return f.assemble(ctx, p)
	}
	return ce.AssembleResult{Messages: p.Messages}, nil
}

func (f *faulty) Maintain(context.Context, ce.MaintainParams) (transcript.RewriteResult, error) {
	return transcript.RewriteResult{}, f.maintain
}

func TestCheckEngineFindsFaults(t *testing.T) {
	t.Parallel()
	good := ce.Info{ID: "faulty", Name: "Faulty"}
	for want, f := range map[string]faulty{
		"info: the id is blank": {info: ce.Info{Name: "x"}},
		"what is lent: assemble changed its list": {info: good, assemble: func(_ context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
			p.Messages[0] = message.User("changed")
			return ce.AssembleResult{Messages: p.Messages}, nil
		}},
		"what is lent: assemble answered without a list": {info: good, assemble: func(context.Context, ce.AssembleParams) (ce.AssembleResult, error) {
			return ce.AssembleResult{}, nil
		}},
		"a context that has ended: assemble should have answered": {info: good, assemble: func(ctx context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
			if ctx.Err() != nil {
				return ce.AssembleResult{}, errors.New("interrupted")
			}
			return ce.AssembleResult{Messages: p.Messages}, nil
		}},
		"a session: turn 0": {info: good, maintain: errors.New("disk full")},
		"panic: out of range": {info: good, assemble: func(context.Context, ce.AssembleParams) (ce.AssembleResult, error) {
			panic("out of range")
		}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			f.ContextEngine = ce.Legacy()
			err := hosttest.CheckEngine(t.Context(), made(func() ce.ContextEngine { return &f }))
			require.ErrorContains(t, err, want)
		})
	}
	err := hosttest.CheckEngine(t.Context(), made(func() ce.ContextEngine { return nil }))
	require.ErrorContains(t, err, "there is none")
}
