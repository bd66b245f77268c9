// Command parity measures this library against recorded behaviour of the reference.
//
//	parity golden FILE…            compares recorded function results
//	parity scenario -out DIR FILE… runs recorded scenarios and writes their outcomes
//
// Both read data only and touch nothing outside the output folder and temporary ones.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings passed in; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return usage(stderr)
	}
	var err error
	switch args[0] {
	case "golden":
		err = goldenCommand(args[1:], stdout)
	case "scenario":
		err = scenarioCommand(ctx, args[1:], stdout, stderr)
	case "child":
		err = childCommand(ctx, os.Stdin, stdout)
	default:
		return usage(stderr)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errDifferences):
		return 1
	}
	fmt.Fprintln(stderr, "parity:", err)
	return 1
}

func usage(w io.Writer) int {
	fmt.Fprintln(w, "usage: parity golden FILE…\n       parity scenario -out DIR FILE…")
	return 2
}

// errDifferences says that the run worked and found differences, all of them printed.
var errDifferences = errors.New("differences found")
