package storetest_test

import (
	"path/filepath"
	"testing"

	"github.com/go-contextengine/contextengine/transcript"
	"github.com/go-contextengine/contextengine/transcript/storetest"
)

// A test of a store that survives a restart. Rules lists what is checked; of a store that
// cannot keep one of the rules, Skip says why.
func ExampleRun() {
	TestStore := func(t *testing.T) {
		dirs := map[transcript.Store]string{} // stores are told apart by what they are
		open := func(t *testing.T, dir string) transcript.Store {
			st, err := transcript.OpenDir(dir, nil) // or a store of your own
			if err != nil {
				t.Fatal(err)
			}
			dirs[st] = dir
			return st
		}
		storetest.Run(t, func(t *testing.T) transcript.Store {
			return open(t, filepath.Join(t.TempDir(), "sessions"))
		}, &storetest.Options{
			Reopen: func(t *testing.T, st transcript.Store) transcript.Store { return open(t, dirs[st]) },
		})
	}
	_ = TestStore // go test runs it where it is a function of a file
}
