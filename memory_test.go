package contextengine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func TestSpec01_15_16_MemoryHelper(t *testing.T) {
	text, err := ce.BuildMemorySystemPromptAddition(nil, nil, "")
	require.NoError(t, err)
	require.Empty(t, text)
	rt := ce.LendRuntime(ce.RuntimeContext{Memory: section{"  # Memory \t", "\r\n", " keep \r", "in:  "}})
	text, err = ce.BuildMemorySystemPromptAddition(rt, []string{"search", " "}, ce.CitationsAuto)
	require.NoError(t, err)
	require.Equal(t, "# Memory\n\n\n keep\nin:\nsearch", text)
	lines, err := ce.BuildActiveMemoryPromptSection(rt, nil, "")
	require.NoError(t, err)
	require.Len(t, lines, 4)
	_, err = ce.BuildMemorySystemPromptAddition(&ce.RuntimeContext{Memory: section{}}, nil, ce.CitationsOff)
	var he *ce.HostError
	require.ErrorAs(t, err, &he)
	text, err = ce.BuildMemorySystemPromptAddition(&ce.RuntimeContext{Memory: section{" ", "\t"}}, nil, "")
	require.NoError(t, err)
	require.Empty(t, text)
}

type section []string

func (s section) Lines(tools []string, mode ce.CitationsMode) ([]string, error) {
	if mode == ce.CitationsOff {
		return nil, errBoom
	}
	return append(s, tools...), nil
}
