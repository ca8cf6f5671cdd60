//go:build e2e

package e2ekube_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
)

// TestAPIServerGoes kills the API server under netloom, and netloom while there is none: what was written stays, and
// changes are caught up with.
func TestAPIServerGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.peopled()
	w.kube.Apply(policies + "---" + service)
	w.converge()
	w.loadBalances("web", web, web2)
	settled := w.ovn.Dump()

	t.Log("the server is killed")
	w.kube.KillAPI()
	for range 20 {
		require.True(t, w.netloom.Ready(), "it keeps its state")
		require.Equal(t, settled, w.ovn.Dump(), "nothing is deleted, nothing added")
		time.Sleep(100 * time.Millisecond) // pause: while watches are tried again
	}

	t.Log("netloom is killed too, and comes back first")
	w.netloom.Kill()
	w.netloom.Restart()
	w.awaitProblem("networkpolicies")
	require.True(t, w.netloom.Alive())
	_, err := w.netloom.Get("/readyz")
	require.ErrorContains(t, err, "the source has not synced")
	require.Equal(t, settled, w.ovn.Dump(), "nothing is written before everything has been listed")

	t.Log("the server comes back")
	w.kube.StartAPI()
	w.netloom.AwaitReady()
	require.Equal(t, settled, w.ovn.Dump(), "nothing had to be written")
	w.kube.Apply(webReaches("5432"))
	w.converge()
	require.False(t, w.connects(web, api, 80))
}

// TestWatchesMiss suspends netloom while objects are deleted and the server loses its history: watches cannot continue from
// where they were, and everything has to be listed again.
func TestWatchesMiss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.peopled()
	w.kube.Apply(policies + "---" + service)
	w.converge()

	require.NoError(t, w.netloom.Signal(syscall.SIGSTOP))
	w.kube.KillAPI()
	w.kube.StartAPI() // it remembers only what changes from now on
	require.NoError(t, w.kube.Client().NetworkingV1().NetworkPolicies("shop").Delete(t.Context(), "default-deny", metav1.DeleteOptions{}))
	require.NoError(t, w.kube.Client().CoreV1().Services("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	w.remove(db)
	w.kube.Apply(web2.manifest("app: former-web"))
	before := w.ovn.Dump()
	require.NoError(t, w.netloom.Signal(syscall.SIGCONT))
	await.True(t, func() bool {
		return !strings.Contains(w.ovn.NBCtl("--bare", "--columns=external_ids", "list", "Load_Balancer"), "shop")
	}, "the load balancer of the service that went is gone")
	w.converge()
	require.NotEqual(t, before, w.ovn.Dump())
}

// awaitProblem waits until netloom reports a problem with a resource.
func (w *world) awaitProblem(resource string) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.netloom.Running()
		problems, err := w.netloom.Get("/debug/problems")
		return err == nil && strings.Contains(problems, resource)
	}, "%s", "netloom notices that it cannot watch "+resource)
}
