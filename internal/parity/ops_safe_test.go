package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompactionTimeout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		seconds any
		want    int64
	}{
		"default": {nil, 180_000}, "whole": {json.Number("90"), 90_000}, "floored": {json.Number("90.9"), 90_000}, "zero": {json.Number("0"), 180_000}, "text": {"90", 180_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := map[string]any{"agents": map[string]any{"defaults": map[string]any{"compaction": map[string]any{"timeoutSeconds": tc.seconds}}}}
			got, err := opCompactionTimeout(t.Context(), nil, step{fields: object{"config": config}})
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}
