//go:build e2e

package e2ekube_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
)

// policies of the shop: only what is listed is allowed, and the prober may reach http of every pod.
const policies = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: default-deny}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: api}
spec:
  podSelector: {matchLabels: {app: api}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{podSelector: {matchLabels: {app: web}}}]
    ports: [{port: http}]
  egress:
  - to: [{podSelector: {matchLabels: {app: db}}}]
    ports: [{port: 5432}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Egress]
  egress:
  - to: [{podSelector: {matchLabels: {app: api}}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: db}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress:
  - from: [{podSelector: {matchLabels: {app: api}}}]
    ports: [{port: postgres}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: watched}
spec:
  podSelector: {}
  ingress:
  - from: [{namespaceSelector: {matchLabels: {purpose: monitoring}}}]
    ports: [{port: http}]
`

// webReaches is the policy of the same name with a port.
func webReaches(port string) string {
	return `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Egress]
  egress:
  - to: [{podSelector: {matchLabels: {app: api}}}]
    ports: [{port: ` + port + `}]
`
}

// TestPolicies follows policies from the API server into a real OVN, through the lives of pods and of a namespace.
func TestPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := w.peopled()
	require.Zero(t, w.ovn.Rows("ACL"), "no pod is isolated yet")

	w.kube.Apply(policies)
	require.Less(t, w.converge(), open)
	require.Positive(t, w.ovn.Rows("ACL"))
	require.True(t, w.connects(web, api, 80))
	require.False(t, w.connects(web, api, 5432), "the other port")
	require.False(t, w.connects(web, db, 5432))
	require.True(t, w.connects(prober, db, 80))

	t.Log("a field of a policy changes, and changes back")
	w.kube.Apply(webReaches("5432"))
	w.converge()
	require.False(t, w.connects(web, api, 80))
	w.kube.Apply(webReaches("80"))
	w.converge()
	require.True(t, w.connects(web, api, 80))

	t.Log("a pod is relabelled")
	w.kube.Apply(api.manifest("app: former-api"))
	w.converge()
	require.False(t, w.connects(web, api, 80))
	w.kube.Apply(api.manifest("app: api"))
	w.converge()
	require.True(t, w.connects(web, api, 80))

	t.Log("a pod finishes, and another takes its name and address")
	w.status(api, "Succeeded")
	await.True(t, func() bool { return !w.grouped(api) }, "the finished pod has left its groups")
	w.converge()
	w.remove(api)
	w.create(api, "app: api")
	w.converge()
	require.True(t, w.grouped(api))

	t.Log("a pod is deleted, and comes back")
	w.remove(web)
	await.True(t, func() bool { return !w.grouped(web) }, "the pod has left its groups")
	w.converge()
	w.create(web, "app: web")
	w.converge()
	require.True(t, w.connects(web, api, 80))

	t.Log("a policy is deleted")
	require.NoError(t, w.kube.Client().NetworkingV1().NetworkPolicies("shop").Delete(t.Context(), "watched", metav1.DeleteOptions{}))
	w.converge()
	require.False(t, w.connects(prober, db, 80))

	t.Log("a namespace is deleted by its controller")
	w.deleteNamespace(t.Context(), "shop")
	await.True(t, func() bool { return w.ovn.Rows("ACL") == 0 && w.ovn.Rows("Port_Group") == 0 }, "its policies leave no row")
	w.converge()
}

// peopled creates the pod of every place and waits until all may connect to all.
func (w *world) peopled() (allowed int) {
	w.t.Helper()
	for p, labels := range map[pod]string{web: "app: web", web2: "app: web", api: "app: api", db: "app: db", prober: "app: prober"} {
		w.create(p, labels)
	}
	return w.converge()
}

// grouped reports whether the port of a pod is in any port group.
func (w *world) grouped(p pod) bool {
	w.t.Helper()
	uuid := w.ovn.NBCtl("--bare", "--no-headings", "--columns=_uuid", "find", "Logical_Switch_Port", "name="+p.port())
	return strings.TrimSpace(w.ovn.NBCtl("--bare", "--no-headings", "--columns=name", "find", "Port_Group", "ports{>=}"+strings.TrimSpace(uuid))) != ""
}

// deleteNamespace deletes a namespace and waits until its controller has emptied it. Pods are removed as a kubelet
// would.
func (w *world) deleteNamespace(ctx context.Context, name string) {
	w.t.Helper()
	spaces := w.kube.Client().CoreV1().Namespaces()
	require.NoError(w.t, spaces.Delete(ctx, name, metav1.DeleteOptions{}))
	now := int64(0)
	await.True(w.t, func() bool {
		err := w.kube.Client().CoreV1().Pods(name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
		require.True(w.t, err == nil || apierrors.IsNotFound(err), err)
		_, err = spaces.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, "%s", "namespace "+name+" is gone")
}
