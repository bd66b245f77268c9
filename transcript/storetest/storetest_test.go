package storetest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/transcript"
	"github.com/go-contextengine/contextengine/transcript/storetest"
)

func TestRun(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) transcript.Store { return transcript.NewMemory() }, nil)
}

func TestRulesHaveDistinctNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range storetest.Rules() {
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.NotEmpty(t, seen)
}

// A store of someone else's: it has only the exported methods.
func TestRun_ForeignStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) transcript.Store { return foreign{transcript.NewMemory()} }, nil)
}

type foreign struct{ transcript.Store }

func (f foreign) Create(ctx context.Context, h transcript.Header) (transcript.Log, error) {
	log, err := f.Store.Create(ctx, h)
	if err != nil {
		return nil, err
	}
	return foreignLog{log}, nil
}

type foreignLog struct{ transcript.Log }
