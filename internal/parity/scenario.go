package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A scenario is one story of registrations, resolutions and calls in a fresh process state.
type scenario struct {
	ID          string
	Title       string
	Portability string // what a case leans on that not every language has
	Engines     map[string]object
	Factories   map[string][]object // one behaviour per call, the last repeats
	Steps       []step
}

// A step is one operation with its fields.
type step struct {
	op     string
	fields object
}

func (s step) has(key string) bool { _, ok := s.fields[key]; return ok }

// text gives a field that is a text, else "".
func (s step) text(key string) string { v, _ := s.fields[key].(string); return v }

// number gives a field that is a number, else 0.
func (s step) number(key string) int { n, _ := intOf(s.fields[key]); return n }

func (s step) flag(key string) bool { b, _ := s.fields[key].(bool); return b }

func (s step) object(key string) object { o, _ := s.fields[key].(map[string]any); return o }

// parseScenario reads one scenario file.
func parseScenario(raw []byte) (*scenario, error) {
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	o, ok := literals(v).(map[string]any)
	if !ok {
		return nil, errors.New("a scenario is an object")
	}
	sc := &scenario{Engines: map[string]object{}, Factories: map[string][]object{}}
	r := read(o)
	sc.ID, sc.Title, sc.Portability = r.text("id"), r.text("title"), r.text("portability")
	if sc.ID == "" {
		return nil, errors.New("the scenario has no id")
	}
	engines, _ := o["engines"].(map[string]any)
	for name, e := range engines {
		script, _ := e.(map[string]any)
		sc.Engines[name] = script
	}
	factories, _ := o["factories"].(map[string]any)
	for name, f := range factories {
		sc.Factories[name] = behaviours(f)
	}
	sc.Steps, err = parseSteps(o["steps"])
	return sc, err
}

func parseSteps(v any) ([]step, error) {
	list, _ := listOf(v)
	steps := make([]step, 0, len(list))
	for i, item := range list {
		o, ok := item.(map[string]any)
		op, _ := o["op"].(string)
		if !ok || op == "" {
			return nil, fmt.Errorf("step %d has no op", i)
		}
		steps = append(steps, step{op: op, fields: o})
	}
	return steps, nil
}

// behaviours reads a behaviour or a list of them.
func behaviours(v any) []object {
	list, ok := listOf(v)
	if !ok {
		list = []any{v}
	}
	out := make([]object, 0, len(list))
	for _, item := range list {
		o, _ := item.(map[string]any)
		out = append(out, o)
	}
	return out
}

// An outcome is what one scenario led to.
type outcome struct {
	Scenario string `json:"scenario"`
	// Skipped says why a scenario has no meaning here, then there are no steps, or which
	// rules met on the way differ from the reference on purpose.
	Skipped string `json:"skipped,omitempty"`
	// Differs names the rules met on the way that differ from the reference on purpose.
	Differs []string      `json:"differs,omitempty"`
	Steps   []stepOutcome `json:"steps,omitempty"`
}

// A stepOutcome is what one step gave: OK or Error, and what happened meanwhile.
type stepOutcome struct {
	N                int    `json:"n"`
	Op               string `json:"op"`
	OK               any    `json:"ok,omitempty"`
	Error            object `json:"error,omitempty"`
	Received         []any  `json:"received,omitempty"`
	RuntimeCompactor []any  `json:"runtimeCompactor,omitempty"`
	HostWarnings     int    `json:"hostWarnings,omitempty"`
	Log              []any  `json:"log,omitempty"`
}

// scenarioCommand is the scenario subcommand.
func scenarioCommand(ctx context.Context, args []string, w, stderr io.Writer) error {
	flags := flag.NewFlagSet("scenario", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "folder for the outcomes")
	list := flags.String("differs", "", "file for the list of scenarios that met a rule that differs on purpose")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() == 0 {
		return errors.New("scenario: -out DIR and at least one file are needed")
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	differs := []object{}
	var ran, skipped int
	var faults []error
	for _, path := range flags.Args() {
		o, err := runScenarioFile(ctx, path)
		if err != nil { // the others run all the same
			faults = append(faults, err)
			continue
		}
		if o.Skipped != "" {
			skipped++
		} else {
			ran++
		}
		if len(o.Differs) > 0 {
			differs = append(differs, object{"id": o.Scenario, "reason": strings.Join(o.Differs, "; ")})
		}
		if err := writeOutcome(*out, o); err != nil {
			return err
		}
	}
	if *list != "" {
		if err := writeList(*list, differs); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "%d ran, %d skipped\n", ran, skipped)
	return errors.Join(faults...)
}

func runScenarioFile(ctx context.Context, path string) (outcome, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return outcome{}, err
	}
	sc, err := parseScenario(raw)
	if err != nil {
		return outcome{}, fmt.Errorf("reading %q: %w", path, err)
	}
	return runScenario(ctx, sc)
}

func writeOutcome(dir string, o outcome) error {
	raw, err := encodeOutcome(o)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, o.Scenario+".json"), raw, 0o644)
}

func writeList(path string, list []object) error {
	raw, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

func encodeOutcome(o outcome) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(o); err != nil {
		return nil, fmt.Errorf("writing the outcome of %q: %w", o.Scenario, err)
	}
	return buf.Bytes(), nil
}
