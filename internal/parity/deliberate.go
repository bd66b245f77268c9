package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed deliberate.json
var deliberateJSON []byte

// deliberateScenarios gives the scenarios whose outcome is another one here on purpose, and why.
func deliberateScenarios() (map[string]string, error) {
	var list []struct{ ID, Reason string }
	if err := json.Unmarshal(deliberateJSON, &list); err != nil {
		return nil, fmt.Errorf("reading deliberate.json: %w", err)
	}
	out := map[string]string{}
	for _, d := range list {
		if d.ID == "" || d.Reason == "" {
			return nil, fmt.Errorf("deliberate.json: %q lacks id or reason", d.ID)
		}
		out[d.ID] = d.Reason
	}
	return out, nil
}
