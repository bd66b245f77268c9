package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/go-contextengine/contextengine/message"
)

// A StreamingModel is a [Model] that answers piece by piece. A Host then asks it by Stream
// alone, for engines and compactions as well, so that what a model said until its turn was
// aborted is not lost. What a user is to see while it comes is shown from within Stream, where
// Request.Purpose is "".
type StreamingModel interface {
	// Stream yields the answer to r. Texts, and thinking, may come in pieces: pieces of
	// the same type in a row are one block. A tool call comes whole. What an answer has
	// besides its content, such as its usage, comes last, see [Finish]. An error ends
	// the stream. r is read-only.
	Stream(ctx context.Context, r Request) iter.Seq2[message.Block, error]
}

// BlockFinish is the type of the block that [Finish] makes. It is not stored.
const BlockFinish message.BlockType = "finish"

// Finish returns the last block of a stream: m is the answer without its content, with
// stop reason, usage, and who answered, as far as known.
func Finish(m message.Message) message.Block {
	m.Role, m.Content = message.RoleAssistant, nil
	raw, err := json.Marshal(m)
	if err != nil { // cannot happen: a message always has a JSON form
		raw = nil
	}
	return message.Block{Type: BlockFinish, Extra: map[string]json.RawMessage{"message": raw}}
}

// errCutShort is why an answer that a stream did not finish is none.
var errCutShort = errors.New("the stream ended before the answer did")

// complete asks the host's model. After an error the message is what came until then.
func (h *Host) complete(ctx context.Context, r Request) (message.Message, error) {
	streaming, ok := h.opts.Model.(StreamingModel)
	if !ok {
		m, err := h.opts.Model.Complete(ctx, r)
		if m.Role == "" {
			m.Role = message.RoleAssistant
		}
		if m.Role != message.RoleAssistant {
			if err == nil {
				err = fmt.Errorf("the model answered with a message of role %q", string(m.Role))
			}
			return message.Message{Usage: m.Usage}, err // paid for, but nothing that may be stored
		}
		return m, err
	}
	return collect(ctx, streaming.Stream(ctx, r))
}

// collect makes a message of a stream.
func collect(ctx context.Context, blocks iter.Seq2[message.Block, error]) (message.Message, error) {
	var content []message.Block
	var end *message.Message
	for b, err := range blocks {
		if err != nil {
			return message.Assistant(content...), err
		}
		if b.Type == BlockFinish {
			end = new(message.Message)
			if err := json.Unmarshal(b.Extra["message"], end); err != nil {
				return message.Assistant(content...), err
			}
			continue
		}
		content = addPiece(content, b)
	}
	m := message.Assistant(content...)
	switch {
	case end != nil:
		m = *end
		m.Role, m.Content = message.RoleAssistant, content
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	case len(content) == 0:
		return m, errCutShort
	}
	if m.StopReason == "" {
		m.StopReason = message.StopEnd
		if slices.ContainsFunc(content, message.Block.IsCall) {
			m.StopReason = message.StopToolUse
		}
	}
	return m, nil
}

// addPiece appends a block, or continues the last one.
func addPiece(content []message.Block, b message.Block) []message.Block {
	n := len(content)
	joins := b.Type == message.BlockText || b.Type == message.BlockThinking
	if !joins || n == 0 || content[n-1].Type != b.Type || content[n-1].Signature != "" {
		return append(content, b)
	}
	content[n-1].Text += b.Text
	content[n-1].Signature = b.Signature
	return content
}
