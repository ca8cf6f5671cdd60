//go:build e2e

package e2ekube_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// buildEcho builds the program that does nothing but pass events on.
func buildEcho(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "echo")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "e2e", "-o", program, "./echo").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// echoed changes one label of pods of the chassis as flips does, while netloom is stopped and a program that only passes events on writes
// as many rows of the same tables: what no program behind this API server and before this database can be faster than. Each label is changed back, so that
// netloom has nothing to do when it goes on.
func (s *sizing) echoed(key string, sets, groups int) *cost {
	s.t.Helper()
	log := filepath.Join(s.t.TempDir(), "log")
	echo := ovnlab.Launch(s.t, log, exec.CommandContext(s.t.Context(), s.echo, "-kubeconfig", s.kube.Kubeconfig(), "-nb", s.ovn.NBTCP(), "-sets", strconv.Itoa(sets), "-groups", strconv.Itoa(groups)))
	await.True(s.t, func() bool { return strings.Contains(echo.Tail(1), "ready") }, "the other program watches")
	require.NoError(s.t, s.netloom.Signal(syscall.SIGSTOP))
	c := s.measure(2*min(*flipsFlag, echoFlips), func(i int) *change { return s.flip(key, i) })
	require.NoError(s.t, s.netloom.Signal(syscall.SIGCONT))
	s.awaitEvents(c)
	echo.Kill()
	var ops []any
	for _, table := range []string{"Address_Set", "Port_Group"} {
		for i := range max(sets, groups) {
			ops = append(ops, map[string]any{"op": "delete", "table": table, "where": []any{[]any{"name", "==", "echo" + strconv.Itoa(i)}}})
		}
	}
	s.dial().transact(ops)
	s.awaitNothingToDo()
	return c
}

// echoFlips is how many pods are changed while netloom is stopped: it must not be stopped for so long that it loses its Lease.
const echoFlips = 10
