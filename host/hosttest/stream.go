package hosttest

import (
	"context"
	"iter"

	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
)

// A StreamModel is a [Model] that answers piece by piece: the blocks of each step's
// message, then the step's error or what the message has besides.
type StreamModel struct{ *Model }

var _ host.StreamingModel = StreamModel{}

// Stream implements [host.StreamingModel].
func (m StreamModel) Stream(ctx context.Context, r host.Request) iter.Seq2[message.Block, error] {
	return func(yield func(message.Block, error) bool) {
		reply, err := m.Complete(ctx, r)
		for _, b := range reply.Content {
			if !yield(b, nil) {
				return
			}
		}
		if err != nil {
			yield(message.Block{}, err)
			return
		}
		yield(host.Finish(reply), nil)
	}
}

// Partial answers with blocks and then hangs until the request's context ends.
func Partial(blocks ...message.Block) Step {
	return func(ctx context.Context, _ host.Request) (message.Message, error) {
		<-ctx.Done()
		return message.Assistant(blocks...), context.Cause(ctx)
	}
}

// Broken answers with blocks and then fails.
func Broken(err error, blocks ...message.Block) Step {
	return func(context.Context, host.Request) (message.Message, error) { return message.Assistant(blocks...), err }
}
