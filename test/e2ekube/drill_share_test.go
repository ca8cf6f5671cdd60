//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
)

// TestDrillShare has the directory of manifests on a network file system whose server fails in the ways in which they do: reads that
// fail, handles that are stale, directories that cannot be listed, files that end early, and reads that hang. What is in force stays so, the
// operator is told, and afterwards everything is current again.
func TestDrillShare(t *testing.T) {
	t.Parallel()
	s := mountShare(t)
	f := newFilesDrillIn(t, s.dir)
	rows := f.objects()
	for i, tc := range []struct {
		name string
		is   fault
		told string
	}{
		{"every read of a file fails", fault{reads: syscall.EIO}, "input/output error"},
		{"every handle of a policy is stale", fault{stale: "policy-"}, "stale"},
		{"the directory cannot be listed", fault{lists: syscall.EIO}, "input/output error"},
		{"files end after half of their size", fault{halves: true}, "bytes could be read"},
	} {
		t.Log(tc.name)
		s.fail(tc.is)
		f.stir()
		f.awaitTold(tc.told)
		require.Equal(t, rows, f.objects())
		s.mend()
		f.awaitTold("")
		f.denied(i) // the directory is read again
		rows++
		require.Equal(t, rows, f.objects())
	}
	reportDrill(t, f.netloom.PID(), "the directory of manifests is on a file system whose reads and lists fail with EIO and ESTALE, or end early", "nothing", "–",
		"within a second: a problem of each file or directory, `/readyz` degraded")

	t.Log("reads hang")
	s.hang()
	f.stir()
	began := time.Now()
	f.awaitTold("takes longer than usual")
	told := time.Since(began)
	s.mend()
	f.awaitTold("")
	f.relabelled(teams - 1)
	reportDrill(t, f.netloom.PID(), "reads of the directory of manifests hang", "nothing; a change waits for them", "–",
		fmt.Sprintf("after %.0f s: a problem that names what hangs, `/readyz` degraded", told.Seconds()))

	t.Log("netloom ends while reads hang")
	s.hang()
	f.stir()
	await.True(t, s.hung, "a read hangs")
	require.NoError(t, f.netloom.Signal(syscall.SIGTERM))
	<-f.netloom.Exited()
	require.Zero(t, f.netloom.ExitCode())
	f.witness.check()
}

// stir has the directory read.
func (f *filesDrill) stir() {
	f.t.Helper()
	f.put("namespace-"+teamName(0), f.load.cluster.Namespaces[0])
}

// awaitTold waits until the problems contain a text, "" until there are none. Nothing opens meanwhile.
func (f *filesDrill) awaitTold(text string) {
	f.t.Helper()
	await.True(f.t, func() bool {
		f.running()
		f.witness.check()
		said, err := f.ask(http.MethodGet, "/debug/problems")
		require.NoError(f.t, err)
		ready, err := f.ask(http.MethodGet, "/readyz")
		require.NoError(f.t, err)
		if text == "" {
			return strings.TrimSpace(said) == "" && !strings.Contains(ready, "degraded")
		}
		return strings.Contains(said, text) && strings.Contains(ready, "degraded")
	}, "the problem is told: %q", text)
}

// objects counts the objects in force.
func (f *filesDrill) objects() int {
	f.t.Helper()
	text, err := f.ask(http.MethodGet, "/debug/manifests")
	require.NoError(f.t, err)
	return strings.Count(text, `"apiVersion":`)
}
