package contextengine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

// present returns the host-added fields of params that are set.
func present(p any) []ce.HostParam {
	var out []ce.HostParam
	add := func(name ce.HostParam, set bool) {
		if set {
			out = append(out, name)
		}
	}
	var (
		ref    ce.SessionRef
		target ce.SessionTarget
		s      *ce.RuntimeSettings
		rt     *ce.RuntimeContext
		prompt *string
	)
	switch p := p.(type) {
	case ce.IngestParams:
		ref = p.SessionRef
	case ce.IngestBatchParams:
		ref = p.SessionRef
	case ce.SessionEndedParams:
		ref = p.SessionRef
	case ce.AssembleParams:
		ref, s, rt, prompt = p.SessionRef, p.Settings, p.Runtime, p.Prompt
	case ce.CompactParams:
		ref, target, s, rt = p.SessionRef, p.Target, p.Settings, p.Runtime
	case ce.BootstrapParams:
		ref, target, s, rt = p.SessionRef, p.Target, p.Settings, p.Runtime
	case ce.MaintainParams:
		ref, target, s, rt = p.SessionRef, p.Target, p.Settings, p.Runtime
	case ce.AfterTurnParams:
		ref, target, s, rt = p.SessionRef, p.Target, p.Settings, p.Runtime
	case ce.CommitTurnParams:
		ref, target, s, rt = p.SessionRef, p.Target, p.Settings, p.Runtime
	case ce.ToolsParams:
		ref, s, rt = p.SessionRef, p.Settings, p.Runtime
	}
	add(ce.ParamSessionKey, ref.SessionKey != "")
	add(ce.ParamPrompt, prompt != nil)
	add(ce.ParamRuntimeSettings, s != nil)
	add(ce.ParamSessionTarget, target != ce.SessionTarget{})
	add(ce.ParamRuntimeContext, rt != nil)
	return out
}

// callFull calls a hook with every host-added field set.
func callFull(ctx context.Context, h *ce.Handle, op string) (any, error) {
	var (
		ref    = session("s1")
		target = ce.SessionTarget{SessionID: "s1"}
		s      = &ce.RuntimeSettings{}
		rt     = &ce.RuntimeContext{}
		prompt = "now"
	)
	switch op {
	case "assemble":
		return h.Assemble(ctx, ce.AssembleParams{SessionRef: ref, Messages: history[:], Settings: s, Runtime: rt, Prompt: &prompt})
	case "compact":
		return h.Compact(ctx, ce.CompactParams{SessionRef: ref, Target: target, Settings: s, Runtime: rt, TokenBudget: 7})
	case "bootstrap":
		return h.Bootstrap(ctx, ce.BootstrapParams{SessionRef: ref, Target: target, Settings: s, Runtime: rt})
	case "maintain":
		return h.Maintain(ctx, ce.MaintainParams{SessionRef: ref, Target: target, Settings: s, Runtime: rt})
	case "afterTurn":
		return nil, h.AfterTurn(ctx, ce.AfterTurnParams{SessionRef: ref, Target: target, Settings: s, Runtime: rt})
	case "commitTurn":
		return h.CommitTurn(ctx, ce.CommitTurnParams{AfterTurnParams: ce.AfterTurnParams{SessionRef: ref, Target: target, Settings: s, Runtime: rt}})
	case "tools":
		return h.Tools(ctx, ce.ToolsParams{SessionRef: ref, Settings: s, Runtime: rt})
	}
	return callHook(ctx, h, op)
}

// recordParams keeps the host-added fields of each call.
func recordParams(f *fake, then func(p any) error) *[][]ce.HostParam {
	var got [][]ce.HostParam
	f.on = func(_ context.Context, _ string, p any) error {
		got = append(got, present(p))
		if then == nil {
			return nil
		}
		return then(p)
	}
	return &got
}

func TestSpec01_15_05_AcceptedHostParams(t *testing.T) {
	for _, tt := range []struct {
		name     string
		accepted []ce.HostParam
		want     []ce.HostParam
	}{
		{"nil is all", nil, ce.HostParams()},
		{"empty is none", []ce.HostParam{}, nil},
		{"subset", []ce.HostParam{ce.ParamPrompt, "made-up"}, []ce.HostParam{ce.ParamPrompt}},
	} {
		for _, op := range guardedOps() {
			t.Run(tt.name+"/"+op, func(t *testing.T) {
				r, f := newRegistry(), newFake(allHooks)
				f.info.AcceptedHostParams = tt.accepted
				got := recordParams(f, nil)
				h := resolve(t, r, f, ce.Selection{})
				_, err := callFull(t.Context(), h, op)
				require.NoError(t, err)
				for _, p := range (*got)[0] {
					require.Contains(t, tt.want, p)
				}
				require.Len(t, *got, 1)
			})
		}
	}
}

