package arch

import (
	"go/ast"
	"strings"
)

// listening is the room that makes HTTP servers, with bounds for their clients.
const listening = "pkg/serve/listener/"

// simulated is what serves the tests and demonstrations of one machine.
const simulated = "pkg/simulator/tungsten/"

// servers reports HTTP servers without the bounds that pkg/serve/listener has. Tests may make their own.
func (c *checker) servers(f *file) {
	name := importedAs(f, "net/http")
	if name == "" || f.test || strings.HasPrefix(f.path, "test/") || strings.HasPrefix(f.path, listening) || strings.HasPrefix(f.path, simulated) {
		return
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isSelector(n.Type, name, "Server") {
				c.fault(f.path, f.line(n), "http.Server: make it with pkg/serve/listener, which bounds its clients")
			}
		case *ast.CallExpr:
			for _, serve := range []string{"ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"} {
				if isSelector(n.Fun, name, serve) {
					c.fault(f.path, f.line(n), "http.%s: serve with pkg/serve/listener, which bounds its clients", serve)
				}
			}
		}
		return true
	})
}
