package contextengine_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateReadme = flag.Bool("update-readme", false, "write the code of README.md again")

// readmeCode finds the code blocks of README.md. Each is preceded by a comment that
// names the declaration of readme_example_test.go that it shows:
//
//	<!-- code: Example_quickstart -->
func readmeCode() *regexp.Regexp {
	return regexp.MustCompile("(?s)<!-- code: (\\S+) -->\n```go\n(.*?)```\n")
}

// What README.md shows is compiled and run: its code is that of examples.
func TestReadmeCodeIsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("readme_example_test.go")
	require.NoError(t, err)
	readme := string(raw)

	want := readmeCode().ReplaceAllStringFunc(readme, func(block string) string {
		name := readmeCode().FindStringSubmatch(block)[1]
		return "<!-- code: " + name + " -->\n```go\n" + declaration(t, source, name) + "```\n"
	})
	if *updateReadme {
		require.NoError(t, os.WriteFile("README.md", []byte(want), 0o644))
		return
	}
	require.Equal(t, want, readme, "go test -run Readme -update-readme . writes the code again")
	blocks := readmeCode().FindAllStringSubmatch(readme, -1)
	require.Len(t, blocks, strings.Count(readme, "```go"), "each block of code names its example")

	lines := map[string]int{}
	for _, b := range blocks {
		lines[b[1]] = strings.Count(b[2], "\n")
	}
	require.LessOrEqual(t, lines["Example_quickstart"], 25)
	require.LessOrEqual(t, lines["recent"], 30)
}

// README.md names no package that is not there.
func TestReadmePackagesExist(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(readme), "## Packages\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(table, -1)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			dir := name[1]
			if dir == "contextengine" {
				dir = "."
			}
			files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
			require.NoError(t, err)
			require.NotEmpty(t, files, "package %s", name[1])
		}
	}
}

// declaration returns a piece of source: of a function what is in its body, without the
// output comment and one level of indentation; of a type the type and its methods.
func declaration(t *testing.T, source []byte, name string) string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "source.go", source, parser.ParseComments)
	require.NoError(t, err)
	text := func(from, to token.Pos) string {
		return string(source[fset.Position(from).Offset:fset.Position(to).Offset])
	}
	var parts []string
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			if spec, ok := d.Specs[0].(*ast.TypeSpec); ok && spec.Name.Name == name {
				parts = append(parts, text(start(d, d.Doc), d.End()))
			}
		case *ast.FuncDecl:
			switch {
			case d.Recv == nil && d.Name.Name == name:
				body, _, _ := strings.Cut(text(d.Body.Lbrace+1, d.Body.Rbrace), "\n\t// Output:")
				lines := strings.Split(strings.TrimPrefix(body, "\n"), "\n")
				for i := range lines {
					lines[i] = strings.TrimPrefix(lines[i], "\t")
				}
				return strings.Join(lines, "\n") + "\n"
			case d.Recv != nil && receiver(d) == name:
				parts = append(parts, text(start(d, d.Doc), d.End()))
			}
		}
	}
	require.NotEmpty(t, parts, "readme_example_test.go has no %s", name)
	return strings.Join(parts, "\n\n") + "\n"
}

// start is where a declaration begins, its comment included.
func start(d ast.Decl, doc *ast.CommentGroup) token.Pos {
	if doc != nil {
		return doc.Pos()
	}
	return d.Pos()
}

func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
