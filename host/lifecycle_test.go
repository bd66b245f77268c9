package host_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/go-contextengine/contextengine/host"
)

var update = flag.Bool("update", false, "rewrite the traces of the lifecycle scripts")

// TestLifecycle plays the scripts: actions of a host in, the ordered trace of hooks
// out. The first line of each names the rule that it shows.
func TestLifecycle(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "lifecycle", "*.txtar"))
	require.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			ar := txtar.Parse(raw)
			rule, _, _ := strings.Cut(string(ar.Comment), "\n")
			require.NotEmpty(t, strings.TrimSpace(rule), "the first line names the rule")
			got := play(t, section(t, ar, "host"), section(t, ar, "do"))
			if *update {
				setSection(ar, "trace", got)
				require.NoError(t, os.WriteFile(file, txtar.Format(ar), 0o644))
				return
			}
			if diff := cmp.Diff(section(t, ar, "trace"), got); diff != "" {
				t.Errorf("%s\n%s", rule, diff)
			}
		})
	}
	require.GreaterOrEqual(t, len(files), 35)
}

func play(t *testing.T, config, actions string) (trace string) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.play(config, s.configuration())
		h, err := host.New(s.store, &s.opts)
		require.NoError(t, err)
		s.host = h
		s.play(actions, s.actions())
		s.others.Wait()
		trace = strings.Join(s.tape.take(), "\n") + "\n"
		if s.forked != "" {
			trace = strings.ReplaceAll(trace, s.forked, "fork")
		}
		_ = h.Close(t.Context())    // the scripts that care close it themselves
		<-time.After(2 * time.Hour) // the bubble's clock: calls that were abandoned come back
	})
	return trace
}

func section(t *testing.T, ar *txtar.Archive, name string) string {
	t.Helper()
	for _, f := range ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	if name == "trace" {
		return ""
	}
	t.Fatalf("no section %q", name)
	return ""
}

func setSection(ar *txtar.Archive, name, text string) {
	for i := range ar.Files {
		if ar.Files[i].Name == name {
			ar.Files[i].Data = []byte(text)
			return
		}
	}
	ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(text)})
}
