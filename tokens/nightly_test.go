//go:build nightly

package tokens_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables are what the program makes of the training texts.
func TestNightlyTablesAreReproducible(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" || !strings.HasPrefix(runtime.Version(), "go1.26") {
		t.Skip("the last digit depends on the processor, the scripts on the Go release")
	}
	file := filepath.Join(t.TempDir(), "tables")
	out, err := exec.CommandContext(t.Context(), "go", "run", "fitscript.go", "fitrows.go", "fittexts.go", "fitrender.go", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	want, err := os.ReadFile("scripttables.go")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
