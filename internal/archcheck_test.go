package internal_test

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A source is one parsed file; path is relative to the module root, with slashes.
type source struct {
	path string
	fset *token.FileSet
	file *ast.File
}

func parseSource(rel string, content []byte) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, content, parser.ParseComments|parser.SkipObjectResolution)
	return source{path: rel, fset: fset, file: file}, err
}

func (s source) dir() string  { return path.Dir(s.path) }
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) at(n ast.Node, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.fset.Position(n.Pos()).Line, fmt.Sprintf(format, args...))
}

// isIgnored reports whether the file belongs to no package: a generator, run by name.
func (s source) isIgnored() bool {
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if c.Pos() < s.file.Package && constraint.IsGoBuild(c.Text) {
				return strings.TrimSpace(c.Text) == "//go:build ignore"
			}
		}
	}
	return false
}

// production returns the files that are built into a package; only those follow the table.
func production(all []source) []source {
	return slices.DeleteFunc(slices.Clone(all), func(s source) bool { return s.isTest() || s.isIgnored() })
}

// A row says what a package and its sub-packages may import of this module.
type row struct {
	dirs       []string // these directories, exactly
	public     bool     // every public package
	outside    bool     // lives as a user's code would: no internal package, not even jsonx
	everything bool
}

type table map[string]row

// importViolations returns every import edge that the table does not allow.
func importViolations(t table, all []source) []string {
	var out []string
	for _, s := range production(all) {
		for _, spec := range s.file.Imports {
			to, ours := strings.CutPrefix(importPath(spec)+"/", modulePath+"/")
			if !ours {
				continue
			}
			to = path.Clean(to)
			if reason := t.refuses(s.dir(), to); reason != "" {
				out = append(out, s.at(spec, "%s may not import %s: %s", s.dir(), to, reason))
			}
		}
		if _, _, known := t.lookup(s.dir()); !known {
			out = append(out, s.path+": "+s.dir()+" has no row in the architecture table")
		}
	}
	return out
}

// refuses returns why from may not import to, or "".
func (t table) refuses(from, to string) string {
	owner, r, known := t.lookup(from)
	switch {
	case within(to, "internal/parity") && !within(from, "internal/parity"):
		return "nobody imports the parity runner"
	case !known:
		return "no row in the architecture table"
	case r.everything, ownPart(from, to), from != owner && within(from, to) && within(to, owner):
		return ""
	case within(to, "internal/testutil"):
		return "only tests use it"
	case to == "internal/jsonx" && !r.outside && from != to:
		return ""
	case slices.Contains(r.dirs, to), r.public && isPublic(to):
		return ""
	}
	return "not in the row of " + owner
}

// lookup finds the row of dir or of its nearest ancestor.
func (t table) lookup(dir string) (owner string, r row, known bool) {
	for owner = dir; ; owner = path.Dir(owner) {
		if r, known = t[owner]; known && (owner != "." || dir == ".") {
			return owner, r, true
		}
		if owner == "." {
			return "", row{}, false
		}
	}
}

// ownPart reports whether to is an internal sub-package of from or of one of from's
// ancestors below the root: a package may be built of parts that nobody else sees.
func ownPart(from, to string) bool {
	parent, _, isInternal := strings.Cut(to, "/internal/")
	return isInternal && within(from, parent)
}

func within(dir, ancestor string) bool {
	return dir == ancestor || strings.HasPrefix(dir, ancestor+"/")
}

// isPublic reports whether a user of the library could import dir.
func isPublic(dir string) bool {
	first, _, _ := strings.Cut(dir, "/")
	return !slices.Contains(strings.Split(dir, "/"), "internal") &&
		!slices.Contains([]string{"cmd", "examples", "otel", "tools"}, first)
}

