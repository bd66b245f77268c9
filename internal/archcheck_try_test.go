package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// made parses made-up files, given as path and content in turn.
func made(t *testing.T, pathsAndContents ...string) []source {
	t.Helper()
	var out []source
	for i := 0; i < len(pathsAndContents); i += 2 {
		s, err := parseSource(pathsAndContents[i], []byte(pathsAndContents[i+1]))
		require.NoError(t, err)
		out = append(out, s)
	}
	return out
}

// importing is a file that imports the given directories of this module.
func importing(dirs ...string) string {
	var b strings.Builder
	b.WriteString("package p\n")
	for _, dir := range dirs {
		b.WriteString("import _ \"" + strings.TrimSuffix(modulePath+"/"+dir, "/.") + "\"\n")
	}
	return b.String()
}

func TestImportViolations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		imports    []string
		want       string // part of the only finding; "": none
	}{
		{"leaf imports nothing", "message/a.go", nil, ""},
		{"leaf points up", "message/a.go", []string{"tokens"}, "message may not import tokens"},
		{"base imports the leaf", "tokens/a.go", []string{"message"}, ""},
		{"base imports its neighbour", "transcript/a.go", []string{"tokens"}, "transcript may not import tokens"},
		{"root imports the base", "engine.go", []string{"message", "tokens", "transcript", "internal/healthfile"}, ""},
		{"root imports what lies above", "engine.go", []string{"compact"}, ". may not import compact"},
		{"root imports another internal package", "engine.go", []string{"internal/lane"}, "internal/lane"},
		{"base imports root", "transcript/a.go", []string{"."}, "transcript may not import ."},
		{"JSON helper from anywhere", "message/a.go", []string{"internal/jsonx"}, ""},
		{"JSON helper imports us", "internal/jsonx/a.go", []string{"message"}, "internal/jsonx may not import message"},
		{"sub-package uses its parent", "tokens/bpe/a.go", []string{"tokens", "message"}, ""},
		{"sub-package uses what its parent may not", "tokens/bpe/a.go", []string{"transcript"}, "tokens/bpe may not import transcript"},
		{"parent uses its sub-package", "tokens/a.go", []string{"tokens/bpe"}, "tokens may not import tokens/bpe"},
		{"sub-package uses its sibling", "tokens/tiktoken/a.go", []string{"tokens/bpe"}, "tokens/tiktoken may not import tokens/bpe"},
		{"package is built of its own internal parts", "compact/a.go", []string{"compact/internal/plan"}, ""},
		{"another's internal parts", "host/a.go", []string{"compact/internal/plan"}, "host may not import compact/internal/plan"},
		{"sub-package of a row far up", "host/hosttest/deep/a.go", []string{"host", "host/hosttest", "prune"}, ""},
		{"root is not everybody's parent", "prune/a.go", []string{"."}, "prune may not import ."},
		{"report", "report/a.go", []string{".", "prompt", "tokens"}, ""},
		{"report does not drive", "report/a.go", []string{"host"}, "report may not import host"},
		{"host", "host/a.go", []string{".", "compact", "prune", "prompt", "report", "internal/turn", "internal/lane"}, ""},
		{"host does not read configuration", "host/a.go", []string{"config"}, "host may not import config"},
		{"doctor uses all below host", "doctor/a.go", []string{"config", "host/hosttest", "report", "internal/json5", "internal/turn", "enginetest"}, ""},
		{"doctor is below the commands", "doctor/a.go", []string{"cli"}, "doctor may not import cli"},
		{"commands use all that is public", "cli/a.go", []string{"doctor", "engines/lossless", "tokens/bpe", "host/hosttest"}, ""},
		{"commands use nothing internal", "cmd/contextengine/a.go", []string{"internal/lane"}, "internal/lane"},
		{"conformance kit", "enginetest/a.go", []string{"host"}, "enginetest may not import host"},
		{"bundled engine lives as a user's would", "engines/lossless/a.go", []string{".", "tokens", "engines/lossless/internal/store"}, ""},
		{"bundled engine uses a helper", "engines/lossless/a.go", []string{"internal/jsonx"}, "internal/jsonx"},
		{"example", "examples/quickstart/main.go", []string{".", "host", "host/hosttest"}, ""},
		{"example uses the driver's insides", "examples/quickstart/main.go", []string{"internal/turn"}, "internal/turn"},
		{"example uses an example", "examples/quickstart/main.go", []string{"examples/agent"}, "examples/agent"},
		{"nested module", "otel/a.go", []string{"internal/lane"}, "internal/lane"},
		{"test helper in production", "host/a.go", []string{"internal/testutil"}, "only tests use it"},
		{"parity runner uses anything", "internal/parity/main.go", []string{"internal/testutil", "internal/lane", "cli"}, ""},
		{"nobody uses the parity runner", "cli/a.go", []string{"internal/parity"}, "nobody imports the parity runner"},
		{"package without a row", "extra/a.go", nil, "no row in the architecture table"},
		{"a generator is no part of the package", "message/gen.go", []string{"host"}, ""},
		{"tests are exempt", "message/a_test.go", []string{"host", "internal/testutil"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code := importing(tt.imports...)
			if strings.HasSuffix(tt.file, "/gen.go") {
				code = "//go:build ignore\n\n" + code
			}
			found := importViolations(architecture(), made(t, tt.file, code))
			requireOnly(t, tt.want, found)
		})
	}
}

