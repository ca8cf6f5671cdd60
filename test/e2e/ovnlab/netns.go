//go:build e2e

package ovnlab

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// netns is a named network namespace.
type netns struct {
	name string
	file *os.File
}

// newNetns makes a network namespace that is deleted at the end of the test.
func newNetns(tb testing.TB, role string) *netns {
	tb.Helper()
	name := fmt.Sprintf("nl%d-%x-%s", os.Getpid(), serial.Add(1), role)
	env := environment(os.TempDir())
	if _, err := run(tb.Context(), env, "", "ip", "netns", "add", name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_, _ = run(context.WithoutCancel(tb.Context()), env, "", "ip", "netns", "del", name)
	})
	f, err := os.Open(netnsPath(name))
	if err != nil {
		tb.Fatalf("network namespace: %v", err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return &netns{name: name, file: f}
}

// inside is the command line that runs a program in the namespace; nil runs it where the test runs.
func (n *netns) inside(argv ...string) []string {
	if n == nil {
		return argv
	}
	return append([]string{"ip", "netns", "exec", n.name}, argv...)
}

// serial makes the names of the namespaces of one process unique: names are global on the machine.
var serial atomic.Int64

// do runs f on a thread in the namespace. Sockets that f makes stay there whichever thread uses them later; goroutines
// that f starts are not in the namespace.
func (n *netns) do(f func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("own network namespace: %w", err)
	}
	defer func() { _ = home.Close() }()
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter %s: %w", n.name, err)
	}
	result := f()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("leave %s: %w", n.name, err) // the thread stays locked and ends with the goroutine
	}
	runtime.UnlockOSThread()
	return result
}
