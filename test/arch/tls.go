package arch

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// tlsConfigs reports TLS configurations without a minimum version, or with an old one, and those that verify no
// certificate. Tests may do either, to see the effect.
func (c *checker) tlsConfigs(f *file) {
	name := importedAs(f, "crypto/tls")
	if name == "" || f.test {
		return
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isSelector(n.Type, name, "Config") {
				c.tlsLiteral(f, n, name)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "new" && len(n.Args) == 1 && isSelector(n.Args[0], name, "Config") {
				c.fault(f.path, f.line(n), "new(tls.Config): write a literal with MinVersion")
			}
		case *ast.ValueSpec:
			if isSelector(n.Type, name, "Config") {
				c.fault(f.path, f.line(n), "var of tls.Config: write a literal with MinVersion")
			}
		case *ast.AssignStmt:
			c.tlsAssignment(f, n)
		}
		return true
	})
}

// tlsLiteral checks one literal of tls.Config. Code that verifies certificates itself may disable Go's verification.
func (c *checker) tlsLiteral(f *file, lit *ast.CompositeLit, name string) {
	fields := map[string]ast.Expr{}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				fields[key.Name] = kv.Value
			}
		}
	}
	least := fields["MinVersion"]
	if !isSelector(least, name, "VersionTLS12") && !isSelector(least, name, "VersionTLS13") {
		c.fault(f.path, f.line(lit), "tls.Config: MinVersion has to be tls.VersionTLS12 or tls.VersionTLS13")
	}
	if skip := fields["InsecureSkipVerify"]; skip != nil && !isIdent(skip, "false") && fields["VerifyConnection"] == nil {
		c.fault(f.path, f.line(lit), "tls.Config: InsecureSkipVerify needs a VerifyConnection beside it")
	}
}

// tlsAssignment reports assignments that weaken a configuration later, whatever its variable is called.
func (c *checker) tlsAssignment(f *file, a *ast.AssignStmt) {
	for i, left := range a.Lhs {
		s, ok := left.(*ast.SelectorExpr)
		if !ok || a.Tok != token.ASSIGN || len(a.Rhs) != len(a.Lhs) {
			continue
		}
		if s.Sel.Name == "InsecureSkipVerify" && !isIdent(a.Rhs[i], "false") || s.Sel.Name == "MinVersion" {
			c.fault(f.path, f.line(a), "%s: it belongs into the literal of the tls.Config", s.Sel.Name)
		}
	}
}

// importedAs is f's name for a package of the standard library; "" if f does not import it.
func importedAs(f *file, full string) string {
	for _, spec := range f.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil && imported == full {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(strings.TrimSuffix(full, "/v2"))
		}
	}
	return ""
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && isIdent(s.X, pkg) && s.Sel.Name == name
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
