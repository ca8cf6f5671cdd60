package arch

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Source is one Go file.
type Source struct {
	Path string // from the root of the module, with slashes
	Text []byte
}

// Fault is a violation of a rule by a file.
type Fault struct {
	Path string
	Line int // 1 for problems of the file or the package
	Text string
}

// String formats the fault like a compiler error.
func (f Fault) String() string { return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text) }

// Check returns what is wrong with the files, by path and line; nil when nothing is.
func Check(sources []Source) []Fault {
	c := checker{packages: map[string]*group{}, arrows: map[string][]arrow{}}
	for _, s := range sources {
		c.source(s)
	}
	c.comments()
	c.release()
	c.pauses()
	return c.sorted()
}

// sorted returns the faults by path and line.
func (c *checker) sorted() []Fault {
	slices.SortFunc(c.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return c.faults
}

// checker collects faults file by file.
type checker struct {
	packages map[string]*group  // by directory
	arrows   map[string][]arrow // by the directory they start from
	faults   []Fault
}

// group is what is known of one package.
type group struct {
	first     string // the first file in alphabetical order, "" if all are tests
	described bool
	bubbles   bool    // it tests in bubbles of testing/synctest
	sleeps    []Fault // pauses of its tests
}

// file is a parsed Source with the facts from its path.
type file struct {
	*ast.File
	path, dir string
	test      bool
	set       *token.FileSet
}

func (c *checker) fault(path string, line int, format string, args ...any) {
	c.faults = append(c.faults, Fault{Path: path, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (f *file) line(n ast.Node) int { return f.set.Position(n.Pos()).Line }

// parse reads a file; nil if it does not parse, which is a fault.
func (c *checker) parse(s Source) *file {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, s.Path, s.Text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		c.fault(s.Path, 1, "does not parse: %v", err)
		return nil
	}
	return &file{File: parsed, path: s.Path, dir: path.Dir(s.Path), test: strings.HasSuffix(s.Path, "_test.go"), set: set}
}

// source checks one file against every rule for single files.
func (c *checker) source(s Source) {
	f := c.parse(s)
	if f == nil {
		return
	}
	c.imports(f)
	c.statements(f)
	c.tlsConfigs(f)
	c.servers(f)
	c.budget(f)
	c.luck(f)
	c.describe(f)
	if name := strings.TrimSuffix(f.Name.Name, "_test"); slices.Contains(emptyNames, name) {
		c.fault(f.path, f.line(f.Name), "package %s: the name says nothing; name it after what it contains", name)
	}
	if lines := bytes.Count(s.Text, []byte("\n")); lines > maxLines && !f.test && !ast.IsGenerated(f.File) {
		c.fault(f.path, 1, "%d lines are more than %d: there is a second noun in it", lines, maxLines)
	}
}

// describe records whether the package of f has a doc comment about its job.
func (c *checker) describe(f *file) {
	if f.test {
		return
	}
	g := c.group(f)
	if g.first == "" || f.path < g.first {
		g.first = f.path
	}
	want := "Package " + f.Name.Name + " "
	if f.Name.Name == "main" {
		want = "Command " + path.Base(f.dir) + " "
	}
	g.described = g.described || strings.HasPrefix(f.Doc.Text(), want)
}

// group returns what is known of the package of f.
func (c *checker) group(f *file) *group {
	g := c.packages[f.dir]
	if g == nil {
		g = &group{}
		c.packages[f.dir] = g
	}
	return g
}

// comments reports the packages without a doc comment.
func (c *checker) comments() {
	for _, g := range c.packages {
		if g.first != "" && !g.described {
			c.fault(g.first, 1, "no file of this package has a package comment that says its job")
		}
	}
}

// imports checks every import of f against the table and the doors.
func (c *checker) imports(f *file) {
	row, ok := rowOf(f.dir)
	if !ok {
		c.fault(f.path, 1, "the room %s has no row in the table of test/arch", f.dir)
		return
	}
	pure := isPure(f, row)
	for _, spec := range f.Imports {
		line := f.line(spec)
		full, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			c.fault(f.path, line, "import %s: %v", spec.Path.Value, err)
			continue
		}
		if spec.Name != nil && spec.Name.Name == "." {
			c.fault(f.path, line, "import %s: no dot imports", full)
		}
		short, own := strings.CutPrefix(full, module)
		if own && !f.test {
			c.arrows[f.dir] = append(c.arrows[f.dir], arrow{from: f.dir, to: short, path: f.path, line: line})
		}
		switch {
		case !f.test && matches(reflective, full):
			c.fault(f.path, line, "import %s: the linker would keep every exported method", full)
		case !own && !strings.Contains(strings.SplitN(full, "/", 2)[0], "."):
			if pure && matches(impure, full) {
				c.fault(f.path, line, "import %s: a pure file has no clock, input or output, log or chance", full)
			}
		case own && shut(f, short) != "":
			c.fault(f.path, line, "import %s: %s", full, shut(f, short))
		case !allows(row, f, short):
			c.fault(f.path, line, "import %s: the row of %s does not allow it", full, row.dir)
		}
	}
}

// shut returns why no row could let f import a part of this module, or "".
func shut(f *file, imported string) string {
	for _, d := range doors {
		if match(d.to, imported) && !matches(d.from, f.dir) && (!d.tests || !f.test) {
			return d.because
		}
	}
	return ""
}

// statements reports functions init, and goroutines where none are started.
func (c *checker) statements(f *file) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			c.fault(f.path, f.line(fn), "no init functions: call it where it is needed")
		}
	}
	if f.test || matches(starters, f.dir) || strings.HasSuffix(f.dir, "test") {
		return
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			c.fault(f.path, f.line(g), "this room starts no goroutines")
		}
		return true
	})
}

// rowOf finds the row with the longest directory that dir matches.
func rowOf(dir string) (room, bool) {
	var best room
	for _, r := range rooms {
		if match(r.dir, dir) && len(r.dir) > len(best.dir) {
			best = r
		}
	}
	return best, best.dir != ""
}

// isPure reports whether f must be pure. Tests may use the clock.
func isPure(f *file, row room) bool {
	if f.test {
		return false
	}
	return row.pure || path.Dir(f.dir) == "backends" && slices.Contains(pureFiles, path.Base(f.path))
}

// allows reports whether the row lets f import a package outside the standard library.
func allows(row room, f *file, imported string) bool {
	if f.test && (row.tests == nil || imported == f.dir) {
		return true
	}
	return matches(row.may, imported) || f.test && matches(row.tests, imported)
}

// matches reports whether any of the patterns match p.
func matches(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, p) })
}

// match reports whether p is the pattern, or below it if the pattern ends in "...".
func match(pattern, p string) bool {
	below, wide := strings.CutSuffix(pattern, "...")
	if !wide {
		return pattern == p
	}
	return strings.HasPrefix(p+"/", below)
}
