package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// fuzzInputs is how many inputs a turn tries. It is a count: at the end of a duration, go test fails a target now and then for
// that end itself (go.dev/issue/75804).
const fuzzInputs = "20000x"

// fuzz explores the inputs of a fuzz target.
type fuzz struct {
	root, dir, target string // dir is relative to root
	program           string
}

var (
	fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	fuzzInput    = regexp.MustCompile(`Failing input written to (\S+)`)
)

// fuzzTargets finds the fuzz targets below a directory.
func fuzzTargets(root string) ([]explorer, error) {
	var all []explorer
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, match := range fuzzFunction.FindAllSubmatch(data, -1) {
			all = append(all, &fuzz{root: root, dir: dir, target: string(match[1])})
		}
		return err
	})
	return all, err
}

func (f *fuzz) name() string { return "fuzz/" + filepath.ToSlash(f.dir) + "/" + f.target }

func (f *fuzz) prepare(ctx context.Context) error {
	f.program = filepath.Join(f.root, state, "bin", strings.ReplaceAll("fuzz/"+f.dir, "/", "+")+".test")
	return compile(ctx, f.root, []string{"test", "-C", f.dir, "-c", "-fuzz", ".", "-o", f.program, "."})
}

func (f *fuzz) turn(ctx context.Context) ([]finding, error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, f.program, "-test.run", "^$", "-test.fuzz", "^"+f.target+"$", "-test.fuzztime", fuzzInputs,
		"-test.fuzzcachedir", filepath.Join(f.root, ".cache", "fuzz", f.dir))
	cmd.Dir = filepath.Join(f.root, f.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	fmt.Printf("%s  %-50s %s inputs: failed: %t, %.0f s\n", time.Now().Format(time.TimeOnly), f.name(), fuzzInputs, err != nil, time.Since(began).Seconds())
	if err == nil {
		return nil, nil
	}
	written := fuzzInput.FindSubmatch(out)
	if written == nil || !errors.As(err, new(*exec.ExitError)) {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	input := string(written[1])
	return []finding{{
		name:   f.name(),
		line:   "  " + filepath.Join(f.dir, input) + " (add it to git, or to the seeds of the target)",
		repeat: fmt.Sprintf("go test -C %s -run '^%s$/^%s$' .", f.dir, f.target, filepath.Base(input)),
	}}, nil
}
