// Command compaction compacts copies of session files for a model with a window of 32,000
// tokens and shows what that does:
//
//	go run ./examples/compaction [session.jsonl ...]
//
// Without a file it takes the sample sessions of the repository. The copies live in memory
// and the summaries are made without a model, so nothing is written and nothing needs a
// network. What is no session is named and left out; it is an error when no file is one.
// The last line is the size of the context before and after, of all sessions together.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		return errors.New("usage: compaction [session.jsonl ...]")
	}
	paths := args
	if len(paths) == 0 {
		var err error
		if paths, err = filepath.Glob(filepath.Join("testdata", "sessions", "*.jsonl")); err != nil {
			return err
		}
		if len(paths) == 0 {
			return errors.New("no sample sessions here: start it where the repository is, or name session files")
		}
	}
	var total sizes
	var failures []error
	for _, path := range paths {
		s, err := one(ctx, w, path)
		if err != nil {
			failures = append(failures, err)
			fmt.Fprintf(w, "%s, left out: %v\n\n", path, err)
			continue
		}
		total.before, total.after = total.before+s.before, total.after+s.after
	}
	if len(failures) == len(paths) {
		return errors.Join(failures...)
	}
	if len(paths) > 1 {
		fmt.Fprintf(w, "%d sessions of %d files\n", len(paths)-len(failures), len(paths))
	}
	fmt.Fprintf(w, "tokens %d -> %d\n", total.before, total.after)
	return nil
}

// sizes are those of a context before and after its compaction, in tokens.
type sizes struct{ before, after int }

// one compacts a copy of one file.
func one(ctx context.Context, w io.Writer, path string) (s sizes, err error) {
	store := transcript.NewMemory()
	session, err := load(ctx, store, path)
	if err != nil {
		return sizes{}, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	fmt.Fprintf(w, "%s, in memory, for a window of %d tokens\n\n", path, window)
	return show(ctx, w, store, session)
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
func show(ctx context.Context, w io.Writer, store transcript.Store, session transcript.Log) (sizes, error) {
	count := tokens.NewMeter(tokens.ScriptAware(), nil)
	opts := &compact.Options{
		Budget:     tokens.NewBudget(window, nil),
		Estimator:  count,
		Summarizer: compact.Extractive(),
	}
	before, err := session.View(ctx)
	if err != nil {
		return sizes{}, err
	}
	plan, err := compact.MakePlan(before, opts)
	if err != nil {
		return sizes{}, err
	}
	fmt.Fprintf(w, "Plan\n%s\n", plan.Explain())
	compactor, err := compact.New(store, opts)
	if err != nil {
		return sizes{}, err
	}
	res, err := compactor.CompactSession(ctx, ce.CompactParams{
		SessionRef: ce.SessionRef{SessionID: session.Header().ID},
		Trigger:    ce.TriggerManual,
	})
	if err != nil {
		return sizes{}, err
	}
	after, err := session.View(ctx)
	if err != nil {
		return sizes{}, err
	}
	fmt.Fprintf(w, "Result\n%s: %s\n", res.Reason, res.Detail)
	if next := res.Reason.NextStep(); next != "" {
		fmt.Fprintln(w, next)
	}
	if err := table(w, count, before.Messages, after.Messages); err != nil {
		return sizes{}, err
	}
	if res.Result != nil {
		fmt.Fprintf(w, "\nSummary\n%s\n", res.Result.Summary)
	}
	fmt.Fprintln(w)
	return sizes{before: count.Messages(before.Messages), after: count.Messages(after.Messages)}, nil
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
