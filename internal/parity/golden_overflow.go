package main

import (
	"encoding/json"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
)

// overflowFuncs are the recorded recognisers of overflow errors.
func overflowFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"classify":                   goldenClassifyOverflow,
		"isContextOverflow":          goldenReplyOverflowed,
		"isSilentOverflowProneModel": goldenSilentOverflow,
	}
}

// goldenClassifyOverflow answers for every text of the list.
func goldenClassifyOverflow(in json.RawMessage) (any, error) {
	texts, err := decodeInput[[]string](in)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(texts))
	for i, text := range texts {
		s := compact.OverflowSignsOf(text)
		row := map[string]any{
			"message": text, "isLikelyContextOverflowError": s.Likely, "isContextOverflowError": s.Strict,
			"isCompactionFailureError": s.CompactionFailed, "sessionLevel": s.Reply,
		}
		if s.Observed > 0 {
			row["observed"] = s.Observed
		}
		out[i] = row
	}
	return out, nil
}

func goldenReplyOverflowed(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Message       json.RawMessage
		ContextWindow int
	}](in)
	if err != nil {
		return nil, err
	}
	m, err := decodeInput[message.Message](p.Message)
	if err != nil {
		return nil, err
	}
	return compact.ReplyOverflowed(m, p.ContextWindow), nil
}

func goldenSilentOverflow(in json.RawMessage) (any, error) {
	models, err := decodeInput[[]struct{ Provider, ModelID string }](in)
	if err != nil {
		return nil, err
	}
	raw, err := decodeInput[[]json.RawMessage](in)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(models))
	for i, m := range models {
		out[i] = []any{raw[i], compact.SilentOverflowProne(m.Provider, m.ModelID)}
	}
	return out, nil
}
