// Package internal_test checks the rules of the repository as a whole: which
// package may import which, what is kept out of the library's module graph,
// documentation, and what must not be in tracked files. The checkers are in
// archcheck_test.go and are tried on made-up sources in archcheck_try_test.go.
package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/go-contextengine/contextengine"

// architecture is the import table. A key is a directory relative to the module
// root; a directory without a row takes the row of its nearest ancestor.
func architecture() table {
	// From the root package upward everybody may use the three base packages.
	base := []string{"message", "tokens", "transcript"}
	up := func(dirs ...string) row { return row{dirs: append(dirs, base...)} }

	t := table{
		"message":    {},
		"tokens":     {dirs: []string{"message"}},
		"transcript": {dirs: []string{"message"}},
		".":          up("internal/paramcompat", "internal/healthfile"),

		"compact": up("."),
		"prune":   up(),
		"prompt":  up("."),
		"report":  up(".", "prompt"),
		"host":    up(".", "compact", "prune", "prompt", "report", "internal/turn", "internal/lane"),
		"config":  up(".", "compact", "prune", "prompt", "internal/json5"),

		"cli":               {public: true},
		"cmd/contextengine": {public: true},
		"enginetest":        up("."),
		"engines/lossless":  {dirs: append([]string{"."}, base...), outside: true},
		"examples":          {public: true, outside: true},
		"otel":              {public: true, outside: true},

		"internal/paramcompat": {},
		"internal/healthfile":  {},
		"internal/lane":        {},
		"internal/jsonx":       {},
		"internal/json5":       {},
		"internal/turn":        up(".", "internal/lane"),
		"internal/testutil":    up("."),
		"internal/parity":      {everything: true},
	}
	doctor := []string{"config", "host", "host/hosttest", "enginetest"}
	for _, dir := range []string{"config", "host"} {
		doctor = append(doctor, t[dir].dirs...)
	}
	t["doctor"] = row{dirs: doctor}
	return t
}

// readOnlyVars lists the package-level variables beyond the kinds that mutableVars
// lets through: maps and the like that nothing writes after start, by directory and
// name ("prune.defaults"). Each says why it is neither a constant nor a function.
func readOnlyVars() map[string]string {
	return map[string]string{}
}

func TestImportTable(t *testing.T) {
	t.Parallel()
	none(t, importViolations(architecture(), sources(t)))
}

// A program that imports the root package must need no module but ours.
func TestRootReachesTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	none(t, thirdPartyViolations(sources(t), ".", "message", "tokens", "transcript"))
}

func TestRootFilesExist(t *testing.T) {
	t.Parallel()
	none(t, missingFiles(moduleRoot(t),
		"engine.go", "legacy.go", "registry.go", "quarantine.go",
		"hostreq.go", "runtimesettings.go", "compaction.go", "subagent.go"))
}

func TestNoInitFunctions(t *testing.T) {
	t.Parallel()
	none(t, initFunctions(sources(t)))
}

func TestNoMutablePackageState(t *testing.T) {
	t.Parallel()
	none(t, mutableVars(sources(t), readOnlyVars()))
}

func TestPackageNames(t *testing.T) {
	t.Parallel()
	none(t, vaguePackageNames(sources(t)))
}

func TestExportedIdentifiersAreDocumented(t *testing.T) {
	t.Parallel()
	none(t, undocumented(sources(t)))
}

// none reports each finding on a line of its own.
func none(t *testing.T, findings []string) {
	t.Helper()
	for _, finding := range findings {
		t.Error(finding)
	}
}

// moduleRoot returns the directory of the library's go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "go.mod"))
	return dir
}

// sources parses every Go file of the repository, nested modules included,
// whatever its build constraints; folders that the go command ignores are left out.
func sources(t *testing.T) []source {
	t.Helper()
	root := moduleRoot(t)
	var out []source
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		src, err := parseSource(filepath.ToSlash(rel), content)
		if err != nil {
			return err
		}
		out = append(out, src)
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return out
}