func TestThirdPartyViolations(t *testing.T) {
	t.Parallel()
	const foreign = `package p; import _ "example.com/x"`
	tests := []struct {
		name  string
		files []string
		want  string
	}{
		{"standard library", []string{"engine.go", `package p; import (_ "log/slog"; _ "net/http")`}, ""},
		{"in root", []string{"engine.go", foreign}, "engine.go:1: . imports example.com/x"},
		{"cgo", []string{"engine.go", `package p; import "C"`}, ". imports C"},
		{"in a test of root", []string{"engine_test.go", foreign}, ""},
		{"two steps from root", []string{
			"engine.go", importing("transcript"),
			"transcript/a.go", importing("internal/jsonx"),
			"internal/jsonx/a.go", foreign,
		}, "internal/jsonx imports example.com/x"},
		{"not reached", []string{"engine.go", importing("message"), "tokens/tiktoken/a.go", foreign}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			requireOnly(t, tt.want, thirdPartyViolations(made(t, tt.files...), "."))
		})
	}
}

func TestMissingFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "engine.go"), nil, 0o600))
	requireOnly(t, "no legacy.go", missingFiles(dir, "engine.go", "legacy.go"))
}

func TestInitFunctions(t *testing.T) {
	t.Parallel()
	requireOnly(t, "a.go:2: func init", initFunctions(made(t,
		"a.go", "package p\nfunc init() {}",
		"b.go", "package p\nfunc initialise() {}\ntype t struct{}\nfunc (t) init() {}",
		"a_test.go", "package p\nfunc init() {}")))
}

func TestVaguePackageNames(t *testing.T) {
	t.Parallel()
	requireOnly(t, "package utils", vaguePackageNames(made(t,
		"x/a.go", "package utils", "y/a.go", "package message")))
}

func TestMutableVars(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, code string
		want       string
	}{
		{"assertion", "var _ I = (*T)(nil)", ""},
		{"sentinel", `var ErrClosed, errOther = errors.New("closed"), errors.New("other")`, ""},
		{"sentinel by another name", `var Closed = errors.New("closed")`, "Closed"},
		{"error made elsewhere", `var ErrClosed = load()`, "ErrClosed"},
		{"embedded file", "//go:embed a.txt\nvar text string", ""},
		{"pattern", "var digits = regexp.MustCompile(`[0-9]`)", ""},
		{"worked out once", "var load = sync.OnceValue(func() int { return 1 })", ""},
		{"worked out once, typed", "var load = sync.OnceValues[int, error](nil)", ""},
		{"counter", "var n int", "package variable n"},
		{"map", "var m = map[string]int{}", "package variable m"},
		{"lock", "var mu sync.Mutex", "package variable mu"},
		{"cache", "var cache sync.Map", "package variable cache"},
		{"in a group", "var (\n_ = 1\nn int\n)", "a.go:4: package variable n"},
		{"sentinel of a type without state", "var errClosed = closedError{}", ""},
		{"error with state", "var errClosed = &closedError{}", "errClosed"},
		{"look-up array", "var costs = [4]uint8{1, 2}", ""},
		{"look-up array, counted by the compiler", "var names = [...]string{`a`}", ""},
		{"look-up array, exported", "var Costs = [4]uint8{1, 2}", "Costs"},
		{"look-up array, written", "var costs = [4]uint8{1, 2}\nfunc f() { costs[1] = 2 }", "writes the package variable costs"},
		{"slice", "var names = []string{`a`}", "names"},
		{"constant", "const n = 1", ""},
		{"listed", "var table = []int{1, 2}", ""},
		{"listed, read", "var table = []int{1, 2}\nfunc f() int { return table[0] }", ""},
		{"listed, written", "var table = []int{1, 2}\nfunc f() { table[0] = 2 }", "writes the package variable table"},
		{"listed, counted up", "var table = []int{1, 2}\nfunc f() { table[0]++ }", "writes the package variable table"},
		{"listed, cleared", "var table = map[int]int{}\nfunc f() { clear(table) }", "writes the package variable table"},
		{"listed, ranged into", "var table = 1\nfunc f() { for table = range 3 {} }", "writes the package variable table"},
		{"listed, a local of that name", "var table = 1\nfunc f(table []int) { table[0] = 2 }", ""},
		{"sentinel, replaced", "var ErrX = errors.New(\"x\")\nfunc f() { ErrX = nil }", "writes the package variable ErrX"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := map[string]string{}
			if strings.HasPrefix(tt.name, "listed") {
				list["p.table"] = "a look-up table"
			}
			requireOnly(t, tt.want, mutableVars(made(t, "p/a.go", "package p\n"+tt.code), list))
		})
	}
	require.Equal(t, []string{"listed as read-only but not declared: p.gone"},
		mutableVars(nil, map[string]string{"p.gone": "was a look-up table"}))
}

