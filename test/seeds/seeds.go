// Package seeds lists what random tests start from, so that a test run repeats the one before it: seeds.txt.
package seeds

import (
	_ "embed"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:embed seeds.txt
var text string

var (
	seedFlag  = flag.Uint64("seed", 0, "run random tests with this seed instead of those that are listed in test/seeds")
	seedsFlag = flag.Uint64("seeds", 1, "with -seed: and with the seeds that follow it, so many in all")
)

// Test is an entry of the list: a random test, its seeds and how `make explore` tries others.
type Test struct {
	Name     string
	Packages []string // of the function that has the name of the test
	Run      string   // the function, or a regular expression for functions
	Flags    []string // that `make explore` runs it with; nil for none
	Seeds    []uint64 // in the order of the list, at least one
}

// Each runs f as a subtest for each seed of a test: the listed ones, with -short the first of them, with -seed that one.
// A subtest that fails says which line would add its seed to the list.
func Each(t *testing.T, name string, f func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range Of(t, name) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("to keep this seed, add to %q in test/seeds/seeds.txt:\n  %d  what it found", name, seed)
				}
			}()
			f(t, seed)
		})
	}
}

// Of returns the seeds that Each runs a test with.
func Of(t testing.TB, name string) []uint64 {
	t.Helper()
	tests, err := List()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tests, func(test Test) bool { return test.Name == name })
	switch {
	case i < 0:
		t.Fatalf("test/seeds/seeds.txt does not list the test %q", name)
	case *seedFlag != 0:
		return span(*seedFlag, *seedFlag+*seedsFlag-1)
	case testing.Short():
		return tests[i].Seeds[:1]
	}
	return tests[i].Seeds
}

// Given reports whether -seed chose the seeds. What a test requires of its listed seeds together may then not hold.
func Given() bool { return *seedFlag != 0 }

// All reports whether Each runs every listed seed: what a test requires of them together holds only then.
func All() bool { return !Given() && !testing.Short() }

// List returns all entries of the list.
func List() ([]Test, error) { return parse(text) }

// parse reads a list. A line that starts in the first column opens an entry: NAME: FUNCTION PACKAGE... [FLAG...]. Each
// indented line below it is a seed, or a range of them, and what it is there for. Lines that start with # are comments.
func parse(text string) ([]Test, error) {
	var tests []Test
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		var err error
		switch {
		case len(fields) == 0 || fields[0][0] == '#':
		case line[0] != ' ':
			var test Test
			if test, err = opened(fields); err == nil && slices.ContainsFunc(tests, func(t Test) bool { return t.Name == test.Name }) {
				err = fmt.Errorf("a second entry %q", test.Name)
			}
			tests = append(tests, test)
		case len(tests) == 0:
			err = fmt.Errorf("a seed before the first test")
		default:
			var found []uint64
			if found, err = seedsOf(fields); err == nil {
				last := &tests[len(tests)-1]
				last.Seeds = append(last.Seeds, found...)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("seeds.txt:%d: %w", i+1, err)
		}
	}
	for _, t := range tests {
		if len(t.Seeds) == 0 {
			return nil, fmt.Errorf("seeds.txt: %q has no seed", t.Name)
		}
	}
	return tests, nil
}

// opened reads the first line of an entry.
func opened(fields []string) (Test, error) {
	name, ok := strings.CutSuffix(fields[0], ":")
	if !ok || len(fields) < 3 {
		return Test{}, fmt.Errorf("%q: expected NAME: FUNCTION PACKAGE... [FLAG...]", strings.Join(fields, " "))
	}
	t := Test{Name: name, Run: fields[1]}
	for _, field := range fields[2:] {
		if strings.HasPrefix(field, "-") {
			t.Flags = append(t.Flags, field)
		} else {
			t.Packages = append(t.Packages, field)
		}
	}
	return t, nil
}

// seedsOf reads a line of seeds.
func seedsOf(fields []string) ([]uint64, error) {
	from, to, isRange := strings.Cut(fields[0], "-")
	if !isRange {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 64)
	last, err2 := strconv.ParseUint(to, 10, 64)
	if err != nil || err2 != nil || first == 0 || last < first {
		return nil, fmt.Errorf("%q: expected a seed of 1 or more, or FIRST-LAST", fields[0])
	}
	if len(fields) < 2 {
		return nil, fmt.Errorf("seed %s: say what it found or is there for", fields[0])
	}
	return span(first, last), nil
}

func span(first, last uint64) []uint64 {
	var all []uint64
	for s := first; s <= last; s++ {
		all = append(all, s)
	}
	return all
}
