package message

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Clone returns a copy of ms that shares nothing with it, so that both may be changed. Keys
// are kept. nil stays nil.
func Clone(ms []Message) []Message {
	out := slices.Clone(ms)
	for i := range out {
		out[i].Content = cloneBlocks(out[i].Content)
		out[i].Extra = cloneExtra(out[i].Extra)
		if u := out[i].Usage; u != nil {
			copied := *u
			copied.Extra = cloneExtra(u.Extra)
			out[i].Usage = &copied
		}
	}
	return out
}

func cloneBlocks(blocks []Block) []Block {
	out := slices.Clone(blocks)
	for i := range out {
		out[i].Arguments = bytes.Clone(out[i].Arguments)
		out[i].Extra = cloneExtra(out[i].Extra)
	}
	return out
}

func cloneExtra(extra map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(extra)
	for key, raw := range out {
		out[key] = bytes.Clone(raw)
	}
	return out
}
