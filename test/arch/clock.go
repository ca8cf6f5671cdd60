package arch

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// polls are the functions of testify that look at something until a time of their own is over.
var polls = []string{"Eventually", "Eventuallyf", "EventuallyWithT", "EventuallyWithTf", "Never", "Neverf"}

// waits are the functions of package time after which a test goes on, whatever has happened by then.
var waits = []string{"Sleep", "After", "AfterFunc", "NewTimer", "Tick"}

// seeded are the functions of math/rand that make a source of numbers from a seed; all others of the package draw from one
// that has none.
var seeded = []string{"New", "NewPCG", "NewSource", "NewChaCha8", "NewZipf"}

// CheckLuck returns what is wrong with the tests of files that are in another module, as far as the clock and chance are
// concerned. Dir is where that module is, from the root of this one.
func CheckLuck(dir string, sources []Source) []Fault {
	c := checker{packages: map[string]*group{}}
	for _, s := range sources {
		if f := c.parse(Source{Path: path.Join(dir, s.Path), Text: s.Text}); f != nil {
			c.luck(f)
		}
	}
	c.pauses()
	return c.sorted()
}

// luck reports where tests let the clock or chance decide: polls that end before the test has to, pauses on the real clock,
// and numbers without a seed. A pause is left alone in packages that test in bubbles of testing/synctest, whose clock is not
// real, and where a comment behind it says what it is for: a verdict must not rest on it.
func (c *checker) luck(f *file) {
	if !f.test && !strings.HasPrefix(f.dir, "test/") && !strings.HasSuffix(f.dir, "test") {
		return
	}
	chance := importedAs(f, "math/rand/v2")
	if chance == "" {
		chance = importedAs(f, "math/rand")
	}
	clock := importedAs(f, "time")
	if importedAs(f, "testing/synctest") != "" {
		c.group(f).bubbles = true
	}
	explained := map[int]bool{} // lines
	for _, group := range f.Comments {
		for _, comment := range group.List {
			explained[f.line(comment)] = strings.HasPrefix(comment.Text, "// pause: ")
		}
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch {
		case slices.Contains(polls, s.Sel.Name):
			c.fault(f.path, f.line(n), "%s ends by a clock of its own: wait with test/await", s.Sel.Name)
		case clock != "" && isIdent(s.X, clock) && slices.Contains(waits, s.Sel.Name) && !explained[f.line(n)]:
			g := c.group(f)
			g.sleeps = append(g.sleeps, Fault{f.path, f.line(n), "a pause proves nothing on a busy machine: wait with test/await, or test in a bubble of testing/synctest, or add '// pause: what for'"})
		case chance != "" && isIdent(s.X, chance) && !slices.Contains(seeded, s.Sel.Name):
			c.fault(f.path, f.line(n), "rand.%s has no seed: take one from test/seeds", s.Sel.Name)
		}
		return true
	})
}

// pauses reports those of the packages that have no bubbles. The one that others wait with is the exception.
func (c *checker) pauses() {
	for dir, g := range c.packages {
		if !g.bubbles && dir != "test/await" {
			c.faults = append(c.faults, g.sleeps...)
		}
	}
}
