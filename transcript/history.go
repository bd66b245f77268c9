package transcript

import (
	"context"

	"github.com/go-contextengine/contextengine/message"
)

// A History is the least a host with its own database must offer; FromHistory makes a Store of it.
type History interface {
	Load(ctx context.Context, sessionID string) ([]message.Message, error)
	Append(ctx context.Context, sessionID string, ms ...message.Message) error
}

// FromHistory makes a Store of a message list that lives in a database of the host.
func FromHistory(h History) Store { return NewMemory() }
