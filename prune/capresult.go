package prune

import (
	"iter"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// Constants of OpenClaw 2026.7.1 for tool results.
const (
	defaultMaxShare       = 0.3 // of the window for one result
	defaultAggregateShare = 0.5 // of the window for all results
	// aggregateFactor times the cap of one result is never too much for all of them.
	aggregateFactor = 4
	// charsPerToken turns a window into characters.
	charsPerToken = 4

	smallCapChars  = 16_000
	largeCapChars  = 32_000
	hugeCapChars   = 64_000
	largeCapTokens = 100_000
	hugeCapTokens  = 200_000
)

// ToolResultOptions bound tool results. Nil and the zero value are the defaults.
type ToolResultOptions struct {
	// MaxShare is the share of the window that the text of one result may take, at four
	// characters a token. Optional. If zero, 0.3.
	MaxShare float64
	// MaxChars caps one result besides MaxShare, in UTF-16 units. Optional. If zero,
	// 16,000, from a window of 100,000 tokens 32,000, from 200,000 tokens 64,000.
	MaxChars int
	// AggregateChars bounds the text of all results together, in UTF-16 units. Optional.
	// If zero, half of the window, and at least four times the cap of one result.
	AggregateChars int
	// AggregateSlack is the share of the aggregate bound that is freed beyond need when it
	// is passed, so that the beginning of the list stays the same for a while. Optional.
	// If zero, 0.2; negative means none.
	AggregateSlack float64
}

// MaxResultChars is how long the text of one tool result may be for a window of the given
// size in tokens, in UTF-16 units. An unknown window, 0, gives 16,000.
func (o *ToolResultOptions) MaxResultChars(window int) int {
	share, limit := defaultMaxShare, autoCap(window)
	if o != nil && o.MaxShare > 0 {
		share = min(1, o.MaxShare)
	}
	if o != nil && o.MaxChars > 0 {
		limit = o.MaxChars
	}
	if window <= 0 {
		return limit
	}
	return max(1, min(int(float64(window)*share)*charsPerToken, limit))
}

// MaxAggregateChars is how long the texts of all tool results together may be, likewise.
func (o *ToolResultOptions) MaxAggregateChars(window int) int {
	if o != nil && o.AggregateChars > 0 {
		return o.AggregateChars
	}
	return max(aggregateFactor*o.MaxResultChars(window), int(float64(max(0, window)*charsPerToken)*defaultAggregateShare))
}

func (o *ToolResultOptions) slack() float64 {
	switch {
	case o == nil || o.AggregateSlack == 0:
		return 0.2
	default:
		return min(1, max(0, o.AggregateSlack))
	}
}

func autoCap(window int) int {
	switch {
	case window >= hugeCapTokens:
		return hugeCapChars
	case window >= largeCapTokens:
		return largeCapChars
	default:
		return smallCapChars
	}
}

// CapResult returns m with its texts cut to limit UTF-16 units together, at least one; m
// itself when it is no tool result or short enough. Several texts share the limit by their
// lengths, and become one where there are too many of them; images and other blocks stay.
// The notes name m.Key as the place of the whole text, so m must be stored in full. At least
// 2,000 units are kept where the limit allows it.
func CapResult(m message.Message, limit int) message.Message {
	return capResult(m, limit, minKeepChars, notice{entry: m.Key})
}

func capResult(m message.Message, limit, minKeep int, note notice) message.Message {
	if m.Role != message.RoleToolResult || !overLimit(&m, limit) {
		return m
	}
	out := capShares(m, limit, minKeep, note)
	if textLen(&out) > limit { // what each keeps at least is too much for all
		return fitResult(m, limit, minKeep, note)
	}
	return out
}

// capShares is OpenClaw's way to cut several texts: each gets its share of the limit, but at
// least minKeep.
func capShares(m message.Message, limit, minKeep int, note notice) message.Message {
	all := textLen(&m)
	minKeep = max(0, min(minKeep, limit-note.floor()))
	m.Content = slices.Clone(m.Content)
	for i := range m.Content {
		b := &m.Content[i]
		if !isText(b) {
			continue
		}
		n := unitLen(b.Text)
		share := int(float64(limit) * (float64(n) / float64(all)))
		room := max(1, min(limit, max(minKeep+unitLen(note.text(n-share)), share)))
		b.Text = truncate(b.Text, room, minKeep, note)
	}
	return withoutForm(m)
}

// fitResult is capResult with the limit kept whatever the number of texts: short ones stay
// and the longer ones share what is left evenly. Where a share would not even hold the
// notice, they become one text.
func fitResult(m message.Message, limit, minKeep int, note notice) message.Message {
	if m.Role != message.RoleToolResult || !overLimit(&m, limit) {
		return m
	}
	limit = max(1, limit) // an empty text is refused
	room := evenShare(&m, limit)
	if room < note.floor() {
		return withOneText(m, truncate(joinedText(&m), limit, min(minKeep, limit/2), note))
	}
	m.Content = slices.Clone(m.Content)
	for i := range m.Content {
		if b := &m.Content[i]; isText(b) {
			b.Text = truncate(b.Text, room, min(minKeep, room/2), note)
		}
	}
	return withoutForm(m)
}

// withOneText returns m with text where its first text was and no other text: providers
// refuse empty ones.
func withOneText(m message.Message, text string) message.Message {
	out := make([]message.Block, 0, len(m.Content))
	first := true
	for _, b := range m.Content {
		switch {
		case !isText(&b):
		case first:
			b.Text, first = text, false
		case b.Type == message.BlockText:
			continue
		default: // the block itself answers a call
			b.Text = ""
		}
		out = append(out, b)
	}
	m.Content = out
	return withoutForm(m)
}

// joinedText is all texts of m, one after the other on lines of their own.
func joinedText(m *message.Message) string {
	return strings.Join(slices.Collect(texts(m)), "\n")
}

// evenShare is the length to which the texts of m must be cut to be limit together.
func evenShare(m *message.Message, limit int) int {
	var lengths []int
	for text := range texts(m) {
		lengths = append(lengths, unitLen(text))
	}
	slices.Sort(lengths)
	for i, n := range lengths {
		share := limit / (len(lengths) - i)
		if n > share {
			return share
		}
		limit -= n
	}
	return limit
}

// isText also knows result blocks inside a result, as some logs have them.
func isText(b *message.Block) bool {
	return b.Type == message.BlockText || b.Type == message.BlockToolResult && b.Text != ""
}

// texts yields the texts of a result in order.
func texts(m *message.Message) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range m.Content {
			if b := &m.Content[i]; isText(b) && !yield(b.Text) {
				return
			}
		}
	}
}

// textLen is the length of all texts of a message in UTF-16 units.
func textLen(m *message.Message) int {
	n := 0
	for text := range texts(m) {
		n += unitLen(text)
	}
	return n
}

// overLimit reports whether textLen is above limit, without counting where bytes tell.
func overLimit(m *message.Message, limit int) bool {
	bytes := textBytes(m)
	return bytes > limit && (bytes > 3*limit || textLen(m) > limit)
}

func textBytes(m *message.Message) int {
	n := 0
	for text := range texts(m) {
		n += len(text)
	}
	return n
}

// keyContent is the JSON key under which a message remembers the notation of its content.
const keyContent = "content"

// withoutForm drops the memory of how the content was written, after a change to it.
func withoutForm(m message.Message) message.Message {
	if _, ok := m.Extra[keyContent]; ok {
		return m.WithExtra(keyContent, nil)
	}
	return m
}
