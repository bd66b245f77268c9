package main

import (
	"context"
	"maps"
	"strings"
)

func precheckOps() map[string]opFunc { return map[string]opFunc{"precheck": opPrecheck} }

// opPrecheck judges a request before it is sent.
func opPrecheck(_ context.Context, w *world, s step) (any, error) {
	p := s.object("params")
	r := read(p)
	b := boundary{
		SystemPrompt: r.text("systemPrompt"), Prompt: r.text("prompt"),
		ContextTokenBudget: r.number("contextTokenBudget"), ReserveTokens: r.number("reserveTokens"),
	}
	var err error
	if b.Messages, err = w.texts.messages(repeated(p["messages"])); err != nil {
		return nil, err
	}
	if !absent(p["unwindowedMessages"]) {
		if b.UnwindowedMessages, err = w.texts.messages(repeated(p["unwindowedMessages"])); err != nil {
			return nil, err
		}
	}
	if err := r.misfit("precheck params"); err != nil {
		return nil, err
	}
	return b.precheck(), nil
}

// repeated writes out messages whose text is given once and a number of times.
func repeated(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = item
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text, isText := m["content"].(string)
		times := read(m).number("repeat")
		if !isText || times == 0 {
			continue
		}
		m = maps.Clone(m)
		delete(m, "repeat")
		m["content"] = strings.Repeat(text, times)
		out[i] = m
	}
	return out
}
