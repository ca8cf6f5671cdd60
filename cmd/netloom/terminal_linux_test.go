package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onTerminal runs a command line whose streams are a terminal, and returns what a person sees there.
func onTerminal(t *testing.T, args ...string) (int, string) {
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
		text, _ := io.ReadAll(master) // it ends with an error, when nobody holds the terminal any more
		seen <- string(text)
	}()
	out, errout := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = terminal, terminal
	code := run(t.Context(), args)
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
	require.Equal(t, exitDifference, code, seen)
	require.Contains(t, seen, "\x1b[31m- ACL shop/db-client-b ingress[0]  (NetworkPolicy/shop/db-client-b spec.ingress[0])\x1b[0m\r\n")
	require.NotContains(t, netloom(t, args...).out, "\x1b[", "a file is no terminal")

	_, seen = onTerminal(t, "plan", "--from", after, "--to", before)
	require.Contains(t, seen, "\x1b[32m+ ACL shop/db-client-b ingress[0]")
	t.Setenv("NO_COLOR", "1")
	_, seen = onTerminal(t, args...)
	require.NotContains(t, seen, "\x1b[")
}
