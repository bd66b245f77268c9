package prune_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain keeps the properties quick: there are as many as passes. The nightly run and
// -rapid.checks look harder.
func TestMain(m *testing.M) {
	checks := "60"
	if os.Getenv("CONTEXTENGINE_NIGHTLY") != "" {
		checks = "2000"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
