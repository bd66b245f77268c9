package prune_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain keeps the properties quick: there are as many as passes. -rapid.checks on the
// command line wins.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "60"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
