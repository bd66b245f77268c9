package internal_test

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// undocumented returns what a user of the library can see without a comment: public
// packages, their exported constants, variables, functions, types and methods, the
// methods of their interfaces and the fields of their structs. A comment covers the
// constants or fields that follow it up to the next blank line, that of a struct its
// first ones.
func undocumented(all []source) []string {
	var out []string
	packageDoc := map[string]bool{}
	for _, s := range production(all) {
		if !isPublic(s.dir()) || s.file.Name.Name == "main" {
			continue
		}
		packageDoc[s.dir()] = packageDoc[s.dir()] || says(s.file.Doc)
		for _, decl := range s.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && !says(d.Doc) {
					out = append(out, s.at(d, "%s has no comment", d.Name.Name))
				}
			case *ast.GenDecl:
				out = append(out, undocumentedSpecs(s, d)...)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packageDoc)) {
		if !packageDoc[dir] {
			out = append(out, "package "+dir+" has no comment")
		}
	}
	return out
}

func undocumentedSpecs(s source, d *ast.GenDecl) []string {
	var out []string
	covered := says(d.Doc) // of a group: covers its first lines, as a comment on them would
	end := 0
	for _, spec := range d.Specs {
		line := s.fset.Position(spec.Pos()).Line
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			if end != 0 && line > end+1 && !says(d.Doc) {
				covered = false
			}
			covered = covered || says(spec.Doc) || says(spec.Comment)
			for _, name := range spec.Names {
				if name.IsExported() && !covered {
					out = append(out, s.at(name, "%s has no comment", name.Name))
				}
			}
		case *ast.TypeSpec:
			if !spec.Name.IsExported() {
				continue
			}
			if !says(spec.Doc) && !says(spec.Comment) && (d.Lparen.IsValid() || !says(d.Doc)) {
				out = append(out, s.at(spec, "%s has no comment", spec.Name.Name))
			}
			out = append(out, undocumentedMembers(s, spec)...)
		}
		end = s.fset.Position(spec.End()).Line
	}
	return out
}

// undocumentedMembers looks into interfaces with several methods and into structs. An
// interface's only method is what the comment on the interface is about.
func undocumentedMembers(s source, spec *ast.TypeSpec) []string {
	var fields *ast.FieldList
	covered, end := false, 0
	switch typ := spec.Type.(type) {
	case *ast.InterfaceType:
		if typ.Methods.NumFields() < 2 {
			return nil
		}
		fields = typ.Methods
	case *ast.StructType:
		fields, covered = typ.Fields, true
	default:
		return nil
	}
	var out []string
	for _, f := range fields.List {
		start := f.Pos()
		if f.Doc != nil {
			start = f.Doc.Pos()
		}
		if end != 0 && s.fset.Position(start).Line > end+1 {
			covered = false
		}
		covered = covered || says(f.Doc) || says(f.Comment)
		for _, name := range f.Names {
			if name.IsExported() && !covered {
				out = append(out, s.at(name, "%s.%s has no comment", spec.Name.Name, name.Name))
			}
		}
		end = s.fset.Position(f.End()).Line
	}
	return out
}

// exportedReceiver reports whether d is a function or a method of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return token.IsExported(t.Name)
		default:
			return false
		}
	}
}

// says reports whether a comment holds words, not only a directive.
func says(c *ast.CommentGroup) bool {
	return c != nil && len(strings.Fields(c.Text())) > 1
}
