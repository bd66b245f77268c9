package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOwnScenarios runs the scenarios of our own: stories in the recorded language that were not
// recorded. Each step carries what its rule says must come of it, in "expect": ok, the text of
// an engine's error, or that the library fails; what was asked in between ("engine.method" with
// the host-added fields that it received, "factory name", "-" for something that the host notes);
// and the log lines by level. A scenario may say why it is skipped instead.
func TestOwnScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/own-scenarios/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		var list []json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &list), path)
		for _, one := range list {
			sc, err := parseScenario(one)
			require.NoError(t, err)
			group := strings.TrimSuffix(filepath.Base(path), ".json")
			t.Run(group+"/"+sc.ID, func(t *testing.T) {
				t.Parallel()
				testOwnScenario(t, sc, decoded(t, string(one)))
			})
		}
	}
}

func testOwnScenario(t *testing.T, sc *scenario, doc object) {
	sc.ID = "own/" + sc.ID // never that of a recorded one
	got, err := runScenario(t.Context(), sc)
	require.NoError(t, err)
	why, _ := doc["skipped"].(string)
	require.Equal(t, why, got.Skipped)
	if why != "" {
		return
	}
	steps, _ := doc["steps"].([]any)
	want := make([]any, len(steps))
	for i, item := range steps {
		s, _ := item.(map[string]any)
		want[i] = expectedStep(t, s)
	}
	require.Empty(t, compareOutcomes(object{"steps": want}, written(t, got)))
}

// expectedStep writes out the expectation of a step as an outcome.
func expectedStep(t *testing.T, s object) object {
	t.Helper()
	out := object{"op": s["op"]}
	expect, _ := s["expect"].(map[string]any)
	for key, v := range expect {
		switch key {
		case "ok":
			out["ok"] = v
		case "fails":
			out["error"] = object{"identity": "new"}
		case "error":
			out["error"] = object{"identity": "engine", "message": v}
		case "asked":
			list, _ := v.([]any)
			asked := make([]any, len(list))
			for i, item := range list {
				asked[i] = expectedRequest(item.(string))
			}
			out["received"] = asked
		case "log":
			var lines []any
			for level, n := range v.(map[string]any) {
				for range int(n.(float64)) {
					lines = append(lines, object{"level": level})
				}
			}
			out["log"] = lines
		default:
			t.Errorf("an expectation of %q", key)
		}
	}
	return out
}

func expectedRequest(s string) object {
	if name, ok := strings.CutPrefix(s, "factory "); ok {
		return object{"factory": name}
	}
	if s == "-" {
		return object{"host": s}
	}
	call, fields, _ := strings.Cut(strings.TrimSuffix(s, "]"), "[")
	engine, method, _ := strings.Cut(call, ".")
	keys := []any{}
	for field := range strings.SplitSeq(fields, ",") {
		if field != "" {
			keys = append(keys, field)
		}
	}
	return object{"engine": engine, "method": method, "keys": keys}
}
