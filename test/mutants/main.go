// Command mutants plants defects in copies of the code, one at a time, and runs the tests that must see them:
//
//	go run ./test/mutants [-section NAME] [-tree DIR] [-p N] [-o text|md] [NAME...]
//
// Each *.patch of this directory is one defect; its header says what it breaks and which test fails for it. A NAME is a
// pattern as of path.Match for the names of patches, without their ending. The tree itself is never written to: the go
// command is given the changed files in place of those of the tree (-overlay), and a patch of files that are not Go source
// is tried in a copy of the tree. The exit status is 1 unless every defect was seen.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "mutants:", err)
		}
		os.Exit(1)
	}
}

// options are what the command line chooses.
type options struct {
	section string
	tree    string
	workers int
	timeout time.Duration
	output  string
	names   []string
}

func run(args []string) error {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.StringVar(&o.section, "section", "test", "the `section` of .ci/run whose mutants are tried, or all")
	flags.StringVar(&o.tree, "tree", "", "try the patches of this tree on another `checkout`")
	flags.IntVar(&o.workers, "p", 2, "mutants at once")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Minute, "of one test program, unless the patch says another")
	flags.StringVar(&o.output, "o", "text", "the table at the end: text or md")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.names = flags.Args()
	if o.output != "text" && o.output != "md" {
		return fmt.Errorf("-o %s: text or md", o.output)
	}
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the tree: %w", err)
	}
	root := strings.TrimSpace(string(top))
	mutants, err := choose(filepath.Join(root, "test", "mutants"), o)
	if err != nil {
		return err
	}
	if o.tree == "" {
		o.tree = root
	}
	if o.tree, err = filepath.Abs(o.tree); err != nil {
		return err
	}
	return try(mutants, o)
}

// choose reads the patches of a section that the names match, ordered by name.
func choose(dir string, o options) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var chosen []mutant
	var faults []error
	for _, file := range files {
		m, err := read(file)
		if err != nil {
			faults = append(faults, err)
		}
		if named(m.name, o.names) && (o.section == "all" || o.section == m.section) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		faults = append(faults, fmt.Errorf("section %q has no patch that matches %q", o.section, o.names))
	}
	return chosen, errors.Join(faults...)
}

// named returns whether one of the patterns matches name; no patterns match all.
func named(name string, patterns []string) bool {
	for _, pattern := range patterns {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return len(patterns) == 0
}

// try runs the mutants, and before them their tests without any.
func try(mutants []mutant, o options) error {
	fmt.Printf("running the tests of %d mutants without any mutant\n", len(mutants))
	sound, err := baseline(mutants, o)
	if err != nil {
		return err
	}
	results := make([]result, len(mutants))
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(1, o.workers) {
		workers.Go(func() {
			for i := range next {
				results[i] = attempt(mutants[i], sound, o)
				fmt.Println(results[i].line())
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	workers.Wait()
	fmt.Print("\n", table(results, o.output))
	missed := 0
	for _, r := range results {
		if r.outcome != killed {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d mutants were not killed", missed, len(mutants))
	}
	return nil
}
