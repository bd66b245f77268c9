// Command compaction compacts a copy of a session file for a model with a window of
// 32,000 tokens and shows what that does:
//
//	go run ./examples/compaction [session.jsonl]
//
// The copy lives in memory and the summary is made without a model, so nothing is
// written and nothing needs a network. The last line is the size of the context before
// and after.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// window is the context window of the model that the session shall fit, in tokens.
const window = 32_000

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compaction:", err)
		os.Exit(1)
	}
}

// run is the whole program.
func run(ctx context.Context, w io.Writer, args []string) error {
	path := filepath.Join("testdata", "sessions", "sample.jsonl")
	switch {
	case len(args) > 1:
		return errors.New("usage: compaction [session.jsonl]")
	case len(args) == 1:
		path = args[0]
	}
	store := transcript.NewMemory()
	session, err := load(ctx, store, path)
	if errors.Is(err, fs.ErrNotExist) && len(args) == 0 {
		return fmt.Errorf("%w (start it where the repository is, or name a session file)", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, in memory, for a window of %d tokens\n\n", path, window)
	return errors.Join(show(ctx, w, store, session), session.Close())
}

// load copies a session file into a store. The file is opened for reading only.
func load(ctx context.Context, store transcript.Store, path string) (_ transcript.Log, err error) {
	file, err := transcript.OpenFile(path, &transcript.DirOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	session, err := transcript.Copy(ctx, store, file)
	if err != nil {
		return nil, fmt.Errorf("copying %s into memory: %w", path, err)
	}
	return session, nil
}

// show plans, compacts and compares.
func show(ctx context.Context, w io.Writer, store transcript.Store, session transcript.Log) error {
	count := tokens.NewMeter(tokens.ScriptAware(), nil)
	opts := &compact.Options{
		Budget:     tokens.NewBudget(window, nil),
		Estimator:  count,
		Summarizer: compact.Extractive(),
	}
	before, err := session.View(ctx)
	if err != nil {
		return err
	}
	plan, err := compact.MakePlan(before, opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Plan\n%s\n", plan.Explain())
	compactor, err := compact.New(store, opts)
	if err != nil {
		return err
	}
	res, err := compactor.CompactSession(ctx, ce.CompactParams{
		SessionRef: ce.SessionRef{SessionID: session.Header().ID},
		Trigger:    ce.TriggerManual,
	})
	if err != nil {
		return err
	}
	after, err := session.View(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Result\n%s: %s\n", res.Reason, res.Detail)
	if next := res.Reason.NextStep(); next != "" {
		fmt.Fprintln(w, next)
	}
	if err := table(w, count, before.Messages, after.Messages); err != nil {
		return err
	}
	if res.Result != nil {
		fmt.Fprintf(w, "\nSummary\n%s\n", res.Result.Summary)
	}
	fmt.Fprintf(w, "\ntokens %d -> %d\n", count.Messages(before.Messages), count.Messages(after.Messages))
	return nil
}

// table compares two lists, role by role.
func table(w io.Writer, count *tokens.Meter, before, after []message.Message) error {
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\n\tmessages\t\ttokens\t\t\n\tbefore\tafter\tbefore\tafter\t\n")
	for _, role := range [...]message.Role{
		message.RoleUser, message.RoleAssistant, message.RoleToolResult, message.RoleCustom,
		message.RoleBashExecution, message.RoleBranchSummary, message.RoleCompactionSummary,
	} {
		b, a := ofRole(before, role), ofRole(after, role)
		if len(b)+len(a) > 0 {
			row(tw, string(role), count, b, a)
		}
	}
	row(tw, "all", count, before, after)
	return tw.Flush()
}

func row(w io.Writer, name string, count *tokens.Meter, before, after []message.Message) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n",
		name, len(before), len(after), count.Messages(before), count.Messages(after))
}

func ofRole(ms []message.Message, role message.Role) []message.Message {
	var out []message.Message
	for _, m := range ms {
		if m.Role == role {
			out = append(out, m)
		}
	}
	return out
}
