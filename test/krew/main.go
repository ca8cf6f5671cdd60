// Command krew builds the kubectl plugin for every platform of deploy/krew/netloom.yaml, and writes the archives and the manifest
// for krew to a directory. See deploy/krew/build. With a directory of programs it builds none.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: deploy/krew/build VERSION DIR\n       go run ./test/krew VERSION DIR PROGRAMS")
		os.Exit(1)
	}
	r := release{root: ".", version: os.Args[1], out: os.Args[2]}
	r.compile = r.build
	if len(os.Args) == 4 {
		r.compile = built(os.Args[3])
	}
	if err := r.write(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

// build compiles netloom for a platform.
func (r *release) build(ctx context.Context, os, arch, program string) error {
	flags := "-s -w -X github.com/netloom/netloom/pkg/version.release=" + r.version
	cmd := exec.CommandContext(ctx, compiler(), "build", "-trimpath", "-tags", "kustomize_disable_go_plugin_support", "-ldflags", flags, "-o", program, "./cmd/netloom")
	cmd.Dir = r.root
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+os, "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build for %s/%s: %w\n%s", os, arch, err, text)
	}
	return nil
}

// built takes the programs netloom-OS-ARCH of a directory, instead of compiling them.
func built(dir string) func(ctx context.Context, system, arch, program string) error {
	return func(_ context.Context, system, arch, program string) error {
		content, err := os.ReadFile(filepath.Join(dir, "netloom-"+system+"-"+arch))
		if err != nil {
			return err
		}
		return os.WriteFile(program, content, 0o600)
	}
}

// compiler is the go command, or the one that the environment names.
func compiler() string { return cmp.Or(os.Getenv("GO"), "go") }
