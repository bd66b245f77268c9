package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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

// A childReply is what the other process says of itself.
type childReply struct {
	Quarantines []any    `json:"quarantines"`
	Differs     []string `json:"differs,omitempty"`
	Skipped     string   `json:"skipped,omitempty"`
	Error       string   `json:"error,omitempty"`
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
	c, reply, err := startChild(ctx, req)
	if err != nil {
		return nil, err
	}
	w.hear(reply)
	if s.flag("keepAlive") {
		w.children = append(w.children, c)
	} else {
		c.stop()
	}
	if reply.Skipped != "" {
		return nil, w.skip(reply.Skipped)
	}
	return reply.Quarantines, nil
}

// hear takes up what another process met that does not compare. The reference mirrors no record
// without a reason, so none is listed in another process.
func (w *world) hear(reply childReply) {
	for _, rule := range reply.Differs {
		w.differ(rule)
	}
	for _, item := range reply.Quarantines {
		q, _ := item.(map[string]any)
		id, _ := q["engineId"].(string)
		if q["reason"] != nil && q["reason"] != "" {
			continue
		}
		w.theirs[id] = true
		if slices.ContainsFunc(w.reg.Quarantines(), func(own ce.Quarantine) bool { return own.EngineID == id }) {
			w.differ(differMirror)
		}
	}
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
func startChild(ctx context.Context, req childRequest) (*childProcess, childReply, error) {
	var reply childReply
	exe, err := os.Executable()
	if err != nil {
		return nil, reply, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), exe, "child")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, reply, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, reply, err
	}
	if err := cmd.Start(); err != nil {
		return nil, reply, err
	}
	c := &childProcess{cmd: cmd, stdin: stdin}
	if err := json.NewEncoder(stdin).Encode(req); err != nil {
		c.stop()
		return nil, reply, err
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		c.stop()
		return nil, reply, fmt.Errorf("the other process said nothing: %w", err)
	}
	if err := json.Unmarshal(line, &reply); err != nil {
		c.stop()
		return nil, reply, err
	}
	if reply.Error != "" {
		c.stop()
		return nil, reply, errors.New(reply.Error)
	}
	return c, reply, nil
}

// childCommand is the other process: it reads one request, answers with one line and lives
// until its input ends.
func childCommand(ctx context.Context, in io.Reader, out io.Writer) error {
	buffered := bufio.NewReader(in)
	line, err := buffered.ReadBytes('\n')
	if err != nil {
		return err
	}
	reply, err := runChild(ctx, line)
	if err != nil {
		reply.Error = err.Error()
	}
	if err := json.NewEncoder(out).Encode(reply); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, buffered)
	return err
}

func runChild(ctx context.Context, request []byte) (childReply, error) {
	var (
		req   childRequest
		reply childReply
	)
	if err := json.Unmarshal(request, &req); err != nil {
		return reply, err
	}
	raw, err := json.Marshal(req.Scenario)
	if err != nil {
		return reply, err
	}
	sc, err := parseScenario(raw)
	if err != nil {
		return reply, err
	}
	w, err := newWorld(ctx, sc)
	if err != nil {
		return reply, err
	}
	defer w.close()
	w.reg.Health = ce.FileHealth(req.StateDir)
	ops := operations()
	for i, s := range sc.Steps {
		if _, err := w.step(ctx, ops, i, s); err != nil {
			return reply, err
		}
	}
	reply.Skipped = w.withoutMeaning()
	reply.Differs = slices.Sorted(maps.Keys(w.differs))
	reply.Quarantines = quarantineList(w.reg.Quarantines())
	return reply, nil
}
