package upgrade

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is the netloom of a version.
type Program struct {
	Name string
	path string
}

// Path is the file of the program.
func (p *Program) Path() string { return p.path }

// buildFlags are those of a build, as in the Makefile.
func buildFlags(output string) []string {
	return []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-tags", "kustomize_disable_go_plugin_support", "-o", output, "./cmd/netloom"}
}

// Current builds the program of the working tree.
func Current(t testing.TB) *Program {
	t.Helper()
	p := &Program{"current", filepath.Join(cache(t, "current"), "netloom")}
	command(t, root(t), "go", buildFlags(p.path)...)
	return p
}

// Program builds the program of the version, or finds it in the cache. It needs the history of the repository.
func (v Version) Program(t testing.TB) *Program {
	t.Helper()
	p := &Program{v.Name(), filepath.Join(cache(t, v.Commit), "netloom")}
	if _, err := os.Stat(p.path); err == nil {
		return p
	}
	if _, err := exec.CommandContext(t.Context(), "git", "-C", root(t), "cat-file", "-e", v.Commit+"^{commit}").Output(); err != nil { //nolint:gosec // a commit of versions.txt
		t.Fatalf("commit %s is not in this clone: fetch the history (git fetch --unshallow)", v.Commit)
	}
	source := filepath.Join(cache(t, v.Commit), "source")
	require.NoError(t, os.RemoveAll(source))
	require.NoError(t, os.MkdirAll(source, 0o750))
	archive := filepath.Join(source, "source.tar")
	command(t, root(t), "git", "archive", "--output="+archive, v.Commit)
	command(t, source, "tar", "-xf", archive)
	aside := p.path + ".new"
	command(t, source, "go", buildFlags(aside)...)
	require.NoError(t, os.Rename(aside, p.path))
	require.NoError(t, os.RemoveAll(source))
	return p
}

func root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return dir
}

// cache makes a directory for what is built of a version.
func cache(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(root(t), ".cache", "versions", name)
	require.NoError(t, os.MkdirAll(dir, 0o750))
	return dir
}

func command(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...) //nolint:gosec // go, git and tar
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

// doubt is the exit status of `netloom apply` if a manifest has a problem: what is valid is in force.
const doubt = 3

// Apply runs `netloom apply` over a world.
func (p *Program) Apply(t testing.TB, w *World, flags ...string) {
	t.Helper()
	args := slices.Concat([]string{"apply", "-f", w.Dir, "--max-delete-fraction", "1"}, flags)
	cmd := exec.CommandContext(t.Context(), p.path, args...) //nolint:gosec // a program of this repository
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == doubt {
		return
	}
	require.NoError(t, err, "%s %v: %s", p.Name, args, out)
}

// Daemon is a running `netloom run`.
type Daemon struct {
	cmd  *exec.Cmd
	log  bytes.Buffer
	done chan struct{}
}

// Run starts `netloom run` without listeners. It is killed with the test.
func (p *Program) Run(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	args := slices.Concat([]string{"run", "--listen", "", "--debug-listen", "", "--max-delete-fraction", "1"}, flags)
	d := &Daemon{cmd: exec.CommandContext(context.Background(), p.path, args...), done: make(chan struct{})} //nolint:gosec // a program of this repository
	d.cmd.Stdout, d.cmd.Stderr = &d.log, &d.log
	require.NoError(t, d.cmd.Start())
	go func() {
		defer close(d.done)
		_ = d.cmd.Wait() // Stop checks how it ended
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		<-d.done
		if t.Failed() {
			t.Logf("log of %s:\n%s", p.Name, d.log.Bytes()[max(0, d.log.Len()-8000):])
		}
	})
	return d
}

// Stop sends SIGTERM, as an upgrade does, and waits for the end.
func (d *Daemon) Stop(t testing.TB) {
	t.Helper()
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGTERM))
	<-d.done
	require.Zero(t, d.cmd.ProcessState.ExitCode(), "%s", &d.log)
}
