package hosttest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

//go:embed testdata/lifecycle/*.txtar
var scripts embed.FS

// Scripts has the lifecycle scripts, as text archives (golang.org/x/tools/txtar) by
// name. See [Script] for what they hold.
func Scripts() fs.FS {
	sub, err := fs.Sub(scripts, "testdata/lifecycle")
	if err != nil { // cannot happen: the folder is embedded
		return scripts
	}
	return sub
}

// A Script is what a user of a driver does, and the trace that comes of it.
type Script struct {
	Rule  string // what the script shows
	Host  string // how the host is set up
	Do    string // what its user does
	Trace string // the calls that engines got, in order, between the user's actions
}

// ParseScript reads a text archive: the rule in its first line, then the sections host,
// do and trace.
func ParseScript(raw []byte) (Script, error) {
	var s Script
	sections := map[string]*string{"host": &s.Host, "do": &s.Do, "trace": &s.Trace}
	rule, rest, _ := strings.Cut(string(raw), "\n")
	s.Rule = strings.TrimSpace(rule)
	var to *string
	for line := range strings.Lines(rest) {
		name, isName := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if name, isEnd := strings.CutSuffix(name, " --"); isName && isEnd {
			if to = sections[name]; to == nil {
				return s, fmt.Errorf("unknown section %q", name)
			}
			continue
		}
		if to != nil {
			*to += line
		}
	}
	if s.Rule == "" {
		return s, errors.New("the first line names no rule")
	}
	return s, nil
}

// RunLifecycle plays every script against a driver and compares the traces. Each is a
// subtest with a fake clock, named like the script.
func RunLifecycle(t *testing.T, newDriver NewDriver) {
	t.Helper()
	all := Scripts()
	names, err := fs.Glob(all, "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(path.Base(name), ".txtar"), func(t *testing.T) {
			raw, err := fs.ReadFile(all, name)
			if err != nil {
				t.Fatal(err)
			}
			script, err := ParseScript(raw)
			if err != nil {
				t.Fatal(err)
			}
			if got := Play(t, newDriver, script); got != script.Trace {
				t.Errorf("%s\n%s", script.Rule, firstDifference(script.Trace, got))
			}
		})
	}
}

// Play plays a script against a driver, with a fake clock, and returns the trace. A
// script that makes no sense ends the test.
func Play(t *testing.T, newDriver NewDriver, script Script) (trace string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.play(script.Host, s.configuration())
		driver, err := newDriver(s.store, &s.opts)
		s.must(err)
		s.host = driver
		s.play(script.Do, s.actions())
		s.others.Wait()
		trace = strings.Join(s.tape.Take(), "\n") + "\n"
		if s.forked != "" {
			trace = strings.ReplaceAll(trace, s.forked, "fork")
		}
		closing, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = driver.Close(closing)   // the scripts that care close it themselves
		<-time.After(2 * time.Hour) // the bubble's clock: calls that were abandoned come back
	})
	return trace
}

// firstDifference shows where two traces part.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	line := func(lines []string, i int) string {
		if i < len(lines) {
			return lines[i]
		}
		return "(nothing more)"
	}
	for i := range max(len(w), len(g)) {
		if a, b := line(w, i), line(g, i); a != b {
			return fmt.Sprintf("line %d of the trace\nwant: %s\ngot:  %s", i+1, a, b)
		}
	}
	return ""
}
