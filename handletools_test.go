package contextengine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

func TestToolsOfAnEngineAreGuarded(t *testing.T) {
	r, f := newRegistry(), newFake(allHooks)
	f.tools = []ce.Tool{
		tool{"good", func() ([]message.Block, error) { return []message.Block{message.Text("yes")}, nil }},
		tool{"sorry", func() ([]message.Block, error) { return nil, errBoom }},
		tool{"wild", func() ([]message.Block, error) { panic("out of control") }},
	}
	h := resolve(t, r, f, ce.Selection{})
	ts, err := h.Tools(t.Context(), ce.ToolsParams{})
	require.NoError(t, err)
	require.Len(t, ts, 3)
	require.Equal(t, "good", ts[0].Name())
	require.Equal(t, "does", ts[0].Description())
	require.JSONEq(t, `{}`, string(ts[0].Schema()))
	got, err := ts[0].Call(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "yes", got[0].Text)
	_, err = ts[1].Call(t.Context(), nil)
	require.ErrorIs(t, err, errBoom)
	require.Empty(t, r.Quarantines(), "an error for the model is no failure")

	_, err = ts[2].Call(t.Context(), nil)
	var pe *ce.PanicError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, "tool", r.Quarantines()[0].Operation)
	_, err = ts[0].Call(t.Context(), nil)
	require.Error(t, err, "gone with the quarantine")
	ts, err = h.Tools(t.Context(), ce.ToolsParams{})
	require.NoError(t, err)
	require.Empty(t, ts)
}

func TestToolsThatBreakTheContract(t *testing.T) {
	for name, ts := range map[string][]ce.Tool{
		"nil": {nil}, "blank name": {tool{name: " "}}, "panicking name": {tool{name: "panic"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newRegistry(), newFake(allHooks)
			f.tools = ts
			h := resolve(t, r, f, ce.Selection{})
			got, err := h.Tools(t.Context(), ce.ToolsParams{})
			require.NoError(t, err)
			require.Empty(t, got)
			require.Len(t, r.Quarantines(), 1)
		})
	}
}
