// Command count runs the tests that ask how the cost of work grows (test/growth) with every statement counted:
//
//	go run ./test/growth/count [FLAG of go test...]
//
// go tool cover adds the counters to copies of the files, which go test compiles in place of the files themselves.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	module = "github.com/netloom/netloom"
	asks   = module + "/test/growth"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
}

func run(flags []string) error {
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	rooms, tests, err := asking()
	if err != nil {
		return err
	}
	packages, err := list(append([]string{"-deps", "-test"}, rooms...)...)
	if err != nil {
		return err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := instrument(packages, dir, overlay); err != nil {
		return err
	}
	args := append([]string{"test", "-overlay", overlay, "-count=1", "-run", "^(" + strings.Join(tests, "|") + ")$"}, flags...)
	cmd := exec.Command("go", append(args, rooms...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	fmt.Printf("go test -run '^(%s)$' %s\n", strings.Join(tests, "|"), strings.Join(rooms, " "))
	return cmd.Run()
}

// pkg is a package as `go list` describes it.
type pkg struct {
	Dir, ImportPath, Name              string
	GoFiles, TestGoFiles, XTestGoFiles []string
	ForTest                            string // the package that it was compiled once more for
}

// asking returns the packages with tests that ask how cost grows, and the names of those tests.
func asking() (rooms, tests []string, err error) {
	all, err := list("./...")
	if err != nil {
		return nil, nil, err
	}
	for _, p := range all {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			found, err := testsOf(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, nil, err
			}
			if len(found) > 0 && !slices.Contains(rooms, p.ImportPath) {
				rooms = append(rooms, p.ImportPath)
			}
			tests = append(tests, found...)
		}
	}
	if len(tests) == 0 {
		return nil, nil, errors.New("no test asks: run it in the root of the module")
	}
	slices.Sort(tests)
	return rooms, slices.Compact(tests), nil
}

// testsOf returns the tests of a file that call growth.NearlyLinear.
func testsOf(file string) ([]string, error) {
	source, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(source, []byte("NearlyLinear(")) {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var tests []string
	for _, d := range parsed.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "Test") {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "NearlyLinear" {
				tests = append(tests, fn.Name.Name)
			}
			return true
		})
	}
	return tests, nil
}

func list(args ...string) ([]pkg, error) {
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Name,GoFiles,TestGoFiles,XTestGoFiles,ForTest"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p pkg
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// instrument writes copies with counters of the files of this module's packages, and the overlay that puts them in place.
func instrument(packages []pkg, dir, overlay string) error {
	replace := map[string]string{}
	var copies [][3]string // the original, the copy and the name of its counters
	for _, p := range packages {
		room, own := strings.CutPrefix(p.ImportPath, module+"/")
		if !own || p.ForTest != "" || strings.HasPrefix(room, "test/") || strings.HasSuffix(room, ".test") {
			continue
		}
		before := len(copies)
		flat := filepath.Join(dir, strings.ReplaceAll(room, "/", "+"))
		register := fmt.Sprintf("package %s\n\nimport \"%s/ops\"\n\nfunc init() {\n", p.Name, asks)
		for i, name := range p.GoFiles {
			source, counters := filepath.Join(p.Dir, name), fmt.Sprintf("statementsOfFile%d", i)
			data, err := os.ReadFile(source)
			if err != nil {
				return err
			}
			if !hasStatements.Match(data) {
				continue
			}
			replace[source] = flat + "+" + name
			copies = append(copies, [3]string{source, replace[source], counters})
			register += fmt.Sprintf("\tops.Count(%[1]s.Count[:], %[1]s.NumStmt[:])\n", counters)
		}
		if len(copies) == before {
			continue
		}
		if err := os.WriteFile(flat+".go", []byte(register+"}\n"), 0o600); err != nil {
			return err
		}
		replace[filepath.Join(p.Dir, "statements_registered.go")] = flat + ".go"
	}
	if err := addCounters(copies); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, data, 0o600)
}

// addCounters has go tool cover write the copies, four at a time.
func addCounters(copies [][3]string) error {
	var wait sync.WaitGroup
	errs := make([]error, len(copies))
	places := make(chan struct{}, 4)
	for i, c := range copies {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			if out, err := exec.Command("go", "tool", "cover", "-mode=count", "-var="+c[2], "-o", c[1], c[0]).CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("go tool cover %s: %w: %s", c[0], err, out)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// hasStatements leaves out files of types and constants alone, which get no counters.
var hasStatements = regexp.MustCompile(`(?m)^func |\bfunc\(`)
