//go:build e2e

package e2ekube_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/await"
)

// TestDrillExpiry has every watch end with 410, again and again: netloom lists instead, so that changes are enforced with the next list.
func TestDrillExpiry(t *testing.T) {
	t.Parallel()
	d := newDrill(t, "confirm-interval: 5s\n")
	d.end()
	e := d.kube.NewExpiry()
	d.netloom = run(t, d.kube, home, "netloom", e.Env())
	d.netloom.AwaitReady()
	e.Begin()
	rounds := 2
	if *drillsFlag {
		rounds = 4
	}
	touched := 0
	await.True(t, func() bool {
		d.netloom.Running()
		d.witness.check()
		touched++
		d.touch(touched)
		return e.Ended("networkpolicies") >= rounds && e.Ended("pods") >= rounds && e.Ended("namespaces") >= rounds
	}, "watches end")
	d.denied(isolating(0, "free"), toPod(0, freePod))
	d.relabelled(1)
	require.Empty(t, d.kept().Objects)
	lists := e.Ended("pods")
	e.End()
	d.denied(isolating(2, "free"), toPod(2, freePod))
	d.relabelled(3)
	reportDrill(t, d.netloom.PID(), fmt.Sprintf("every watch ends with 410; %d times that of pods", lists), "nothing; a change waits for the next list, at most 30 s", "–", "`/readyz` degraded if a kind cannot be confirmed for three intervals")
}

// touch changes a pod, a namespace and a policy so that every watch has an event; no two calls have the same number.
func (d *drill) touch(number int) {
	d.t.Helper()
	patch, ctx, opts := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, number), d.t.Context(), metav1.PatchOptions{}
	_, err := d.load.client.CoreV1().Pods(teamName(7)).Patch(ctx, teamPod(0), types.MergePatchType, patch, opts)
	require.NoError(d.t, err)
	_, err = d.load.client.CoreV1().Namespaces().Patch(ctx, teamName(7), types.MergePatchType, patch, opts)
	require.NoError(d.t, err)
	_, err = d.load.client.NetworkingV1().NetworkPolicies(teamName(7)).Patch(ctx, "api", types.MergePatchType, patch, opts)
	require.NoError(d.t, err)
}
