//go:build e2e

package e2ekube_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/test/await"
)

// TestDrillClusterFlood creates very many ClusterNetworkPolicies for all pods at once, while others close pods of their own, and deletes them.
// Nothing opens, and no round of netloom has more than 2,000 operations.
func TestDrillClusterFlood(t *testing.T) {
	t.Parallel()
	const rules = 4
	policies := 150
	if *drillsFlag {
		policies = 1000
	}
	d := newDrill(t, "")
	d.defineClusterPolicies()
	resource := d.kube.Objects().Resource(schema.GroupVersionResource{Group: clusterPolicyGroup, Version: "v1alpha2", Resource: "clusternetworkpolicies"})

	var flood sync.WaitGroup
	flood.Go(func() {
		d.load.each(t, policies, func(i int) {
			if _, err := resource.Create(t.Context(), floodingCluster(i, rules), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	})
	var slowest, fromEvent time.Duration
	for k := range teams {
		d.denied(isolating(k, "free"), toPod(k, freePod))
		one, enforced := d.times.of("drill")[k], d.witness.enforced(toName(toPod(k, freePod)))
		slowest, fromEvent = max(slowest, enforced.Sub(one.sent)), max(fromEvent, enforced.Sub(one.watched))
	}
	flood.Wait()
	await.True(t, func() bool { d.netloom.Running(); return d.witness.rulesOf("ClusterNetworkPolicy") == policies*rules }, "the flood is in force")
	d.witness.check()
	most := d.mostOperations()
	require.LessOrEqual(t, most, 2000)
	reportDrill(t, d.netloom.PID(), fmt.Sprintf("%d ClusterNetworkPolicies with %d rules each are created at once", policies, rules), "nothing",
		fmt.Sprintf("the slowest of %d policies: %v from the request, %v from its event", teams, slowest.Round(time.Millisecond),
			fromEvent.Round(time.Millisecond)), fmt.Sprintf("nothing is wrong: the largest round has %d operations", most))

	require.NoError(t, resource.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	await.True(t, func() bool { d.netloom.Running(); return d.witness.rulesOf("ClusterNetworkPolicy") == 0 }, "the flood is gone")
	require.LessOrEqual(t, d.mostOperations(), 2000)
	d.witness.check()
}

// floodingCluster is a policy that denies all pods something that nobody does.
func floodingCluster(i, rules int) *unstructured.Unstructured {
	var ingress []any
	for k := range rules {
		ingress = append(ingress, map[string]any{
			"action": "Deny",
			"from":   []any{map[string]any{"namespaces": map[string]any{"matchLabels": map[string]any{"flood": fmt.Sprintf("x%d", i*rules+k)}}}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": clusterPolicyGroup + "/v1alpha2", "kind": "ClusterNetworkPolicy", "metadata": map[string]any{"name": fmt.Sprintf("flood-%04d", i)},
		"spec": map[string]any{
			"tier": "Admin", "priority": int64(i % 1000), "subject": map[string]any{"namespaces": map[string]any{}}, "ingress": ingress,
		},
	}}
}

// mostOperations is how many operations the largest of the last rounds had, except that of the start.
func (d *drill) mostOperations() int {
	d.t.Helper()
	text, err := d.netloom.Get("/debug/rounds")
	require.NoError(d.t, err)
	most := 0
	for _, m := range regexp.MustCompile(`(?m)^ovn +[0-9:.]+ +[0-9]+ +(\d+)`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(d.t, err)
		most = max(most, n)
	}
	require.Positive(d.t, most, text)
	return most
}

// rulesOf counts the rules of policies of a kind that ACLs name, in the newest state.
func (w *witness) rulesOf(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	rules := map[string]bool{}
	rows := w.replica.Rows()
	for i := range rows.ACLs {
		if ids := rows.ACLs[i].ExternalIDs; strings.HasSuffix(ids["netloom.io/kind"], kind) {
			rules[ids["netloom.io/name"]+" "+ids["netloom.io/rule"]] = true
		}
	}
	return len(rules)
}
