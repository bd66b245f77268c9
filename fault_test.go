package contextengine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

// cyclic is an error that wraps itself.
type cyclic struct{}

func (cyclic) Error() string   { return "cyclic" }
func (c cyclic) Unwrap() error { return c }

// incomparable panics when it is compared, and only then.
type incomparable struct{}

func (incomparable) Error() string { return "incomparable" }
func (incomparable) Is(error) bool { panic("Is") }

// hostile panics whatever it is asked.
type hostile struct{ text bool }

func (h hostile) Error() string {
	if h.text {
		return "hostile"
	}
	panic("Error")
}
func (hostile) Is(error) bool { panic("Is") }
func (hostile) As(any) bool   { panic("As") }

func TestErrorsThatCannotBeExamined(t *testing.T) {
	for name, err := range map[string]error{
		"typed nil OpError":      (*ce.OpError)(nil),
		"typed nil HostError":    (*ce.HostError)(nil),
		"typed nil UnknownParam": (*ce.UnknownParamError)(nil),
		"wrapped typed nil":      errors.Join(errBoom, (*ce.HostError)(nil)),
		"cyclic":                 cyclic{},
		"panics":                 hostile{},
		"panics when looked at":  hostile{text: true},
		"panics when compared":   incomparable{},
	} {
		for _, learn := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, learn), func(t *testing.T) {
				r, f := newRegistry(), newFake(allHooks)
				f.on = func(_ context.Context, op string, _ any) error {
					if op == "compact" || op == "assemble" {
						return err
					}
					return nil
				}
				h := resolve(t, r, f, ce.Selection{LearnRejectedFields: learn})
				_, cerr := callFull(t.Context(), h, "compact")
				require.ErrorContains(t, cerr, "cannot be examined")
				require.NotErrorIs(t, cerr, errBoom, "nothing that could trip its reader comes out")
				require.Equal(t, ce.ClassError, r.Quarantines()[0].Class)

				r = newRegistry()
				h = resolve(t, r, f, ce.Selection{LearnRejectedFields: learn})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, err := callFull(ctx, h, "assemble")
				require.NoError(t, err)
				require.Len(t, r.Quarantines(), 1)
			})
		}
	}
}

// What comes back from calls that are not guarded can be looked at all the same.
func TestErrorsOfUnguardedCallsCanBeExamined(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.undo = func(context.Context) error { return incomparable{} }
	f.tools = []ce.Tool{tool{"x", func() ([]message.Block, error) { return nil, incomparable{} }}}
	f.on = fail("close", incomparable{})
	h := resolve(t, r, f, ce.Selection{})
	prep, err := h.PrepareSubagentSpawn(t.Context(), ce.SubagentSpawnParams{})
	require.NoError(t, err)
	ts, err := h.Tools(t.Context(), ce.ToolsParams{})
	require.NoError(t, err)
	_, callErr := ts[0].Call(t.Context(), nil)
	for op, err := range map[string]error{"rollback": prep.Rollback(t.Context()), "tool": callErr, "close": h.Close()} {
		require.ErrorContains(t, err, "cannot be examined", op)
		require.NotErrorIs(t, err, errBoom)
	}
	require.Empty(t, r.Quarantines())
}

// panickyHooks fails when it is asked for its hooks.
type panickyHooks struct{ *typedNil }

func (panickyHooks) Hooks() ce.HookSet { panic("no hooks") }

func TestHookReporterThatPanicsIsRefused(t *testing.T) {
	r := newRegistry()
	require.NoError(t, r.Register("x", "plugin:x", factoryOf(panickyHooks{&typedNil{ce.Info{ID: "x", Name: "X"}}})))
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.Equal(t, "contract-validation", h.Status().Quarantine.Operation)
}

func TestFactoryThatReturnsAnEngineAndAnErrorIsNotLeaked(t *testing.T) {
	r, f := newRegistry(), newFake(ce.HookClose)
	require.NoError(t, r.Register("x", "plugin:x", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return f, errBoom }))
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.Equal(t, "boom", h.Status().Quarantine.Reason)
	require.Equal(t, []string{"close"}, f.seen())

	f.on = fail("close", errors.New("stuck"))
	require.NoError(t, r.Register("x", "plugin:x", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return f, errBoom }))
	h, err = r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.Equal(t, "boom\nstuck", h.Status().Quarantine.Reason, "nothing is swallowed")
}

func TestGoexitOfAnEngine(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = func(context.Context, string, any) error { runtime.Goexit(); return nil }
	h := resolve(t, r, f, ce.Selection{Deadline: everyDeadline(time.Minute)})
	_, err := callHook(t.Context(), h, "assemble")
	require.NoError(t, err)
	require.Contains(t, r.Quarantines()[0].Reason, "ended its goroutine")
}

func TestPanicWithTheContextsErrorIsAPanic(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	ctx, cancel := context.WithCancel(t.Context())
	f.on = func(ctx context.Context, _ string, _ any) error { cancel(); panic(ctx.Err()) }
	h := resolve(t, r, f, ce.Selection{})
	_, _ = callHook(ctx, h, "assemble")
	require.Equal(t, ce.ClassPanic, r.Quarantines()[0].Class)
}

func TestForgedDeadlineIsAFailure(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = fail("compact", &ce.DeadlineError{Engine: "x", Op: "compact"})
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "compact")
	require.Error(t, err)
	require.Len(t, r.Quarantines(), 1)
}

func TestPanicsAndTheHostTeachNothing(t *testing.T) {
	for name, on := range map[string]func() error{
		"panic with text":  func() error { panic(errors.New(`unknown field "sessionKey"`)) },
		"panic with error": func() error { panic(&ce.UnknownParamError{Params: ce.HostParams()}) },
		"host error":       func() error { return &ce.HostError{Op: "complete", Err: errors.New(`unknown field "sessionKey"`)} },
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newRegistry(), newFake(allHooks)
			f.on = func(context.Context, string, any) error { return on() }
			h := resolve(t, r, f, ce.Selection{LearnRejectedFields: true})
			_, err := callFull(t.Context(), h, "ingest")
			require.NoError(t, err)
			require.Equal(t, []string{"ingest"}, f.seen(), "no second call")
		})
	}
}
