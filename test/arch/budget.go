package arch

import "go/ast"

// translators is the package whose options have the budget of one object.
const translators = "github.com/netloom/netloom/translator"

// budget reports programs whose translators have another budget for one object than budget.Default, which sources rely on: they drop what a
// NetworkPolicy has beyond it, so that a larger budget would accept what is left of a policy. Tests may set any.
func (c *checker) budget(f *file) {
	name := importedAs(f, translators)
	if name == "" || f.test {
		return
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if !isSelector(n.Type, name, "Options") {
				return true
			}
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok && isBudget(pair.Key) {
					c.fault(f.path, f.line(e), "translator.Options.Budget: %s", defaultOnly)
				}
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if s, ok := to.(*ast.SelectorExpr); ok && isBudget(s.Sel) {
					c.fault(f.path, f.line(n), "Budget: %s", defaultOnly)
				}
			}
		}
		return true
	})
}

const defaultOnly = "only tests may set it; source.trimBeyondBudget drops what is beyond the default"

func isBudget(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "Budget"
}
