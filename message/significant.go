package message

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// significant reports whether a field of Extra says something that the Go fields do not:
// every unknown key, and a known one as [adds] tells.
func (m Message) significant(key string, raw json.RawMessage) bool {
	switch k := messageKey([]byte(key)); k {
	case -1:
		return true
	case mContent:
		return m.contentAdds(raw)
	case mIsError:
		_, fit := jsonx.Bool(raw)
		return adds(raw, fit, !m.IsError)
	case mTokensBefore:
		_, fit := intOf(raw)
		return adds(raw, fit, m.TokensBefore == 0)
	case mTimestamp:
		_, fit := timeOf(raw)
		return adds(raw, fit, m.Timestamp.IsZero())
	case mUsage:
		return adds(raw, jsonx.Unfit, m.Usage == nil)
	default:
		return addsText(raw, m.textField(k))
	}
}

// adds reports whether a raw value under a known key, which its field cannot hold, is the
// one that is written.
func adds(raw json.RawMessage, fit jsonx.Fit, zero bool) bool {
	return len(raw) > 0 && fit == jsonx.Unfit && zero
}

// addsText is adds for strings, of which a broken one says more than its field.
func addsText(raw json.RawMessage, field string) bool {
	s, fit := jsonx.String(raw)
	return adds(raw, fit, field == "") || fit == jsonx.Inexact && s == field
}

func (m Message) contentAdds(raw json.RawMessage) bool {
	switch blocks, form := contentOf(raw); {
	case form != formOther:
		return false
	case jsonx.KindOf(raw) == jsonx.Array:
		return equalBlocks(blocks, m.Content)
	default:
		return adds(raw, jsonx.Unfit, len(m.Content) == 0)
	}
}

func (m Message) textField(key int) string {
	switch key {
	case mRole:
		return string(m.Role)
	case mToolCallID:
		return m.ToolCallID
	case mToolName:
		return m.ToolName
	case mAPI:
		return m.API
	case mProvider:
		return m.Provider
	case mModel:
		return m.Model
	case mStopReason:
		return m.StopReason
	case mErrorMessage:
		return m.ErrorMessage
	case mSummary:
		return m.Summary
	}
	return ""
}

func (b Block) significant(key string, raw json.RawMessage) bool {
	keys := keysOf(b.Type)
	if !keys.owns(key) {
		return true
	}
	switch blockKey([]byte(key)) {
	case bType:
		return addsText(raw, string(b.Type))
	case keys.text:
		return addsText(raw, b.Text)
	case keys.signature:
		return addsText(raw, b.Signature)
	case keys.id:
		return addsText(raw, b.ID)
	case keys.toolName:
		return addsText(raw, b.Name)
	case bData:
		return addsText(raw, b.Data)
	case bMIMEType:
		return addsText(raw, b.MIMEType)
	default:
		return adds(raw, jsonx.Unfit, len(b.Arguments) == 0)
	}
}

func (u Usage) significant(key string, raw json.RawMessage) bool {
	_, fit := intOf(raw)
	switch usageKey([]byte(key)) {
	case uInput:
		return adds(raw, fit, u.Input == 0)
	case uOutput:
		return adds(raw, fit, u.Output == 0)
	case uCacheRead:
		return adds(raw, fit, u.CacheRead == 0)
	case uCacheWrite:
		return adds(raw, fit, u.CacheWrite == 0)
	case uTotal:
		return adds(raw, fit, u.Total == 0)
	}
	return true
}
