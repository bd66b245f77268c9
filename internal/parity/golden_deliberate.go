package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// A goldenDeliberate is a difference that we want. One with a Rule is told by what it looks
// like; one without says why functions are not compared at all.
type goldenDeliberate struct {
	Rule   string
	Fn     []string
	Reason string
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
		if len(d.Fn) == 0 || d.Reason == "" {
			return nil, fmt.Errorf("deliberate_golden.json: %q lacks fn or reason", d.Rule)
		}
	}
	return list, nil
}

// A skipError leaves a case out.
type skipError struct{ Reason string }

func (e *skipError) Error() string { return "skipped: " + e.Reason }

// skipBy leaves a case out by a rule of the list.
func skipBy(rule string) error {
	list, err := deliberateGolden()
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.Rule == rule {
			return &skipError{Reason: d.Reason}
		}
	}
	return fmt.Errorf("deliberate_golden.json has no rule %q", rule)
}

// leftOut says why a recorded function is not compared.
func leftOut(fn string) string {
	list, err := deliberateGolden()
	if err != nil {
		return err.Error()
	}
	for _, d := range list {
		if d.Rule == "" && slices.Contains(d.Fn, fn) {
			return d.Reason
		}
	}
	return "no function of this name"
}
