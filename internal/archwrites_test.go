package internal_test

import (
	"go/ast"
	"go/token"
)

// writes returns the statements that assign to one of the declared package variables
// or to a part of one. It goes by name: a function that declares the name itself is
// taken to mean its own.
func writes(s source, declared map[string]bool) []string {
	var out []string
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		local := localNames(f)
		for _, target := range assigned(f.Body) {
			name := base(target)
			if name != nil && declared[s.dir()+"."+name.Name] && !local[name.Name] {
				out = append(out, s.at(target, "writes the package variable %s", name.Name))
			}
		}
	}
	return out
}

// assigned lists every expression in body that is written: assignments, ++ and --,
// range variables that are not new, and the first argument of delete, clear and copy.
func assigned(body ast.Node) []ast.Expr {
	var out []ast.Expr
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				out = append(out, n.Lhs...)
			}
		case *ast.IncDecStmt:
			out = append(out, n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				out = append(out, n.Key, n.Value)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (f.Name == "delete" || f.Name == "clear" || f.Name == "copy") {
				out = append(out, n.Args[0])
			}
		}
		return true
	})
	return out
}

// base returns the variable at the bottom of x.f[i], *x and the like, or nil.
func base(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.SliceExpr:
		return base(e.X)
	case *ast.SelectorExpr:
		return base(e.X)
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ParenExpr:
		return base(e.X)
	}
	return nil
}

// localNames collects what f declares: receiver, parameters, results and variables.
func localNames(f *ast.FuncDecl) map[string]bool {
	out := map[string]bool{}
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if id, ok := e.(*ast.Ident); ok {
				out[id.Name] = true
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				out[id.Name] = true
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				out[id.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return out
}
