package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netloom/netloom/test/seeds"
)

// A turn is made longer as long as it is shorter than this.
const turnTime = 15 * time.Second

// random explores the seeds of a random test in one of its packages.
type random struct {
	seeds.Test
	dir, root string // dir is relative to root
	progress  *progress
	seeds     uint64 // how many the next turn takes
	program   string
}

func (r *random) name() string { return r.Name + "/" + strings.TrimPrefix(r.dir, "./") }

// prepare compiles the package, in whichever module it is.
func (r *random) prepare(ctx context.Context) error {
	r.program = filepath.Join(r.root, state, "bin", strings.ReplaceAll(r.name(), "/", "+")+".test")
	args := append([]string{"test", "-C", r.dir, "-c", "-o", r.program}, r.buildFlags()...)
	return compile(ctx, r.root, append(args, "."))
}

// compile runs go in a directory.
func compile(ctx context.Context, dir string, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// buildFlags are those of the flags that `go test` needs to compile.
func (r *random) buildFlags() []string {
	return slices.DeleteFunc(slices.Clone(r.Flags), func(f string) bool { return !strings.HasPrefix(f, "-tags=") })
}

// testFlags are the others.
func (r *random) testFlags() []string {
	return slices.DeleteFunc(slices.Clone(r.Flags), func(f string) bool { return strings.HasPrefix(f, "-tags=") })
}

func (r *random) turn(ctx context.Context) ([]finding, error) {
	first, n := r.progress.next(r.name()), r.seeds
	began := time.Now()
	out, err := r.test(ctx, first, n)
	took := time.Since(began)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var failed []uint64
	if err != nil {
		failed = seedsThatFailed(out)
		for s := first; len(failed) == 0 && s < first+n; s++ { // it did not get as far as to say
			if n == 1 {
				failed = []uint64{s}
				break
			}
			if _, err := r.test(ctx, s, 1); err != nil {
				failed = []uint64{s}
			}
		}
		if len(failed) == 0 {
			return nil, fmt.Errorf("fails with seeds %d to %d, but with none of them alone: %w\n%s", first, first+n-1, err, out)
		}
	}
	fmt.Printf("%s  %-40s %4d seeds from %d: %d failed, %.0f s\n", time.Now().Format(time.TimeOnly), r.name(), n, first, len(failed), took.Seconds())
	if took < turnTime {
		r.seeds *= 2
	}
	var findings []finding
	for _, s := range failed {
		findings = append(findings, finding{
			name:   r.Name,
			line:   fmt.Sprintf("  %d  found %s: what?", s, time.Now().Format(time.DateOnly)),
			repeat: fmt.Sprintf("go test -C %s%s -run '^(%s)$' . -seed=%d%s", r.dir, joined(r.buildFlags()), r.Run, s, joined(r.testFlags())),
		})
	}
	return findings, r.progress.done(r.name(), first+n)
}

// joined puts a space before each.
func joined(flags []string) string {
	var b strings.Builder
	for _, f := range flags {
		b.WriteString(" " + f)
	}
	return b.String()
}

// test runs the test with some seeds, and returns what it printed.
func (r *random) test(ctx context.Context, first, n uint64) ([]byte, error) {
	args := append([]string{
		"-test.run", "^(" + r.Run + ")$", "-test.timeout", "30m", "-seed", fmt.Sprint(first), "-seeds", fmt.Sprint(n),
	}, r.testFlags()...)
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir = filepath.Join(r.root, r.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd.CombinedOutput()
}

var failedSeed = regexp.MustCompile(`(?m)^ *--- FAIL: \S*seed_(\d+)`)

// seedsThatFailed finds the seeds of failed subtests in what a test printed.
func seedsThatFailed(out []byte) []uint64 {
	var failed []uint64
	for _, match := range failedSeed.FindAllSubmatch(out, -1) {
		if s, err := strconv.ParseUint(string(match[1]), 10, 64); err == nil && !slices.Contains(failed, s) {
			failed = append(failed, s)
		}
	}
	return failed
}
