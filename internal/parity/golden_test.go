package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGolden keeps every recorded result that is checked in, and every case of our own: their
// results follow from the rules that the recordings show, for values that these leave out.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"golden", "own"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, path := range files {
			t.Run(dir+"/"+filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				outcomes, err := runGoldenFile(path)
				require.NoError(t, err)
				for _, o := range outcomes {
					if o.Verdict == verdictFailed {
						t.Errorf("%s: %s:\n%s", o.Case.Fn, o.Case.Name, o.Detail)
					}
				}
			})
		}
	}
}

// TestGoldenDeliberate keeps the list free of rules that no case meets, and of functions that are
// compared.
func TestGoldenDeliberate(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	for _, path := range files {
		if dir := filepath.Base(filepath.Dir(path)); dir != "golden" && dir != "own" {
			continue
		}
		outcomes, err := runGoldenFile(path)
		require.NoError(t, err)
		for _, o := range outcomes {
			met[o.Case.Fn+o.Detail] = true
		}
	}
	list, err := deliberateGolden()
	require.NoError(t, err)
	funcs := goldenFuncs()
	for _, d := range list {
		require.True(t, d.Rule == "" || slices.ContainsFunc(d.Fn, func(fn string) bool { return met[fn+d.Reason] }), d.Rule)
		for _, fn := range d.Fn {
			_, read := goldenReadings()[fn]
			require.Equal(t, d.Rule != "", read || funcs[fn] != nil, fn)
		}
	}
	require.ErrorContains(t, skipBy("no such rule"), "no such rule")
}

func TestGoldenCompare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		want, got string
		err       error
		equal     bool
	}{
		{name: "numbers and order of members", want: `{"a":1,"b":[2]}`, got: `{"b":[2],"a":1.0}`, equal: true},
		{name: "float tolerance", want: `0.3`, got: `0.30000000000000004`, equal: true},
		{name: "float beyond tolerance", want: `0.3`, got: `0.300001`},
		{name: "null is absent", want: `{"a":null}`, got: `{}`, equal: true},
		{name: "absent is null", want: `{}`, got: `{"a":null}`, equal: true},
		{name: "undefined result", want: ``, got: `null`, equal: true},
		{name: "null in a list counts", want: `[null]`, got: `[]`},
		{name: "extra member", want: `{}`, got: `{"a":1}`},
		{name: "throws", want: `{"$throws":"x"}`, err: errors.New("y"), equal: true},
		{name: "throws but did not", want: `{"$throws":"x"}`, got: `1`},
		{name: "unexpected error", want: `1`, err: errors.New("y")},
		{name: "now as number", want: `"<now>"`, got: `1785000000000`, equal: true},
		{name: "now is no text", want: `"<now>"`, got: `"soon"`},
		{name: "placeholder inside", want: `"s.bak-<stamp>"`, got: `"s.bak-77"`, equal: true},
		{name: "ids in order", want: `["new1","new2","new1"]`, got: `["x","y","x"]`, equal: true},
		{name: "ids mixed up", want: `["new1","new2","new1"]`, got: `["x","y","y"]`},
		{name: "ids not distinct", want: `["id1","id2"]`, got: `["x","x"]`},
		{name: "row of JSON", want: `"{\"a\":1,\"t\":<now>}"`, got: `"{\"t\":5,\"a\":1}"`, equal: true},
		{name: "row of JSON differs", want: `"{\"a\":1}"`, got: `"{\"a\":2}"`},
		{name: "own words", want: `"[openclaw] lost"`, got: `"gone"`, equal: true},
		{name: "type differs", want: `"1"`, got: `1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			diff := compareGolden(json.RawMessage(tt.want), json.RawMessage(tt.got), tt.err)
			require.Equal(t, tt.equal, diff == "", "difference: %s", diff)
		})
	}
}

func TestGoldenExpand(t *testing.T) {
	t.Parallel()
	got, err := expand(json.RawMessage(`{"a":[{"$concat":[["ab",2],["\n<",1]]}],"n":1.50}`))
	require.NoError(t, err)
	require.Equal(t, `{"a":["abab\n<"],"n":1.50}`, string(got))
	_, err = expand(json.RawMessage(`{"$concat":[["a",-1]]}`))
	require.Error(t, err)
}

func TestGoldenCommand(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"cases":[{"fn":"noSuchFunction","name":"n"}]}`), 0o600))
	var out, errOut bytes.Buffer
	require.Equal(t, 0, run(t.Context(), []string{"golden", path}, &out, &errOut))
	require.Equal(t, "x.json: noSuchFunction: 1 skipped: no function of this name\n0 passed, 0 failed, 1 skipped\n", out.String())
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"cases":[]}`, `{"cases":[{"fn":1}]}`, `{"cases":[{"name":"n"}]}`} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		require.Equal(t, 1, run(t.Context(), []string{"golden", path}, &out, &errOut), bad)
	}
	require.Equal(t, 1, run(t.Context(), []string{"golden", path + "x"}, &out, &errOut))
	require.Equal(t, 2, run(t.Context(), nil, &out, &errOut))
	require.Equal(t, 1, run(t.Context(), []string{"golden"}, &out, &errOut))
}

func TestGoldenCaseKinds(t *testing.T) {
	t.Parallel()
	funcs := map[string]goldenFunc{
		"skips":  func(json.RawMessage) (any, error) { return nil, &skipError{Reason: "not ours"} },
		"panics": func(json.RawMessage) (any, error) { panic("boom") },
		"echoes": func(in json.RawMessage) (any, error) { return decodeInput[string](in) },
	}
	for fn, want := range map[string]verdict{
		"skips": verdictSkipped, "panics": verdictFailed, "echoes": verdictPassed, "other": verdictSkipped,
	} {
		c := goldenCase{Fn: fn, Input: json.RawMessage(`{"$concat":[["a",3]]}`), Output: json.RawMessage(`"aaa"`)}
		require.Equal(t, want, runGoldenCase(funcs, c).Verdict, fn)
	}
}