func TestUndocumented(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, code string
		want             string
	}{
		{"all there", "p/a.go", "// Package p is a package.\npackage p\n// F does it.\nfunc F() {}", ""},
		{"package", "p/a.go", "package p", "package p has no comment"},
		{"function", "p/a.go", "// Package p is.\npackage p\nfunc F() {}", "F has no comment"},
		{"only a directive", "p/a.go", "// Package p is.\npackage p\n//go:noinline\nfunc F() {}", "F has no comment"},
		{"method", "p/a.go", "// Package p is.\npackage p\n// T is it.\ntype T struct{}\nfunc (t *T) M() {}", "M has no comment"},
		{"method of a generic type", "p/a.go", "// Package p is.\npackage p\n// T is it.\ntype T[K any] struct{}\nfunc (t *T[K]) M() {}", "M has no comment"},
		{"method of an unexported type", "p/a.go", "// Package p is.\npackage p\ntype t struct{}\nfunc (t) M() {}", ""},
		{"type", "p/a.go", "// Package p is.\npackage p\ntype T int", "T has no comment"},
		{"type in a group", "p/a.go", "// Package p is.\npackage p\n// These are they.\ntype (\nT int\n)", "T has no comment"},
		{"type with a comment behind", "p/a.go", "// Package p is.\npackage p\ntype (\nT int // counts things\n)", ""},
		{"variable", "p/a.go", "// Package p is.\npackage p\nvar ErrX = 1", "ErrX has no comment"},
		{"constants under one comment", "p/a.go", "// Package p is.\npackage p\n// Kinds of it.\nconst (\nA = 1\n\nB = 2\n)", ""},
		{"constant after a gap", "p/a.go", "// Package p is.\npackage p\nconst (\n// A is one.\nA = 1\nA2 = 1\n\nB = 2\n)", "B has no comment"},
		{"field", "p/a.go", "// Package p is.\npackage p\n// T is it.\ntype T struct {\nA int\nB int\n\nC int\n}", "T.C has no comment"},
		{"field after a commented one", "p/a.go", "// Package p is.\npackage p\n// T is it.\ntype T struct {\nA int\n\n// B counts.\nB int\nC int\n}", ""},
		{"unexported field", "p/a.go", "// Package p is.\npackage p\n// T is it.\ntype T struct {\nA int\n\nb int\n}", ""},
		{"interface with one method", "p/a.go", "// Package p is.\npackage p\n// T is it.\ntype T interface{ M() }", ""},
		{"interface with two", "p/a.go", "// Package p is.\npackage p\n// T is it.\ntype T interface {\n// M does it.\nM()\n\nN()\n}", "T.N has no comment"},
		{"internal", "internal/p/a.go", "package p\nfunc F() {}", ""},
		{"program", "p/a.go", "package main\nfunc F() {}", ""},
		{"test", "p/a_test.go", "package p\nfunc F() {}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			requireOnly(t, tt.want, undocumented(made(t, tt.file, tt.code)))
		})
	}
}

// requireOnly wants no finding, or one that contains want.
func requireOnly(t *testing.T, want string, found []string) {
	t.Helper()
	if want == "" {
		require.Empty(t, found)
		return
	}
	require.Len(t, found, 1)
	require.Contains(t, found[0], want)
}
