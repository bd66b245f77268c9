package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the second process of a child step.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(run(context.Background(), []string{"child"}, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestScenarios keeps every recorded scenario equal to what the reference did, or different in
// a way that deliberate.json gives the reason for.
func TestScenarios(t *testing.T) {
	t.Parallel()
	deliberate, err := deliberateScenarios()
	require.NoError(t, err)
	files, err := filepath.Glob("testdata/scenarios/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		id := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got, err := runScenarioFile(t.Context(), path)
			require.NoError(t, err)
			if got.Skipped != "" {
				require.NotContains(t, deliberate, id, "skipped: %s", got.Skipped)
				return
			}
			diff := compareOutcomes(readOutcome(t, filepath.Join("testdata/outcomes", id+".json")), written(t, got))
			if _, ok := deliberate[id]; ok {
				require.NotEmpty(t, diff, "listed as deliberate but equal")
				return
			}
			require.Empty(t, diff)
		})
	}
}

// TestDeliberateNamesScenarios keeps the list free of names that no scenario has.
func TestDeliberateNamesScenarios(t *testing.T) {
	t.Parallel()
	deliberate, err := deliberateScenarios()
	require.NoError(t, err)
	for id := range deliberate {
		require.FileExists(t, filepath.Join("testdata/scenarios", id+".json"))
	}
}

// TestScenarioCommand runs the subcommand on one file.
func TestScenarioCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{
		"scenario", "-out", dir, "-differs", filepath.Join(dir, "differs.json"),
		"testdata/scenarios/slot-default-no-config.json", "testdata/scenarios/abort-during-string.json",
		"testdata/scenarios/reg-clear-core.json",
	}, &out, &errOut)
	require.Equal(t, 0, status, errOut.String())
	require.Equal(t, "2 ran, 1 skipped\n", out.String())
	differs, err := os.ReadFile(filepath.Join(dir, "differs.json"))
	require.NoError(t, err)
	require.Contains(t, string(differs), differClearCore)
	require.Contains(t, readOutcome(t, filepath.Join(dir, "abort-during-string.json")), "skipped")
	require.Equal(t, 1, run(t.Context(), []string{"scenario"}, &out, &errOut))
	require.Equal(t, 1, run(t.Context(), []string{"scenario", "-out", dir, "testdata/no-such.json"}, &out, &errOut))
}

func TestCompareOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		want, got string
		equal     bool
	}{
		{
			name: "library texts", want: `{"op":"call","error":{"identity":"new","message":"a"}}`,
			got: `{"op":"call","error":{"identity":"signal-reason"}}`, equal: true,
		},
		{
			name: "engine text", want: `{"op":"call","error":{"identity":"engine","message":"a"}}`,
			got: `{"op":"call","error":{"identity":"engine","message":"b"}}`,
		},
		{name: "absent is null", want: `{"op":"call","ok":{"a":null,"b":1}}`, got: `{"op":"call","ok":{"b":1.0}}`, equal: true},
		{name: "empty result", want: `{"op":"call","ok":{}}`, got: `{"op":"call","ok":"$undefined"}`, equal: true},
		{
			name: "nested library error", want: `{"op":"x","ok":{"assert":{"identity":"new","name":"Error"}}}`,
			got: `{"op":"x","ok":{"assert":{"identity":"new"}}}`, equal: true,
		},
		{
			name: "resolve compares id and name", want: `{"op":"resolve","ok":{"info":{"id":"a","name":"b","version":"1"}}}`,
			got: `{"op":"resolve","ok":{"info":{"id":"a","name":"b"}}}`, equal: true,
		},
		{name: "info compares ownership", want: `{"op":"info","ok":{"id":"a","ownsCompaction":true}}`, got: `{"op":"info","ok":{"id":"a"}}`},
		{
			name: "reasons of the library", want: `{"op":"quarantines","ok":[{"engineId":"a","operation":"resolve","reason":"x"}]}`,
			got: `{"op":"quarantines","ok":[{"engineId":"a","operation":"resolve","reason":"y"}]}`, equal: true,
		},
		{
			name: "reasons of an engine", want: `{"op":"quarantines","ok":[{"engineId":"a","operation":"ingest","reason":"x"}]}`,
			got: `{"op":"quarantines","ok":[{"engineId":"a","operation":"ingest","reason":"y"}]}`,
		},
		{
			name: "other keys", want: `{"op":"call","received":[{"engine":"a","method":"m","keys":["messages","prompt"]}]}`,
			got: `{"op":"call","received":[{"engine":"a","method":"m","keys":["prompt"]}]}`, equal: true,
		},
		{
			name: "host keys", want: `{"op":"call","received":[{"engine":"a","method":"m","keys":["prompt"]}]}`,
			got: `{"op":"call","received":[{"engine":"a","method":"m","params":{"sessionKey":1}}]}`,
		},
		{name: "log levels", want: `{"op":"call","log":[{"level":"error"}]}`, got: `{"op":"call","log":[{"level":"warn"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			diff := compareOutcomes(decoded(t, `{"steps":[`+tt.want+`]}`), decoded(t, `{"steps":[`+tt.got+`]}`))
			require.Equal(t, tt.equal, diff == "", diff)
		})
	}
}

func TestParseScenario(t *testing.T) {
	t.Parallel()
	sc, err := parseScenario([]byte(`{"id":"x","engines":{"a":{"info":"$undefined"}},"factories":{"f":{"throw":"t"}},
		"steps":[{"op":"sleep","ms":"$NaN","set":{"$set":[1]}}]}`))
	require.NoError(t, err)
	require.Equal(t, undefinedValue{}, sc.Engines["a"]["info"])
	require.Len(t, sc.Factories["f"], 1)
	require.IsType(t, setValue{}, sc.Steps[0].fields["set"])
	for _, bad := range []string{`[]`, `{}`, `{"id":"x","steps":[{}]}`, `{`} {
		_, err := parseScenario([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestScenarioFaults(t *testing.T) {
	t.Parallel()
	_, err := runScenario(t.Context(), &scenario{ID: "x", Steps: []step{{op: "noSuchOperation", fields: object{}}}})
	require.ErrorContains(t, err, "noSuchOperation")
}

func written(t *testing.T, o outcome) object {
	t.Helper()
	raw, err := encodeOutcome(o)
	require.NoError(t, err)
	return decoded(t, string(raw))
}

func readOutcome(t *testing.T, path string) object {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return decoded(t, string(raw))
}

func decoded(t *testing.T, raw string) object {
	t.Helper()
	var o object
	require.NoError(t, json.Unmarshal([]byte(raw), &o))
	return o
}
