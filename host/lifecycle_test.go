package host_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/go-contextengine/contextengine/host/hosttest"
)

var update = flag.Bool("update", false, "rewrite the traces of the lifecycle scripts")

// TestLifecycle plays the scripts: actions of a host in, the ordered trace of hooks
// out. The first line of each names the rule that it shows.
func TestLifecycle(t *testing.T) {
	if *update {
		updateTraces(t)
		return
	}
	hosttest.RunLifecycle(t, hosttest.NewHost)
	names, err := fs.Glob(hosttest.Scripts(), "*.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 65)
}

func updateTraces(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("hosttest", "testdata", "lifecycle", "*.txtar"))
	require.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			script, err := hosttest.ParseScript(raw)
			require.NoError(t, err)
			ar := txtar.Parse(raw)
			files := ar.Files
			ar.Files = nil
			for _, f := range files {
				if f.Name != "trace" {
					ar.Files = append(ar.Files, f)
				}
			}
			ar.Files = append(ar.Files, txtar.File{Name: "trace", Data: []byte(hosttest.Play(t, hosttest.NewHost, script))})
			require.NoError(t, os.WriteFile(file, txtar.Format(ar), 0o644))
		})
	}
}