func TestSpec01_15_05_RejectedOneByOneAndRemembered(t *testing.T) {
	reject := []ce.HostParam{ce.ParamSessionKey, ce.ParamPrompt, ce.ParamRuntimeSettings}
	r, f := newRegistry(), newFake(allHooks)
	got := recordParams(f, func(p any) error {
		for _, name := range present(p) {
			for _, no := range reject {
				if name == no {
					return fmt.Errorf("strict: %w", &ce.UnknownParamError{Params: []ce.HostParam{name}, Err: errBoom})
				}
			}
		}
		return nil
	})
	h := resolve(t, r, f, ce.Selection{})
	prompt := "now"
	p := ce.AssembleParams{SessionRef: session("s"), Messages: history[:], Prompt: &prompt, Settings: &ce.RuntimeSettings{}}
	res, err := h.Assemble(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, 11, res.EstimatedTokens)
	require.Len(t, *got, 4, "three rejections, then success")
	require.Empty(t, r.Quarantines())
	require.Equal(t, &prompt, p.Prompt, "the caller's params are its own")

	// Across hooks of this Handle, but not in another one.
	*got = nil
	_, err = callFull(t.Context(), h, "ingest")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([][]ce.HostParam{nil}, *got))
	again, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	*got = nil
	_, err = callFull(t.Context(), again, "ingest")
	require.NoError(t, err)
	require.Len(t, *got, 2)
}

func TestSpec01_15_05_RejectionThatTeachesNothingIsAFailure(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.on = func(context.Context, string, any) error {
		return &ce.UnknownParamError{Params: []ce.HostParam{ce.ParamPrompt, "tokenBudget"}}
	}
	h := resolve(t, r, f, ce.Selection{})
	_, err := callFull(t.Context(), h, "assemble")
	require.NoError(t, err)
	require.Equal(t, []string{"assemble", "assemble"}, f.seen(), "once for the prompt, then no more")
	require.Len(t, r.Quarantines(), 1)
	require.Equal(t, `rejected host fields: "prompt", "tokenBudget"`, r.Quarantines()[0].Reason)
}

func TestSpec01_15_05_ValidatorTextsOnlyOnRequest(t *testing.T) {
	strict := func(p any) error {
		if len(present(p)) > 0 && present(p)[0] == ce.ParamSessionKey {
			return errors.New(`json: unknown field "sessionKey"`)
		}
		return nil
	}
	r, f := newRegistry(), newFake(allHooks)
	recordParams(f, strict)
	h := resolve(t, r, f, ce.Selection{})
	_, err := callFull(t.Context(), h, "ingest")
	require.NoError(t, err)
	require.Len(t, r.Quarantines(), 1)

	r, f = newRegistry(), newFake(allHooks)
	recordParams(f, strict)
	h = resolve(t, r, f, ce.Selection{LearnRejectedFields: true})
	got, err := callFull(t.Context(), h, "ingest")
	require.NoError(t, err)
	require.Equal(t, ce.IngestResult{Ingested: true}, got)
	require.Empty(t, r.Quarantines())
}

func TestSpec01_15_05_CompactKeepsItsContext(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.info.AcceptedHostParams = []ce.HostParam{}
	type key struct{}
	var got any
	f.on = func(ctx context.Context, _ string, p any) error {
		got = ctx.Value(key{})
		require.Equal(t, 7, p.(ce.CompactParams).TokenBudget)
		return nil
	}
	h := resolve(t, r, f, ce.Selection{})
	_, err := callFull(context.WithValue(t.Context(), key{}, 1), h, "compact")
	require.NoError(t, err)
	require.Equal(t, 1, got)
}

func TestSpec01_15_05_CancelledBetweenRetries(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	ctx, cancel := context.WithCancel(t.Context())
	f.on = func(ctx context.Context, _ string, _ any) error {
		cancel()
		return errors.Join(ctx.Err(), &ce.UnknownParamError{Params: []ce.HostParam{ce.ParamSessionKey}})
	}
	h := resolve(t, r, f, ce.Selection{})
	_, err := callFull(ctx, h, "ingest")
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, f.seen(), 1)
	require.Empty(t, r.Quarantines())
}

// tool is scripted by its call.
type tool struct {
	name string
	call func() ([]message.Block, error)
}

func (t tool) Name() string {
	if t.name == "panic" {
		panic("nameless")
	}
	return t.name
}
func (tool) Description() string     { return "does" }
func (tool) Schema() json.RawMessage { return json.RawMessage(`{}`) }

func (t tool) Call(context.Context, json.RawMessage) ([]message.Block, error) { return t.call() }
