package transcript

import (
	"context"

	"github.com/go-contextengine/contextengine/message"
)

// A History is the least a host with its own database must offer; FromHistory makes a Store of it.
type History interface {
	// Load returns all messages of a session in the order in which they were appended. An unknown
	// session is an error matching [io/fs.ErrNotExist], or no messages.
	Load(ctx context.Context, sessionID string) ([]message.Message, error)
	// Append stores messages behind the others, all or none.
	Append(ctx context.Context, sessionID string, ms ...message.Message) error
}

// FromHistory makes a Store of a message list that lives in a database of the host.
func FromHistory(h History) Store { return NewMemory() }
