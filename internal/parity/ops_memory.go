package main

import (
	"context"

	ce "github.com/go-contextengine/contextengine"
)

func memoryOps() map[string]opFunc {
	return map[string]opFunc{"memory": opMemory, "memoryPrompt": opMemoryPrompt}
}

// A scriptedMemory is the memory section that a scenario's host lends.
type scriptedMemory struct {
	w      *world
	name   string
	script object
}

var _ ce.MemorySection = (*scriptedMemory)(nil)

// opMemory sets who writes the section from now on: the memory plugin, or one supplement.
func opMemory(_ context.Context, w *world, s step) (any, error) {
	w.memory = nil
	supplements, _ := listOf(s.fields["supplements"])
	capability := s.object("capability")
	if capability != nil && len(supplements) > 0 || len(supplements) > 1 {
		return nil, w.skip("joining the lines of several builders is not driven by this runner")
	}
	name := "capability"
	for _, item := range supplements {
		capability, _ = item.(map[string]any)
		name, _ = capability["pluginId"].(string)
	}
	if capability != nil {
		w.memory = &scriptedMemory{w: w, name: name, script: capability}
	}
	return nil, nil
}

func opMemoryPrompt(_ context.Context, w *world, s step) (any, error) {
	r := read(s.fields)
	tools, mode := r.texts("availableTools"), ce.CitationsMode(r.text("citationsMode"))
	if err := r.misfit("a memory section's inputs"); err != nil {
		return nil, err
	}
	var rt ce.RuntimeContext
	if w.memory != nil {
		rt.Memory = w.memory
	}
	text, err := ce.BuildMemorySystemPromptAddition(ce.LendRuntime(rt), tools, mode)
	if err != nil || text == "" {
		return nil, err
	}
	return text, nil
}

// Lines plays the script.
func (m *scriptedMemory) Lines(tools []string, mode ce.CitationsMode) ([]string, error) {
	params := object{"citationsMode": string(mode)}
	if tools != nil {
		names := make(setValue, len(tools))
		for i, name := range tools {
			names[i] = name
		}
		params["availableTools"] = names
	}
	m.w.record(object{"memoryBuilder": m.name, "params": plain(params)})
	if v, ok := m.script["throw"]; ok {
		return nil, m.w.throw(v, filler{})
	}
	r := read(m.script)
	lines := r.texts("return")
	if err := r.misfit("the lines of a memory section"); err != nil {
		return nil, m.w.skip(err.Error())
	}
	return lines, nil
}
