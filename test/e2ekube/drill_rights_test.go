//go:build e2e

package e2ekube_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestDrillRightsInAStorm takes rights away and gives them back while pods and a policy change as fast as the API server takes it. In no
// committed state a pod is open that a policy isolates, and what closes is enforced with the rights that are left.
func TestDrillRightsInAStorm(t *testing.T) {
	t.Parallel()
	d := newDrill(t, "")
	rounds := 1
	if *drillsFlag {
		rounds = 4
	}
	calm := d.storm()
	for k := range rounds {
		giveBack := d.lose("networkpolicies")
		d.relabelled(k)
		giveBack()
		d.mended("networkpolicies")
		giveBack = d.lose("pods", "namespaces")
		d.denied(isolating(4+k, "free"), toPod(4+k, freePod))
		giveBack()
		d.mended("pods", "namespaces")
	}
	changes := calm()
	d.witness.check()
	t.Logf("%d changes in the storm", changes)
	reportDrill(t, d.netloom.PID(), "rights to policies, pods and namespaces are revoked and given back while these change", "nothing", "–",
		"problems: what cannot be read, until it can")
}

// storm changes labels of pods that no policy looks at, and a port of a policy, until calm is called, which returns how often.
func (d *drill) storm() (calm func() (changes int)) {
	stop, changes := make(chan struct{}), 0
	var running sync.WaitGroup
	change := func(i int) error {
		// The pod that no policy selects is left alone: it is changed at other times.
		pod := fmt.Appendf(nil, `{"metadata":{"labels":{"storm":"%d"}}}`, i)
		_, err := d.load.client.CoreV1().Pods(teamName(i%teams)).Patch(d.t.Context(), teamPod(i%freePod), types.MergePatchType, pod, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		port := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/ingress/0/ports/0/port","value":%d}]`, 1000+i%1000)
		_, err = d.load.client.NetworkingV1().NetworkPolicies(teamName(7)).Patch(d.t.Context(), "api", types.JSONPatchType, port, metav1.PatchOptions{})
		return err
	}
	running.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := change(i); err != nil {
				if d.t.Context().Err() == nil { // the test goes on
					d.t.Error(err)
				}
				return
			}
			changes += 2
		}
	})
	return func() int {
		close(stop)
		running.Wait()
		require.False(d.t, d.t.Failed())
		return changes
	}
}
