//go:build e2e

package e2ekube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/await"
)

// futures is how many changes are lost with the database: so many versions have to pass until the watches that were open deliver
// anything again.
const futures = 200

// TestDrillRollback restores the database of the API server from a copy while netloom watches. No watch says so: it goes on from a
// version that the API does not have yet, and what happens meanwhile is never delivered.
func TestDrillRollback(t *testing.T) {
	t.Parallel()
	d := newDrill(t, "confirm-interval: 5s\npolicy-events: true\n", "feedback")
	ctx, policies := t.Context(), d.load.client.NetworkingV1()
	restore := d.kube.CopyDatabase()

	t.Log("the future that will be lost: a policy, the deletion of one, and changes of pods")
	d.denied(isolating(1, "free"), toPod(1, freePod))
	d.witness.release(teamPort(2, 0), teamPort(2, 1))
	require.NoError(t, policies.NetworkPolicies(teamName(2)).Delete(ctx, "web", metav1.DeleteOptions{}))
	await.True(t, func() bool { d.netloom.Running(); return d.witness.allows(toPod(2, 0)) }, "the pods of a deleted policy are open")
	for i := range futures {
		_, err := d.load.client.CoreV1().Pods(teamName(0)).Patch(ctx, teamPod(0), types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/round":"%d"}}}`, i), metav1.PatchOptions{})
		require.NoError(t, err)
	}

	t.Log("the database is restored from a copy")
	d.line.Refuse() // until the server knows its roles again: a watch that is refused would list
	restore()
	awaitRoles(t, d.kube, central(t, "feedback")("ovn-nb: [tcp:127.0.0.1:6641]\n"))
	d.line.Mend()
	restored := time.Now()
	d.witness.close("of a policy that is back", toPod(2, 0))
	d.denied(isolating(3, "free"), toPod(3, freePod))
	d.witness.await("the policy that is back is enforced", d.netloom.Running)
	reportDrill(d.t, d.netloom.PID(), "the database of the API server is restored from a copy", fmt.Sprintf("nothing; what was new then was enforced after %.1f s", time.Since(restored).Seconds()), "–",
		"log, Event APIWentBack, alert; the lost future's policy is listed for approval")

	t.Log("the policy that only the lost future had stays in force until its removal is approved")
	d.awaitKept(1)
	require.False(t, d.witness.allows(toPod(1, freePod)))
	said, err := d.netloom.Get("/readyz")
	require.NoError(t, err)
	require.Contains(t, said, "degraded: 1 NetworkPolicy objects are missing")
	metrics, err := d.netloom.Get("/metrics")
	require.NoError(t, err)
	require.Contains(t, metrics, `netloom_view_renewals_total{cause="back",cluster="",resource="pods"} 1`)
	await.True(t, func() bool {
		events, err := d.load.client.CoreV1().Events(home).List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == "APIWentBack" {
				return strings.Contains(e.Message, "the API has gone back from version")
			}
		}
		return false
	}, "an Event")

	await.True(t, func() bool {
		said, err := d.netloom.Get("/readyz")
		return err == nil && !strings.Contains(said, "confirmed for") && !strings.Contains(said, "not since the start")
	}, "every kind is confirmed")
	d.relabelled(4)
	d.witness.check()
}
