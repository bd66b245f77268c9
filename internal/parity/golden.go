package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// A goldenFunc runs one of our functions on a recorded input and reduces the result to the
// form that was recorded. A *skipError says that a case does not apply to us; any other
// error stands for a call that threw.
type goldenFunc func(in json.RawMessage) (any, error)

// goldenFuncs is the table of every function that can be compared, by recorded name.
func goldenFuncs() map[string]goldenFunc {
	all := map[string]goldenFunc{}
	for _, area := range []map[string]goldenFunc{
		tokenFuncs(), transcriptFuncs(), messageFuncs(), compactFuncs(), pruneFuncs(), hostFuncs(),
	} {
		maps.Copy(all, area)
	}
	return all
}

// A skipError is returned by a goldenFunc for a case that has no meaning here.
type skipError struct{ Reason string }

func (e *skipError) Error() string { return "skipped: " + e.Reason }

// skipCase makes a goldenFunc leave a case out, with the reason.
func skipCase(reason string) error { return &skipError{Reason: reason} }

type goldenFile struct {
	Cases []goldenCase `json:"cases"`
}

type goldenCase struct {
	Fn     string          `json:"fn"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
}

// A goldenDeliberate is a difference that we want. An empty Name covers every case of Fn in File.
type goldenDeliberate struct {
	File   string `json:"file"`
	Fn     string `json:"fn"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

//go:embed deliberate_golden.json
var deliberateGoldenJSON []byte

// deliberateGolden is the checked-in list of differences that we want.
func deliberateGolden() ([]goldenDeliberate, error) {
	var list []goldenDeliberate
	if err := json.Unmarshal(deliberateGoldenJSON, &list); err != nil {
		return nil, fmt.Errorf("reading deliberate_golden.json: %w", err)
	}
	for _, d := range list {
		if d.File == "" || d.Fn == "" || d.Reason == "" {
			return nil, fmt.Errorf("deliberate_golden.json: %q of %q lacks file, fn or reason", d.Name, d.Fn)
		}
	}
	return list, nil
}

// A verdict is what became of one case.
type verdict string

const (
	verdictPassed  verdict = "passed"
	verdictFailed  verdict = "failed"
	verdictSkipped verdict = "skipped"
)

// A goldenOutcome is the result of one case; Detail is the difference or the reason for the skip.
type goldenOutcome struct {
	File    string
	Case    goldenCase
	Verdict verdict
	Detail  string
	// Equal is set on a deliberate difference that turned out to be none.
	Equal bool
	// Unknown is set on a skipped case of a function that nothing here stands for.
	Unknown bool
}

// goldenCommand is the golden subcommand.
func goldenCommand(files []string, w io.Writer) error {
	if len(files) == 0 {
		return errors.New("golden: no files named")
	}
	count := map[verdict]int{}
	for _, path := range files {
		outcomes, err := runGoldenFile(path)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			count[o.Verdict]++
			printGolden(w, o)
		}
		printUnknown(w, outcomes)
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n",
		count[verdictPassed], count[verdictFailed], count[verdictSkipped])
	if count[verdictFailed] > 0 {
		return errDifferences
	}
	return nil
}

func printGolden(w io.Writer, o goldenOutcome) {
	switch {
	case o.Verdict == verdictFailed:
		fmt.Fprintf(w, "%s: %s: %s:\n%s", o.File, o.Case.Fn, o.Case.Name, o.Detail)
	case o.Equal:
		fmt.Fprintf(w, "%s: %s: %s: listed as deliberate but equal\n", o.File, o.Case.Fn, o.Case.Name)
	}
}

// printUnknown names the recorded functions of a file that are not compared, each once.
func printUnknown(w io.Writer, outcomes []goldenOutcome) {
	cases := map[string]int{}
	for _, o := range outcomes {
		if o.Unknown {
			cases[o.Case.Fn]++
		}
	}
	for _, fn := range slices.Sorted(maps.Keys(cases)) {
		fmt.Fprintf(w, "%s: %s: no function, %d skipped\n", outcomes[0].File, fn, cases[fn])
	}
}

// runGoldenFile runs every case of one file.
func runGoldenFile(path string) ([]goldenOutcome, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f goldenFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, err)
	}
	deliberate, err := deliberateGolden()
	if err != nil {
		return nil, err
	}
	funcs := goldenFuncs()
	name := filepath.Base(path)
	out := make([]goldenOutcome, 0, len(f.Cases))
	for _, c := range f.Cases {
		o := runGoldenCase(funcs, c)
		o.File = name
		if d := findDeliberate(deliberate, name, c); d != nil && o.Verdict != verdictSkipped {
			o.Equal = o.Verdict == verdictPassed && d.Name != ""
			o.Verdict, o.Detail = verdictSkipped, d.Reason
		}
		out = append(out, o)
	}
	return out, nil
}

func findDeliberate(list []goldenDeliberate, file string, c goldenCase) *goldenDeliberate {
	for i, d := range list {
		if d.File == file && d.Fn == c.Fn && (d.Name == "" || d.Name == c.Name) {
			return &list[i]
		}
	}
	return nil
}

func runGoldenCase(funcs map[string]goldenFunc, c goldenCase) goldenOutcome {
	o := goldenOutcome{Case: c, Verdict: verdictFailed}
	fn, ok := funcs[c.Fn]
	if !ok {
		o.Verdict, o.Detail, o.Unknown = verdictSkipped, "no function of this name", true
		return o
	}
	in, err := expand(c.Input)
	if err != nil {
		o.Detail = fmt.Sprintf("  input: %v\n", err)
		return o
	}
	want, err := expand(c.Output)
	if err != nil {
		o.Detail = fmt.Sprintf("  output: %v\n", err)
		return o
	}
	got, err := callGolden(fn, in)
	var skip *skipError
	if errors.As(err, &skip) {
		o.Verdict, o.Detail = verdictSkipped, skip.Reason
		return o
	}
	o.Detail = compareGolden(want, got, err)
	if o.Detail == "" {
		o.Verdict = verdictPassed
	}
	return o
}

// callGolden keeps a panic of one case from ending the run.
func callGolden(fn goldenFunc, in json.RawMessage) (out json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	v, err := fn(in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
