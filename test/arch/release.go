package arch

import (
	"maps"
	"slices"
	"strings"
)

// arrow is an import of one package of this module by another, outside tests.
type arrow struct {
	from, to string // directories
	path     string // the importing file
	line     int
}

// release reports the packages that are made for tests and would be linked into a command. Their names end in "test", as
// in net/http/httptest.
func (c *checker) release() {
	for _, a := range c.reachable() {
		if strings.HasSuffix(a.to, "test") {
			c.fault(a.path, a.line, "import %s: a package for tests would be part of the released command", module+a.to)
		}
	}
}

// reachable returns the imports of every package in a command.
func (c *checker) reachable() []arrow {
	var out []arrow
	seen := map[string]bool{}
	next := slices.DeleteFunc(slices.Collect(maps.Keys(c.arrows)), func(dir string) bool { return !match("cmd/...", dir) })
	for len(next) > 0 {
		dir := next[0]
		next = next[1:]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		for _, a := range c.arrows[dir] {
			out = append(out, a)
			next = append(next, a.to)
		}
	}
	return out
}
