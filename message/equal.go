package message

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// Equal reports whether a and b say the same: all fields except Key, times to the
// millisecond, raw JSON by meaning, and Extra without what only records a notation (a bare
// string as content, an explicit false). nil and empty do not differ. Decoding what was
// encoded gives an equal message.
func Equal(a, b Message) bool {
	return a.Role == b.Role &&
		equalTimes(a.Timestamp, b.Timestamp) &&
		a.ToolCallID == b.ToolCallID && a.ToolName == b.ToolName && a.IsError == b.IsError &&
		a.API == b.API && a.Provider == b.Provider && a.Model == b.Model &&
		a.StopReason == b.StopReason && a.ErrorMessage == b.ErrorMessage &&
		a.Summary == b.Summary && a.TokensBefore == b.TokensBefore &&
		equalUsage(a.Usage, b.Usage) &&
		equalBlocks(a.Content, b.Content) &&
		equalExtra(a.Extra, b.Extra, a.significant, b.significant)
}

func equalTimes(a, b time.Time) bool {
	return a.UnixMilli() == b.UnixMilli() // the zero time is none that a session has
}

func equalUsage(a, b *Usage) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Input == b.Input && a.Output == b.Output && a.CacheRead == b.CacheRead &&
		a.CacheWrite == b.CacheWrite && a.Total == b.Total &&
		equalExtra(a.Extra, b.Extra, a.significant, b.significant)
}

func equalBlocks(a, b []Block) bool {
	return slices.EqualFunc(a, b, equalBlock)
}

func equalBlock(a, b Block) bool {
	return a.Type == b.Type && a.Text == b.Text && a.Signature == b.Signature &&
		a.ID == b.ID && a.Name == b.Name && a.Data == b.Data && a.MIMEType == b.MIMEType &&
		equalArguments(a.Arguments, b.Arguments) &&
		equalExtra(a.Extra, b.Extra, a.significant, b.significant)
}

// equalArguments compares what would be written; see [Block.Arguments].
func equalArguments(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return len(a) > 0 && len(b) > 0 && jsonx.Equal(validArguments(a), validArguments(b))
}

// equalExtra compares extra fields, each side without those that its predicate finds
// insignificant.
func equalExtra(a, b map[string]json.RawMessage, inA, inB func(key string, raw json.RawMessage) bool) bool {
	return covered(a, b, inA) && covered(b, a, inB)
}

// covered reports whether b has all that counts in a.
func covered(a, b map[string]json.RawMessage, counts func(key string, raw json.RawMessage) bool) bool {
	for key, raw := range a {
		if other, ok := b[key]; counts(key, raw) && (!ok || !jsonx.Equal(raw, other)) {
			return false
		}
	}
	return true
}
