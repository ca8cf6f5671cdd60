// Command explore looks for seeds and inputs with which random tests and fuzz targets fail:
//
//	go run ./test/explore [-minutes 30] [-only REGEXP]
//
// It takes turns: each test of test/seeds/seeds.txt runs with seeds that it has not run with before, each fuzz target goes on
// from the inputs it kept. Where it stopped is in .cache/explore, so a later run goes on there. A seed that fails is printed as
// the line that keeps it in seeds.txt. The exit status is 1 if anything failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/netloom/netloom/test/seeds"
)

// state is the directory of what is kept from one run to the next.
const state = ".cache/explore"

func main() {
	minutes := flag.Float64("minutes", 30, "how long to explore, in minutes; a turn that has begun is ended")
	only := flag.String("only", "", "explore only what has a name that matches this regular expression; fuzz targets are called fuzz/DIRECTORY/NAME")
	flag.Parse()
	found, err := explore(time.Duration(*minutes*float64(time.Minute)), *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "explore:", err)
		os.Exit(2)
	}
	if found > 0 {
		fmt.Printf("\n%d failed; all that ever did are in %s\n", found, filepath.Join(state, failures))
		os.Exit(1)
	}
	fmt.Println("\nnothing failed")
}

// explore looks for failures until the time is up or Ctrl-C is pressed.
func explore(limit time.Duration, only string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return run(ctx, only)
}

// explorer is a test or fuzz target that is explored by turns.
type explorer interface {
	name() string
	// prepare compiles what a turn needs.
	prepare(ctx context.Context) error
	// turn explores for about half a minute and returns what failed.
	turn(ctx context.Context) ([]finding, error)
}

// finding is something that failed.
type finding struct {
	name   string // of the entry of the list, or the fuzz target
	line   string // that keeps it
	repeat string // command
}

func run(ctx context.Context, only string) (int, error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return 0, fmt.Errorf("-only: %w", err)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(filepath.Join("test", "seeds", "seeds.txt")); err != nil {
		return 0, errors.New("run it in the root of the module")
	}
	progress, err := load(filepath.Join(root, state))
	if err != nil {
		return 0, err
	}
	tests, err := seeds.List()
	if err != nil {
		return 0, err
	}
	all, err := fuzzTargets(root)
	if err != nil {
		return 0, err
	}
	for _, r := range randomTests(tests) {
		r.root, r.progress = root, progress
		all = append(all, r)
	}
	all = filter(all, match)
	if len(all) == 0 {
		return 0, fmt.Errorf("nothing is called %q", only)
	}
	return takeTurns(ctx, after(all, progress.Last), progress)
}

// randomTests returns the tests of a list, each in each of its packages. Entries that list further seeds of the same test add none: with -seed
// all of them do the same.
func randomTests(tests []seeds.Test) []*random {
	var all []*random
	known := map[string]bool{}
	for _, t := range tests {
		for _, dir := range t.Packages {
			if what := strings.Join(append([]string{t.Run, dir}, t.Flags...), " "); !known[what] {
				known[what] = true
				all = append(all, &random{Test: t, dir: dir, seeds: 1})
			}
		}
	}
	return all
}

// after rotates a list so that it begins with what follows a name.
func after(all []explorer, name string) []explorer {
	i := slices.IndexFunc(all, func(e explorer) bool { return e.name() == name })
	return slices.Concat(all[i+1:], all[:i+1])
}

func filter(all []explorer, match *regexp.Regexp) []explorer {
	var some []explorer
	for _, e := range all {
		if match.MatchString(e.name()) {
			some = append(some, e)
		}
	}
	return some
}

// takeTurns explores all of them in their order, again and again, until the context ends, and returns how much failed. What cannot be
// compiled or run ends it.
func takeTurns(ctx context.Context, all []explorer, progress *progress) (int, error) {
	found := 0
	for round := 0; ; round++ {
		for _, e := range all {
			var findings []finding
			var err error
			if round == 0 {
				err = e.prepare(ctx)
			}
			if err == nil && ctx.Err() == nil {
				findings, err = e.turn(ctx)
			}
			switch {
			case ctx.Err() != nil: // the time is up, which ended what ran
				return found, nil //nolint:nilerr // err says so, too
			case err != nil:
				return found, fmt.Errorf("%s: %w", e.name(), err)
			}
			for _, f := range findings {
				found++
				fmt.Printf("FAILED %s:\n%s\n    %s\n", f.name, f.line, f.repeat)
				if err := progress.keep(f); err != nil {
					return found, err
				}
			}
			if err := progress.turned(e.name()); err != nil {
				return found, err
			}
		}
	}
}
