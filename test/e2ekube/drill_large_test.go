//go:build e2e

package e2ekube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
)

// TestDrillLargeObjects has a tenant create policies that are as large as the API takes and many times as large in memory, each of which is
// refused, while others close pods of their own. Netloom stays within the memory that its Deployment allows, also over restarts, whether it
// reads the policies as a stream or in pages, and while it compares what it holds with what the API server has.
func TestDrillLargeObjects(t *testing.T) {
	t.Parallel()
	const rules = 780_000
	policies := 1
	if *drillsFlag {
		policies = 12
	}
	d := newDrill(t, "confirm-interval: 1s\n")
	deployment, err := d.kube.Client().AppsV1().Deployments(home).Get(t.Context(), "netloom", metav1.GetOptions{})
	require.NoError(t, err)
	limit := deployment.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
	_, err = d.load.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for i := range policies {
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%02d", i)}}
		p.Spec.Ingress = make([]networkingv1.NetworkPolicyIngressRule, rules)
		_, err := d.load.client.NetworkingV1().NetworkPolicies(tenant).Create(t.Context(), p, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	var slowest time.Duration
	for k := range teams {
		d.denied(isolating(k, "free"), toPod(k, freePod))
		all := d.times.of("drill")
		slowest = max(slowest, d.witness.enforced(toName(toPod(k, freePod))).Sub(all[k].sent))
	}
	d.awaitRefused(policies)
	d.awaitConfirmed("networkpolicies.networking.k8s.io")
	require.Less(t, peakOf(d.netloom.PID()), limit.Value())
	reportDrill(t, d.netloom.PID(), fmt.Sprintf("a tenant creates %d policies of 1.5 MiB with %d empty rules each", policies, rules), "nothing: what is refused isolates",
		fmt.Sprintf("the slowest of %d policies: %v", teams, slowest.Round(time.Millisecond)), "a problem of each: it needs more than 4000 rules and resolved ports")

	d.netloom.Stop()
	d.netloom.Restart()
	d.awaitRefused(policies)
	d.awaitConfirmed("networkpolicies.networking.k8s.io")
	require.Less(t, peakOf(d.netloom.PID()), limit.Value())
	t.Logf("after a restart: %s at the highest", mib(peakOf(d.netloom.PID())))

	d.netloom.Stop()
	d.run("KUBE_FEATURE_WatchListClient=false")
	d.awaitRefused(policies)
	d.awaitConfirmed("networkpolicies.networking.k8s.io")
	require.Less(t, peakOf(d.netloom.PID()), limit.Value())
	t.Logf("after a restart that reads in pages: %s at the highest", mib(peakOf(d.netloom.PID())))
}

// awaitConfirmed waits until what is held of a resource has been confirmed twice from now on: the second comparison began after now.
func (d *drill) awaitConfirmed(resource string) {
	d.t.Helper()
	prefix, seen := fmt.Sprintf(`netloom_view_confirmed_timestamp_seconds{cluster="",resource=%q}`, resource), map[string]bool{"0": true}
	await.True(d.t, func() bool {
		d.netloom.Running()
		d.witness.check()
		for line := range strings.Lines(d.metrics()) {
			if at, ok := strings.CutPrefix(line, prefix); ok {
				seen[strings.TrimSpace(at)] = true
			}
		}
		return len(seen) > 3
	}, "%s are confirmed", resource)
}

// awaitRefused waits until the metrics have that many problems.
func (d *drill) awaitRefused(policies int) {
	d.t.Helper()
	await.True(d.t, func() bool {
		d.netloom.Running()
		text, err := d.netloom.Get("/debug/problems")
		return err == nil && strings.Count(text, "it needs more than 4000 rules and resolved ports") == policies
	}, "%d policies are refused", policies)
}
