package host_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// pieces is a model that streams.
type pieces func(yield func(message.Block, error) bool)

func (p pieces) Complete(context.Context, host.Request) (message.Message, error) {
	return message.Message{}, errors.New("a model that streams is not asked for the whole")
}

func (p pieces) Stream(context.Context, host.Request) iter.Seq2[message.Block, error] {
	return iter.Seq2[message.Block, error](p)
}

func TestStreamJoinsPieces(t *testing.T) {
	t.Parallel()
	h := hostOver(t, transcript.NewMemory(), &host.Options{Model: pieces(func(yield func(message.Block, error) bool) {
		end := message.Message{Provider: "p", Model: "m", StopReason: message.StopEnd, Usage: &message.Usage{Input: 7, Total: 9}}
		for _, b := range []message.Block{
			message.Thinking("hm", ""), message.Thinking("m", "signed"), message.Thinking("and", ""),
			message.Text("Hel"), message.Text("lo"), message.Image("AA==", "image/png"), message.Text("!"), host.Finish(end),
		} {
			if !yield(b, nil) {
				return
			}
		}
	})})
	out, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, []message.Block{
		message.Thinking("hmm", "signed"), message.Thinking("and", ""),
		message.Text("Hello"), message.Image("AA==", "image/png"), message.Text("!"),
	}, out.Reply.Content)
	require.Equal(t, "m", out.Reply.Model)
	require.Equal(t, 7, out.Reply.Usage.Input)
}

func TestStreamWithoutAnEnd(t *testing.T) {
	t.Parallel()
	h := hostOver(t, transcript.NewMemory(), &host.Options{Model: pieces(func(func(message.Block, error) bool) {})})
	_, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
	require.ErrorContains(t, err, "before the answer did")
	h = hostOver(t, transcript.NewMemory(), &host.Options{Model: pieces(func(yield func(message.Block, error) bool) {
		yield(message.Text("all of it"), nil)
	})})
	out, err := h.Run(t.Context(), ref("s"), message.User("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, message.StopEnd, out.Reply.StopReason)
}

// What came until its caller gave up is stored as aborted, whether the stream then says why it
// ends or just ends.
func TestStreamOfAnAbortedTurn(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]bool{"with an error": true, "without a word": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			h := hostOver(t, transcript.NewMemory(), &host.Options{Model: pieces(func(yield func(message.Block, error) bool) {
				yield(message.Text("half"), nil)
				cancel(errStop)
				if says {
					yield(message.Block{}, errStop)
				}
			})})
			out, err := h.Run(ctx, ref("s"), message.User("hi"), nil)
			require.ErrorIs(t, err, errStop)
			require.Equal(t, "half", out.Reply.Text())
			require.Equal(t, message.StopAborted, out.Reply.StopReason)
		})
	}
}

// A caller that gives a turn a deadline loses no more than one that cancels it: no recovery is
// tried in its name, and what came is stored.
func TestStreamOfATurnAtItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h := hostOver(t, transcript.NewMemory(), &host.Options{Model: pieces(func(yield func(message.Block, error) bool) {
			yield(message.Text("half"), nil)
			<-ctx.Done()
			yield(message.Block{}, ctx.Err())
		})})
		out, err := h.Run(ctx, ref("s"), message.User("hi"), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "half", out.Reply.Text())
		require.Equal(t, message.StopAborted, out.Reply.StopReason)
		require.Len(t, out.Messages, 2)
	})
}
