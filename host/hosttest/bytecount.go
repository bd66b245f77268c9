package hosttest

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// ByteCount is an estimator that counts bytes of text, so that scripts can be reckoned
// by hand.
type ByteCount struct{}

var _ tokens.Estimator = ByteCount{}

// Text implements [tokens.Estimator].
func (ByteCount) Text(s string) int { return len(s) }

// Schema implements [tokens.Estimator]: tools cost nothing.
func (ByteCount) Schema(json.RawMessage) int { return 0 }

// Message implements [tokens.Estimator]: framing costs nothing.
func (ByteCount) Message(m message.Message) int { return len(m.Text()) + len(m.Summary) }
