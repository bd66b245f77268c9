package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// noCompaction frees nothing.
type noCompaction struct{}

func (noCompaction) CompactSession(context.Context, ce.CompactParams) (ce.CompactResult, error) {
	return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
}

func TestDroppingKeepsASummaryThatAPassJoinsToTheUser(t *testing.T) {
	ctx, store := t.Context(), transcript.NewMemory()
	log, err := store.Create(ctx, transcript.Header{ID: "s"})
	require.NoError(t, err)
	old, err := log.Append(ctx, transcript.MessageEntry(message.User("old")))
	require.NoError(t, err)
	view, err := log.View(ctx)
	require.NoError(t, err)
	_, err = log.CommitCompaction(ctx, view.Generation, transcript.Compaction{Summary: "the gist of it", Through: old[0].ID})
	require.NoError(t, err)
	for _, text := range []string{"one", "two", "three"} {
		_, err = log.Append(ctx,
			transcript.MessageEntry(message.User(text+strings.Repeat(" word", 400))),
			transcript.MessageEntry(message.Assistant(message.Text("answer"))))
		require.NoError(t, err)
	}
	require.NoError(t, log.Close())

	model := hosttest.NewModel(
		hosttest.Fail(errors.New("prompt is too long: 2500 tokens > 1500 maximum")),
		hosttest.Reply("done"),
	)
	h, err := host.New(store, &host.Options{
		Model: model, Compactor: noCompaction{}, DropOldest: true,
		Models: func(context.Context, string) (host.ModelInfo, error) {
			return host.ModelInfo{Provider: "anthropic", Budget: tokens.Budget{Window: 20_000, MinPrompt: 1}}, nil
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(context.WithoutCancel(ctx))) }()
	_, err = h.Run(ctx, ce.SessionRef{SessionID: "s"}, message.User("now"), nil)
	require.NoError(t, err)

	asked := model.Requests()
	sent := asked[len(asked)-1].Messages
	require.Less(t, len(sent), len(asked[0].Messages))
	require.Contains(t, sent[0].Text(), "the gist of it")
	require.NotContains(t, sent[0].Text(), "one word", "the oldest went")
}
