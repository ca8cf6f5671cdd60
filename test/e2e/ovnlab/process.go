//go:build e2e

package ovnlab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is a child of the test. It ends with the test at the latest.
type Process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait; read after done
}

// Spawn starts a program in the foreground, with output to logPath, and kills it when the test ends.
func Spawn(tb testing.TB, logPath string, env []string, argv ...string) *Process {
	tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), argv[0], argv[1:]...)
	cmd.Env = env
	return Launch(tb, logPath, cmd)
}

// Launch is Spawn for a prepared command.
func Launch(tb testing.TB, logPath string, cmd *exec.Cmd) *Process {
	tb.Helper()
	out, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatalf("log of %s: %v", cmd.Path, err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := cmd.Start(); err != nil {
		_ = out.Close()
		tb.Fatalf("start %s: %v", cmd.Path, err)
	}
	p := &Process{name: filepath.Base(logPath), log: logPath, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		_ = out.Close()
		close(p.done)
	}()
	tb.Cleanup(func() {
		p.Stop()
		if tb.Failed() {
			tb.Logf("last lines of %s:\n%s", p.name, p.Tail(30))
		}
	})
	return p
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends sig, as os.Process.Signal does. It is no error if the process has ended.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

// Stop ends the process, first with SIGTERM, and waits for it.
func (p *Process) Stop() {
	_ = p.Signal(syscall.SIGCONT)
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second): // pause: for it to clean up
		p.Kill()
	}
}

// Kill sends SIGKILL to the process, and waits for it.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.done
}

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.done }

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ExitCode is the exit code of a process that has ended, -1 if a signal ended it.
func (p *Process) ExitCode() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Tail is the last n lines that the process printed.
func (p *Process) Tail(n int) string {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// run executes a program to its end and returns what it printed.
func run(ctx context.Context, env []string, stdin string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		shown := strings.Join(argv, " ")
		return string(out), fmt.Errorf("%.300s: %w: %s", shown, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// answers reports whether a unix socket accepts connections.
func answers(ctx context.Context, socket string) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
