package internal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A user's module that requires only this one must build without a module proxy and
// with an empty module cache: nothing else may be needed, not even a checksum.
func TestProgramWithOneRequirementBuilds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the library in a module of its own; the long run does it")
	}
	root := moduleRoot(t)
	out, err := buildConsumer(t, root, modulePath, "ContextEngine")
	require.NoError(t, err, out)

	// The same build must be able to fail: the message package has no such type.
	out, err = buildConsumer(t, root, modulePath+"/message", "Missing")
	require.Error(t, err)
	require.Contains(t, out, "Missing")
}

// buildConsumer builds a throw-away program that uses one type of one package.
func buildConsumer(t *testing.T, root, pkg, typ string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, format string, args ...any) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, format, args...), 0o600))
	}
	write("go.mod", "module example.com/consumer\n\ngo %s\n\nrequire %s v0.0.0\n\nreplace %s => %s\n",
		goDirective(t, root), modulePath, modulePath, root)
	write("main.go", "package main\n\nimport lib %q\n\nfunc main() {\n\tvar v lib.%s\n\t_ = v\n}\n", pkg, typ)

	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "consumer.bin"), ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOTOOLCHAIN=local", "GOMODCACHE="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// goDirective returns the Go version that the library's go.mod asks for.
func goDirective(t *testing.T, root string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	match := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(content))
	require.Len(t, match, 2)
	return strings.TrimSpace(match[1])
}
