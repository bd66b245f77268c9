package transcript

import (
	"context"
	"errors"

	"github.com/go-contextengine/contextengine/message"
)

// A Replacement is a new message for an entry.
type Replacement struct {
	EntryID string // entry id, or the message's key
	Message message.Message
}

// A RewriteRequest asks for messages to be replaced.
type RewriteRequest struct {
	Replacements          []Replacement
	AllowedSuffixEntryIDs []string   // rows allowed from the first replacement on; nil: the branch as of Generation
	Generation            Generation // with a nil guard it must still hold, else Reason is "suffix_changed"
}

// A RewriteResult says what a rewrite did.
type RewriteResult struct {
	Changed          bool
	BytesFreed       int64
	RewrittenEntries int
	Reason           string
}

func (h *handle) Rewrite(ctx context.Context, r RewriteRequest) (RewriteResult, error) {
	return RewriteResult{}, errors.ErrUnsupported
}
