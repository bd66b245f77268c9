package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/prune"
)

// A goldenFunc runs one of our functions on a recorded input and reduces the result to the
// form that was recorded. A *skipError says that a case does not apply to us; any other
// error stands for a call that threw.
type goldenFunc func(in json.RawMessage) (any, error)

// A goldenReading is a goldenFunc for results that are partly worded by the reference, or
// recorded in one of several forms. It sees what was recorded, and reduces both to what can be
// compared. A *skipError then says that they differ in a way that we want.
type goldenReading func(in json.RawMessage, want any) (got, reduced any, err error)

// goldenReadings is the table of the functions that are compared so.
func goldenReadings() map[string]goldenReading {
	return map[string]goldenReading{
		"repairToolUseResultPairing":             readRepairPairs,
		"convertToLlm":                           readConvertToLLM,
		"buildSessionContext":                    readSessionContext,
		"SessionManager":                         readSessionManager,
		"rewriteTranscriptEntriesInState":        readRewrite,
		"repairSessionFileIfNeeded":              readRepair,
		"serializeConversation":                  readRenderSource,
		"extractOpaqueIdentifiers":               readIdentifiers,
		"classifyCompactionReason":               readEach(classOfReason),
		"formatUnknownCompactionReasonDetail":    readEach(detailOfReason),
		"sanitizeToolCallId":                     readCallID,
		"sanitizeToolCallIdsForCloudCodeAssist":  readCallIDs,
		"calculateMaxToolResultChars":            readCaps((*prune.ToolResultOptions)(nil).MaxResultChars),
		"resolveLiveToolResultAggregateMaxChars": readCaps((*prune.ToolResultOptions)(nil).MaxAggregateChars),
		"dropThinkingBlocks":                     readDropThinking,
		"computeAdaptiveChunkRatio":              readChunkRatio,
		"pruneContextMessages":                   readCacheTTL,
		"truncateToolResultMessage":              readCapResult,
		"shouldCompact":                          readShouldCompact,
	}
}

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

type goldenFile struct {
	Cases []goldenCase `json:"cases"`
}

type goldenCase struct {
	Fn     string          `json:"fn"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
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
}

// goldenCommand is the golden subcommand.
func goldenCommand(files []string, w io.Writer) error {
	if len(files) == 0 {
		return errors.New("golden: no files named")
	}
	count := map[verdict]int{}
	var bad error
	for _, path := range files {
		outcomes, err := runGoldenFile(path)
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		for _, o := range outcomes {
			count[o.Verdict]++
			printGolden(w, o)
		}
		printLeftOut(w, outcomes)
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n",
		count[verdictPassed], count[verdictFailed], count[verdictSkipped])
	if bad == nil && count[verdictFailed] > 0 {
		return errDifferences
	}
	return bad
}

func printGolden(w io.Writer, o goldenOutcome) {
	if o.Verdict == verdictFailed {
		fmt.Fprintf(w, "%s: %s: %s:\n%s", o.File, o.Case.Fn, o.Case.Name, o.Detail)
	}
}

// printLeftOut names the recorded functions of a file that are not compared, each once.
func printLeftOut(w io.Writer, outcomes []goldenOutcome) {
	type group struct{ fn, reason string }
	cases := map[group]int{}
	var order []group
	for _, o := range outcomes {
		if o.Verdict != verdictSkipped {
			continue
		}
		g := group{o.Case.Fn, o.Detail}
		if cases[g]++; cases[g] == 1 {
			order = append(order, g)
		}
	}
	slices.SortFunc(order, func(a, b group) int {
		return cmp.Or(strings.Compare(a.fn, b.fn), strings.Compare(a.reason, b.reason))
	})
	for _, g := range order {
		fmt.Fprintf(w, "%s: %s: %d skipped: %s\n", outcomes[0].File, g.fn, cases[g], g.reason)
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
	if len(f.Cases) == 0 {
		return nil, fmt.Errorf("reading %q: it has no cases", path)
	}
	funcs := goldenFuncs()
	name := filepath.Base(path)
	out := make([]goldenOutcome, 0, len(f.Cases))
	for _, c := range f.Cases {
		if c.Fn == "" {
			return nil, fmt.Errorf("reading %q: case %q names no function", path, c.Name)
		}
		o := runGoldenCase(funcs, c)
		o.File = name
		out = append(out, o)
	}
	return out, nil
}

func runGoldenCase(funcs map[string]goldenFunc, c goldenCase) goldenOutcome {
	o := goldenOutcome{Case: c, Verdict: verdictFailed}
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
	fn, known := funcs[c.Fn]
	if read, ok := goldenReadings()[c.Fn]; ok {
		fn, known = reading(read, &want), true
	}
	if !known {
		o.Verdict, o.Detail = verdictSkipped, leftOut(c.Fn)
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

// reading makes a goldenFunc of read, which puts what is left of the recorded result into want.
func reading(read goldenReading, want *json.RawMessage) goldenFunc {
	return func(in json.RawMessage) (any, error) {
		recorded := any(nil)
		if len(*want) > 0 {
			var err error
			if recorded, err = decodeJSON(*want); err != nil {
				return nil, err
			}
		}
		got, reduced, err := read(in, recorded)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(reduced)
		*want = raw
		return got, err
	}
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
