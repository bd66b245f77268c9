package tokens

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/message"
)

// The fixed costs of what is not text, in tokens. They hold for [ScriptAware], for
// every estimator made by [Framed] and so for the exact counters too: providers do
// not publish how they frame a message.
const (
	// MessageOverhead frames one message: role and separators, as chat templates have them.
	MessageOverhead = 4
	// ToolCallOverhead frames one tool call: its id and the wrapping around name and arguments.
	ToolCallOverhead = 12
	// ToolResultOverhead frames one tool result beside its message: the id of its call.
	ToolResultOverhead = 8
	// SummaryOverhead is the sentence around a branch or compaction summary.
	SummaryOverhead = 40
	// ImageTokens is one image of any size (OpenClaw 2026.9.6 default). Providers
	// charge about 85 to 2,000, by size and detail.
	ImageTokens = 2000
	// AttachmentTokens is one audio clip, file or other block of binary data.
	AttachmentTokens = 2000
	// UnknownBlockOverhead frames a block of unknown type; its text comes on top.
	UnknownBlockOverhead = 16
)

// hiddenCharsPerToken is how many base64 characters of encrypted reasoning stand for
// one token of it: four characters of text, a third more in base64.
const hiddenCharsPerToken = 5

// Framed makes an Estimator of a text counter: count is asked for every text, and
// the documented constants are added for framing, images and other data.
//
//   - Bash messages excluded from the context, which no model sees, cost 0.
//   - An image costs ImageTokens, whatever its data is.
//   - An unknown block costs UnknownBlockOverhead and its JSON as text; each long
//     base64 string in it costs AttachmentTokens instead of its length.
//   - Thinking signatures are not counted beside the thinking they sign. Where the
//     text is withheld, the signature's length stands for it.
//
// count must be safe for concurrent use and return 0 for "".
func Framed(count func(string) int) Estimator {
	return framed{count}
}

type framed struct{ count func(string) int }

func (f framed) Text(s string) int { return f.count(s) }

func (f framed) Schema(tool json.RawMessage) int {
	if len(tool) == 0 {
		return 0
	}
	return MessageOverhead + f.count(string(tool))
}

func (f framed) Message(m message.Message) int {
	n := MessageOverhead
	switch m.Role {
	case message.RoleBashExecution:
		b := m.Bash()
		if b.Exclude {
			return 0
		}
		n += f.count(b.Command) + f.count(b.Output)
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		n += SummaryOverhead + f.count(m.Summary)
	case message.RoleToolResult:
		n += ToolResultOverhead + f.count(m.ToolName)
	}
	for i := range m.Content {
		n += f.block(&m.Content[i])
	}
	return n
}

func (f framed) block(b *message.Block) int {
	switch {
	case b.Type == message.BlockText:
		return f.count(b.Text)
	case b.Type == message.BlockThinking:
		if b.Text == "" {
			return hiddenTokens(b.Signature)
		}
		return f.count(b.Text)
	case b.Type == message.BlockImage:
		return ImageTokens
	case b.IsCall():
		return ToolCallOverhead + f.count(b.Name) + f.count(string(b.Arguments))
	case b.Type == message.BlockToolResult:
		return ToolResultOverhead + f.content(b)
	default:
		return UnknownBlockOverhead + f.content(b)
	}
}

// content is everything a block may hold, binary data at its fixed cost.
func (f framed) content(b *message.Block) int {
	n := f.count(b.Name) + f.count(b.Text) + f.opaqueJSON(b.Arguments) + hiddenTokens(b.Signature)
	if b.Data != "" {
		n += AttachmentTokens
	}
	for key, value := range b.Extra {
		if len(value) > 0 {
			n += f.count(key) + f.opaqueJSON(value)
		}
	}
	return n
}

func hiddenTokens(signature string) int {
	return ceilDiv(len(signature), hiddenCharsPerToken)
}
