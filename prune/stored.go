package prune

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/go-contextengine/contextengine/message"
)

// Limits for the details of a stored tool result, in bytes.
const (
	// maxStoredDetails is OpenClaw 2026.7.1's limit.
	maxStoredDetails = 8_192
	// maxStoredDetail is the longest single value that the rest of large details keeps.
	maxStoredDetail = 256
)

// CapStored returns a tool result as a host may store it that wants to bound its log: its
// texts within the cap of one result, and of details above 8 KiB only the short values. m
// itself when it is short enough. What is cut is stored nowhere, so the notes name no
// entry; hosts that keep everything leave this to [ToolResults]. opts may be nil; window is
// the model's, in tokens.
func CapStored(m message.Message, window int, opts *ToolResultOptions) message.Message {
	if m.Role != message.RoleToolResult {
		return m
	}
	m = capResult(m, opts.MaxResultChars(window), minKeepChars, notice{})
	if details := m.Details(); len(details) > maxStoredDetails {
		m = m.WithExtra("details", shortDetails(details))
	}
	return m
}

// shortDetails keeps the short values of an object as far as there is room.
func shortDetails(raw json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		all = nil
	}
	some := map[string]json.RawMessage{
		"persistedDetailsTruncated": json.RawMessage("true"),
	}
	room := maxStoredDetails / 2
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if n := len(key) + len(all[key]); len(all[key]) <= maxStoredDetail && n <= room {
			some[key] = all[key]
			room -= n
		}
	}
	out, err := json.Marshal(some)
	if err != nil {
		return json.RawMessage(`{"persistedDetailsTruncated":true}`)
	}
	return out
}
