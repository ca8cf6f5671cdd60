package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onTerminal runs a command line whose streams are a terminal, and returns what is shown there.
func onTerminal(t *testing.T, args ...string) (int, string) {
	t.Helper()
	return untilSeen(t, "\x00", func() {}, args...)
}

// untilSeen is onTerminal, and calls a function once a text is seen there.
func untilSeen(t *testing.T, text string, then func(), args ...string) (int, string) {
	t.Helper()
	return untilSeenIn(t.Context(), t, text, then, args...)
}

// untilSeenIn is untilSeen for a command that also ends with ctx.
func untilSeenIn(ctx context.Context, t *testing.T, text string, then func(), args ...string) (int, string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this system has no terminals:", err)
	}
	defer func() { _ = master.Close() }()
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)

	seen := make(chan string)
	go func() {
		var all strings.Builder
		chunk, found := make([]byte, 4096), false
		for {
			n, err := master.Read(chunk) // an error once the terminal is closed
			all.Write(chunk[:n])
			if !found && strings.Contains(all.String(), text) {
				found = true
				then()
			}
			if err != nil {
				seen <- all.String()
				return
			}
		}
	}()
	out, errout := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = terminal, terminal
	code := run(ctx, args)
	os.Stdout, os.Stderr = out, errout
	require.NoError(t, terminal.Close())
	return code, <-seen
}

func TestPlanIsColouredOnATerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	before, after := manifests(t), manifests(t)
	write(t, before, "policies.yaml", policies(2))
	write(t, after, "policies.yaml", policies(1))
	args := []string{"plan", "--from", before, "--to", after}
	code, seen := onTerminal(t, args...)
	require.Equal(t, exitDiffers, code, seen)
	require.Contains(t, seen, "\x1b[31m- ACL shop/db-client-b ingress[0]  (NetworkPolicy/shop/db-client-b spec.ingress[0])\x1b[0m\r\n")
	require.NotContains(t, netloom(t, args...).out, "\x1b[", "a file is no terminal")

	_, seen = onTerminal(t, "plan", "--from", after, "--to", before)
	require.Contains(t, seen, "\x1b[32m+ ACL shop/db-client-b ingress[0]")
	t.Setenv("NO_COLOR", "1")
	_, seen = onTerminal(t, args...)
	require.NotContains(t, seen, "\x1b[")
}

// TestLongOperationsShowProgress blocks what a command waits for until the terminal shows it.
func TestLongOperationsShowProgress(t *testing.T) {
	t.Run("test reads", func(t *testing.T) {
		from, to, err := os.Pipe()
		require.NoError(t, err)
		before := os.Stdin
		os.Stdin = from
		t.Cleanup(func() { os.Stdin = before })
		expectations := filepath.Join(exampleDir, "expectations.yaml")
		_, seen := untilSeen(t, "reading … 1s", func() { _ = to.Close() }, "test", "-f", "-", expectations)
		require.Contains(t, seen, "reading … 1s\r\x1b[K", "the line is erased")
	})
	for name, args := range map[string][]string{"writing": nil, "planning": {"--dry-run"}} {
		t.Run("apply is "+name, func(t *testing.T) {
			mute, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "nb"))
			require.NoError(t, err)
			hangUp := func() { _ = mute.Close() }
			t.Cleanup(hangUp)
			accepted := make(chan net.Conn, 1)
			go func() {
				if conn, err := mute.Accept(); err == nil {
					accepted <- conn
				}
			}()
			code, seen := untilSeen(t, name+" … 1s", func() {
				hangUp()
				_ = (<-accepted).Close()
			}, append([]string{"apply", "--manifests", exampleDir, "--ovn-nb", "unix:" + mute.Addr().String()}, args...)...)
			require.Equal(t, exitFailed, code)
			require.Contains(t, seen, name+" … 1s")
		})
	}
}

// TestAnUnreachableDatabaseIsNamed asks one at which nothing listens.
func TestAnUnreachableDatabaseIsNamed(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	nowhere := "unix:" + filepath.Join(t.TempDir(), "nb")
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	code, seen := untilSeenIn(ctx, t, "cannot use OVSDB server", giveUp, "plan", "-f", exampleDir, "--ovn-nb", nowhere)
	require.Equal(t, exitFailed, code)
	require.Contains(t, seen, nowhere)
	require.NotContains(t, seen, `{"`, "on a terminal there is text, not JSON")
}
