// Command quickstart shows what the library does with a session file:
//
//	go run ./examples/quickstart [session.jsonl]
//
// It reads the file, copies the session into memory, and runs turns on the copy with
// a model that answers from a script: one with an engine of its own, one after a
// compaction, and one with an engine that panics. Nothing is written to the file and
// nothing needs a network.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run is the whole program.
func run(ctx context.Context, w io.Writer, args []string) error {
	path := filepath.Join("testdata", "sessions", "sample.jsonl")
	switch {
	case len(args) > 1, len(args) == 1 && strings.HasPrefix(args[0], "-"):
		return errors.New("usage: quickstart [session.jsonl]")
	case len(args) == 1:
		path = args[0]
	}
	count := tokens.NewMeter(tokens.ScriptAware(), nil)
	store := transcript.NewMemory()
	session, err := load(ctx, w, store, path, count)
	if errors.Is(err, fs.ErrNotExist) && len(args) == 0 {
		return fmt.Errorf("%w (start it where the repository is, or name a session file)", err)
	}
	if err != nil {
		return err
	}
	return tour(ctx, w, store, session, count)
}

// load prints what a session file holds and copies the session into a store. The file
// is opened for reading only.
func load(ctx context.Context, w io.Writer, store transcript.Store, path string, count *tokens.Meter) (id string, err error) {
	file, err := transcript.OpenFile(path, &transcript.DirOptions{ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := describe(ctx, w, path, file, count); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	copied, err := transcript.Copy(ctx, store, file)
	if err != nil {
		return "", fmt.Errorf("copying %s into memory: %w", path, err)
	}
	return copied.Header().ID, copied.Close()
}
