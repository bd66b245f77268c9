package message

import "slices"

const keyContent = "content"

// Indices of the JSON keys that have a Go field.
const (
	mRole = iota
	mContent
	mTimestamp
	mToolCallID
	mToolName
	mIsError
	mAPI
	mProvider
	mModel
	mStopReason
	mErrorMessage
	mUsage
	mSummary
	mTokensBefore
	messageKeys
)

// messageKey returns the index of a message key, -1 for one without a Go field.
func messageKey(key []byte) int {
	switch string(key) {
	case "role":
		return mRole
	case keyContent:
		return mContent
	case "timestamp":
		return mTimestamp
	case "toolCallId":
		return mToolCallID
	case "toolName":
		return mToolName
	case "isError":
		return mIsError
	case "api":
		return mAPI
	case "provider":
		return mProvider
	case "model":
		return mModel
	case "stopReason":
		return mStopReason
	case "errorMessage":
		return mErrorMessage
	case "usage":
		return mUsage
	case "summary":
		return mSummary
	case "tokensBefore":
		return mTokensBefore
	}
	return -1
}

// standard says which keys the writers of session logs never leave out for a role, so
// that a zero field is written.
type standard struct {
	content, isError, summary, tokensBefore bool
}

func standardKeys(r Role) standard {
	switch r {
	case RoleUser, RoleAssistant, RoleCustom:
		return standard{content: true}
	case RoleToolResult:
		return standard{content: true, isError: true}
	case RoleBranchSummary:
		return standard{summary: true}
	case RoleCompactionSummary:
		return standard{summary: true, tokensBefore: true}
	}
	return standard{}
}

// bKey is a JSON key of a block that some type has a Go field for.
type bKey int

const (
	bType bKey = iota
	bText
	bThinking
	bTextSignature
	bThinkingSignature
	bThoughtSignature
	bSignature
	bID
	bToolCallID
	bName
	bToolName
	bArguments
	bInput
	bData
	bMIMEType
	blockKeys
)

// name returns the key as JSON has it.
func (k bKey) name() string {
	return [...]string{
		"type", "text", "thinking", "textSignature", "thinkingSignature", "thoughtSignature", "signature",
		"id", "toolCallId", "name", "toolName", "arguments", "input", "data", "mimeType",
	}[k]
}

func blockKey(key []byte) bKey {
	switch string(key) {
	case "type":
		return bType
	case "text":
		return bText
	case "thinking":
		return bThinking
	case "textSignature":
		return bTextSignature
	case "thinkingSignature":
		return bThinkingSignature
	case "thoughtSignature":
		return bThoughtSignature
	case "signature":
		return bSignature
	case "id":
		return bID
	case "toolCallId":
		return bToolCallID
	case "name":
		return bName
	case "toolName":
		return bToolName
	case "arguments":
		return bArguments
	case "input":
		return bInput
	case "data":
		return bData
	case "mimeType":
		return bMIMEType
	}
	return -1
}

// typeKeys says under which keys a block type has the Go fields, and which of them its
// writers never leave out.
type typeKeys struct {
	text, signature, id, toolName, arguments bKey

	textual, call, image bool
}

func keysOf(t BlockType) typeKeys {
	keys := typeKeys{text: bText, signature: bSignature, id: bID, toolName: bName, arguments: bArguments}
	switch t {
	case BlockText:
		keys.signature, keys.textual = bTextSignature, true
	case BlockThinking:
		keys.text, keys.signature, keys.textual = bThinking, bThinkingSignature, true
	case BlockImage:
		keys.image = true
	case BlockToolCall, blockFunctionCall:
		keys.signature, keys.call = bThoughtSignature, true
	case blockToolUse:
		keys.signature, keys.arguments, keys.call = bThoughtSignature, bInput, true
	case BlockToolResult:
		keys.id, keys.toolName = bToolCallID, bToolName
	}
	return keys
}

// owns reports whether the key belongs to a Go field of the type.
func (k typeKeys) owns(key string) bool {
	i := blockKey([]byte(key))
	return i >= 0 && slices.Contains([]bKey{bType, k.text, k.signature, k.id, k.toolName, k.arguments, bData, bMIMEType}, i)
}

// Indices of the usage keys.
const (
	uInput = iota
	uOutput
	uCacheRead
	uCacheWrite
	uTotal
	usageKeys
)

func usageKey(key []byte) int {
	switch string(key) {
	case "input":
		return uInput
	case "output":
		return uOutput
	case "cacheRead":
		return uCacheRead
	case "cacheWrite":
		return uCacheWrite
	case "totalTokens":
		return uTotal
	}
	return -1
}