// thirdPartyViolations returns the imports from outside the standard library in the
// given packages and in everything of ours that they reach.
func thirdPartyViolations(all []source, roots ...string) []string {
	byDir := map[string][]source{}
	for _, s := range production(all) {
		byDir[s.dir()] = append(byDir[s.dir()], s)
	}
	var out []string
	seen := map[string]bool{}
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		dir := queue[0]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		for _, s := range byDir[dir] {
			for _, spec := range s.file.Imports {
				to := importPath(spec)
				if inside, ours := strings.CutPrefix(to+"/", modulePath+"/"); ours {
					queue = append(queue, path.Clean(inside))
				} else if first, _, _ := strings.Cut(to, "/"); to == "C" || strings.Contains(first, ".") {
					out = append(out, s.at(spec, "%s imports %s, which is not in the standard library", dir, to))
				}
			}
		}
	}
	return out
}

func missingFiles(dir string, names ...string) []string {
	var out []string
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			out = append(out, "the root package has no "+name)
		}
	}
	return out
}

func initFunctions(all []source) []string {
	var out []string
	for _, s := range production(all) {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				out = append(out, s.at(f, "func init"))
			}
		}
	}
	return out
}

func vaguePackageNames(all []source) []string {
	var out []string
	for _, s := range production(all) {
		if slices.Contains([]string{"types", "common", "util", "utils", "models", "pkg", "helpers"}, s.file.Name.Name) {
			out = append(out, s.path+": package "+s.file.Name.Name+" says nothing")
		}
	}
	return out
}

// mutableVars returns the package-level variables that may be state. Let through are
// blank ones, embedded files, what isImmutable knows, and those listed in readOnly as
// "dir.name"; none of these may be written anywhere in the package. A listed name that
// no longer exists is returned too.
func mutableVars(all []source, readOnly map[string]string) []string {
	var out []string
	unused := maps.Clone(readOnly)
	declared := map[string]bool{} // "dir.name"
	for _, s := range production(all) {
		for spec, doc := range varSpecs(s.file) {
			for i, name := range spec.Names {
				if name.Name == "_" {
					continue
				}
				key := s.dir() + "." + name.Name
				declared[key] = true
				delete(unused, key)
				if _, listed := readOnly[key]; !listed && !isEmbedded(doc) && !isImmutable(name.Name, initialiser(spec, i)) {
					out = append(out, s.at(name, "package variable %s: use a constant or a function that returns the value, or list it as read-only", name.Name))
				}
			}
		}
	}
	for _, s := range production(all) {
		out = append(out, writes(s, declared)...)
	}
	for _, key := range slices.Sorted(maps.Keys(unused)) {
		out = append(out, "listed as read-only but not declared: "+key)
	}
	return out
}

// varSpecs yields the package-level variable specs of a file with their comments.
func varSpecs(f *ast.File) func(yield func(*ast.ValueSpec, *ast.CommentGroup) bool) {
	return func(yield func(*ast.ValueSpec, *ast.CommentGroup) bool) {
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				value := spec.(*ast.ValueSpec)
				doc := value.Doc
				if doc == nil {
					doc = gen.Doc
				}
				if !yield(value, doc) {
					return
				}
			}
		}
	}
}

func initialiser(spec *ast.ValueSpec, i int) ast.Expr {
	if i < len(spec.Values) && len(spec.Values) == len(spec.Names) {
		return spec.Values[i]
	}
	return nil
}

func isEmbedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// isImmutable reports whether a variable holds one value for ever unless its own
// package writes it, which writes looks for: a sentinel, a look-up array, a compiled
// pattern, a replacer, or a value that is worked out once on first use. Maps and
// slices are none: whoever gets one can write it.
func isImmutable(name string, value ast.Expr) bool {
	isError := strings.HasPrefix(strings.ToLower(name), "err")
	switch v := value.(type) {
	case *ast.CompositeLit:
		array, ok := v.Type.(*ast.ArrayType)
		return isError && len(v.Elts) == 0 || ok && array.Len != nil && !token.IsExported(name)
	case *ast.CallExpr:
		switch callee(v.Fun) {
		case "errors.New", "fmt.Errorf":
			return isError
		case "regexp.MustCompile", "strings.NewReplacer", "sync.OnceValue", "sync.OnceValues":
			return true
		}
	}
	return false
}

func callee(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.IndexExpr:
		return callee(f.X)
	case *ast.IndexListExpr:
		return callee(f.X)
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}
