package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: go run ./test/release VERSION DIR, in the root of the repository")
	}
	out, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	r := &release{root: ".", version: args[0], out: out}
	r.compile, r.bill = r.build, r.describe
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	return r.write(ctx)
}

// readCommit asks git what is released. A tree with changes has no commit to name.
func (r *release) readCommit(ctx context.Context) error {
	changes, err := r.command(ctx, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the tree has changes that are not committed:\n%s", changes)
	}
	text, err := r.command(ctx, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	var seconds int64
	if _, err := fmt.Sscanf(text, "%s %d", &r.revision, &seconds); err != nil {
		return fmt.Errorf("git log: %q: %w", text, err)
	}
	r.committed = time.Unix(seconds, 0).UTC()
	return nil
}

// build compiles netloom for a platform.
func (r *release) build(ctx context.Context, system, arch, program string) error {
	flags := "-s -w -buildid= -X github.com/netloom/netloom/pkg/version.release=" + r.version
	_, err := r.command(ctx, "env", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch,
		compiler(), "build", "-trimpath", "-buildvcs=true", "-tags", "kustomize_disable_go_plugin_support", "-ldflags", flags, "-o", program, "./cmd/netloom")
	return err
}

// describe returns the SBOM of a program, in SPDX.
func (r *release) describe(ctx context.Context, program string) ([]byte, error) {
	text, err := r.command(ctx, compiler(), "run", "./test/sbom", "-spdx", "-npm", "pkg/serve/web/npm/package-lock.json", program)
	return []byte(text + "\n"), err
}

// command runs a program in the root of the repository, and returns what it prints, without the last end of line.
func (r *release) command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // git and go, with arguments from here
	cmd.Dir = r.root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// compiler is the go command, or the one that the environment names.
func compiler() string { return cmp.Or(os.Getenv("GO"), "go") }
