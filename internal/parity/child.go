package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	ce "github.com/go-contextengine/contextengine"
)

// childVariable marks the process of a child step; a test binary looks for it too.
const childVariable = "CONTEXTENGINE_PARITY_CHILD"

func childOps() map[string]opFunc {
	return map[string]opFunc{"child": opChild, "childStop": opChildStop}
}

// openState gives the world a state folder if a step needs another process on it.
func (w *world) openState() error {
	if !slices.ContainsFunc(w.sc.Steps, func(s step) bool { return s.op == "child" }) {
		return nil
	}
	dir, err := os.MkdirTemp("", "parity-state-")
	if err != nil {
		return err
	}
	w.stateDir = dir
	w.reg.Health = ce.FileHealth(dir)
	return nil
}

func (w *world) removeState() {
	if w.stateDir != "" {
		_ = os.RemoveAll(w.stateDir) // a temporary folder
	}
}

// A childRequest says what the other process does: the steps, then its list of quarantines.
type childRequest struct {
	StateDir string `json:"stateDir"`
	Scenario object `json:"scenario"`
}

// A childProcess is a second process on the same state folder.
type childProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// stop lets the process end and waits for it.
func (c *childProcess) stop() {
	if c.cmd == nil {
		return
	}
	_ = c.stdin.Close() // it ends when its input does
	_ = c.cmd.Wait()
	c.cmd = nil
}

func opChild(ctx context.Context, w *world, s step) (any, error) {
	steps, ok := listOf(s.fields["steps"])
	if !ok {
		steps = []any{}
	}
	req := childRequest{StateDir: w.stateDir, Scenario: object{
		"id": w.sc.ID, "engines": objects(w.sc.Engines), "factories": lists(w.sc.Factories), "steps": steps,
	}}
	c, out, err := startChild(ctx, req)
	if err != nil {
		return nil, err
	}
	if s.flag("keepAlive") {
		w.children = append(w.children, c)
	} else {
		c.stop()
	}
	return out, nil
}

func opChildStop(_ context.Context, w *world, _ step) (any, error) {
	for _, c := range w.children {
		c.stop()
	}
	w.children = nil
	return nil, nil
}

func objects(in map[string]object) object {
	out := object{}
	for k, v := range in {
		out[k] = plain(v)
	}
	return out
}

func lists(in map[string][]object) object {
	out := object{}
	for k, list := range in {
		items := make([]any, len(list))
		for i, v := range list {
			items[i] = plain(v)
		}
		out[k] = items
	}
	return out
}

// startChild starts this program again and reads the list that it prints.
func startChild(ctx context.Context, req childRequest) (*childProcess, any, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), exe, "child")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	c := &childProcess{cmd: cmd, stdin: stdin}
	if err := json.NewEncoder(stdin).Encode(req); err != nil {
		c.stop()
		return nil, nil, err
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		c.stop()
		return nil, nil, fmt.Errorf("the other process said nothing: %w", err)
	}
	var reply struct {
		Quarantines []any  `json:"quarantines"`
		Error       string `json:"error"`
	}
	if err := json.Unmarshal(line, &reply); err != nil {
		c.stop()
		return nil, nil, err
	}
	if reply.Error != "" {
		c.stop()
		return nil, nil, errors.New(reply.Error)
	}
	return c, reply.Quarantines, nil
}

// childCommand is the other process: it reads one request, answers with one line and lives
// until its input ends.
func childCommand(ctx context.Context, in io.Reader, out io.Writer) error {
	buffered := bufio.NewReader(in)
	line, err := buffered.ReadBytes('\n')
	if err != nil {
		return err
	}
	reply := object{}
	list, err := runChild(ctx, line)
	if err != nil {
		reply["error"] = err.Error()
	} else {
		reply["quarantines"] = list
	}
	if err := json.NewEncoder(out).Encode(reply); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, buffered)
	return err
}

func runChild(ctx context.Context, request []byte) ([]any, error) {
	var req childRequest
	if err := json.Unmarshal(request, &req); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(req.Scenario)
	if err != nil {
		return nil, err
	}
	sc, err := parseScenario(raw)
	if err != nil {
		return nil, err
	}
	w, err := newWorld(ctx, sc)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.reg.Health = ce.FileHealth(req.StateDir)
	ops := operations()
	for i, s := range sc.Steps {
		if _, err := w.step(ctx, ops, i, s); err != nil {
			return nil, err
		}
	}
	if reason := w.withoutMeaning(); reason != "" {
		return nil, errors.New(reason)
	}
	return quarantineList(w.reg.Quarantines()), nil
}
