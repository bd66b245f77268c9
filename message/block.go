package message

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// BlockType names what a block holds. Unknown types are legal and survive.
type BlockType string

// The block types of a session log.
const (
	BlockText     BlockType = "text"
	BlockThinking BlockType = "thinking"
	BlockImage    BlockType = "image"
	BlockToolCall BlockType = "toolCall"
	// BlockToolResult is a result inside another message, as some providers send it.
	// Logs normalise it into a RoleToolResult message when it is appended; see [SplitResults].
	BlockToolResult BlockType = "toolResult"

	// Other spellings of a call that occur in logs. [Block.IsCall] knows them.
	blockToolUse      BlockType = "toolUse"
	blockFunctionCall BlockType = "functionCall"
	// Another spelling of a result block; its call is not one of ours unless an id matches.
	blockToolResultSnake BlockType = "tool_result"
)

// Valid reports whether t is one of the exported types. An invalid type is not an error.
func (t BlockType) Valid() bool {
	switch t {
	case BlockText, BlockThinking, BlockImage, BlockToolCall, BlockToolResult:
		return true
	}
	return false
}

// A Block is one piece of content. Like a Message it is immutable once handed over.
type Block struct {
	Type BlockType
	// Text is the text of text and thinking blocks. JSON has it under "thinking" for the
	// latter, under "text" for all others.
	Text string
	// Signature proves to the provider that it made the block; it is replayed only to the
	// same model. JSON has it under textSignature, thinkingSignature or thoughtSignature
	// (tool calls), by type.
	Signature string
	// ID and Name identify a tool call and its tool. On a tool result block they are the
	// id of the call that is answered and the tool's name.
	ID, Name string
	// Arguments are a tool call's arguments, byte for byte as they came. What is not JSON
	// is written as a JSON string of the same text.
	Arguments json.RawMessage
	// Data is an image in base64, MIMEType its type.
	Data     string
	MIMEType string
	// Extra holds the remaining fields under the rules of [Message.Extra].
	Extra map[string]json.RawMessage
}

// Text returns a text block.
func Text(s string) Block {
	return Block{Type: BlockText, Text: s}
}

// Thinking returns a block of the model's reasoning with the provider's signature, "" for
// none.
func Thinking(text, signature string) Block {
	return Block{Type: BlockThinking, Text: text, Signature: signature}
}

// Image returns an image block; data is base64.
func Image(data, mimeType string) Block {
	return Block{Type: BlockImage, Data: data, MIMEType: mimeType}
}

// ToolCall returns a call block. It keeps arguments. Empty arguments become {}, and
// arguments that are not JSON, which models do produce, a JSON string of the same text, so
// that the block survives storage.
func ToolCall(id, name string, arguments json.RawMessage) Block {
	return Block{Type: BlockToolCall, ID: id, Name: name, Arguments: validArguments(arguments)}
}

// IsCall reports whether b is a tool call, in any spelling that logs contain: toolCall,
// toolUse (whose arguments JSON calls input) or functionCall.
func (b Block) IsCall() bool {
	return isCall(b.Type)
}

// ExtraString returns the string in Extra under key, "" when there is none.
func (b Block) ExtraString(key string) string {
	s, _ := jsonx.String(b.Extra[key])
	return s
}

func validArguments(arguments json.RawMessage) json.RawMessage {
	switch {
	case len(arguments) == 0:
		return json.RawMessage(`{}`)
	case json.Valid(arguments):
		return arguments
	default:
		return quote(string(arguments))
	}
}

func quote(s string) json.RawMessage {
	return jsonx.AppendString(nil, s)
}
