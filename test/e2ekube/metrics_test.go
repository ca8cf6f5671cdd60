//go:build e2e

package e2ekube_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/deployment"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// readers are Prometheus, which is bound to the role that the manifests ship, and an account without it.
const readers = `
{apiVersion: v1, kind: Namespace, metadata: {name: monitoring}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: prometheus, namespace: monitoring}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: other, namespace: monitoring}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus-netloom}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: netloom-metrics-reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: monitoring}]
`

// TestSecureMetrics runs netloom as the component secure-metrics does, and checks who may read what. The rights that it
// needs for that are used, and without one of them every request is refused.
func TestSecureMetrics(t *testing.T) {
	t.Parallel()
	kube, ovn := startKube(t), startOVN(t)
	objects := central(t, "secure-metrics")(settingsFor(ovn))
	kube.Apply(nodes + namespaces)
	kube.ApplyObjects(objects)
	kube.Apply(readers)
	p := run(t, kube, home, "netloom")
	p.AwaitReady() // by a probe over TLS, without a token
	require.True(t, p.Alive())

	prometheus, other := kube.Token("monitoring", "prometheus"), kube.Token("monitoring", "other")
	for _, tc := range []struct {
		name, path, token string
		want              int
	}{
		{"no token", "/metrics", "", http.StatusUnauthorized},
		{"an unknown token", "/metrics", prometheus + "x", http.StatusUnauthorized},
		{"no right", "/metrics", other, http.StatusForbidden},
		{"the right", "/metrics", prometheus, http.StatusOK},
		{"no more than the right", "/debug/manifests", prometheus, http.StatusForbidden},
		{"nor pages that do not exist", "/x", prometheus, http.StatusForbidden},
		{"an administrator's pages", "/debug/plan", "", http.StatusUnauthorized},
	} {
		status, body, err := p.Ask(corev1.URISchemeHTTPS, tc.path, tc.token)
		require.NoError(t, err, tc.name)
		require.Equal(t, tc.want, status, "%s: %s", tc.name, body)
		require.Equal(t, tc.want == http.StatusOK, strings.Contains(body, "netloom_build_info"), tc.name)
	}
	if status, _, err := p.Ask(corev1.URISchemeHTTP, "/metrics", prometheus); err == nil { // or it hangs up first
		require.Equal(t, http.StatusBadRequest, status, "plain HTTP is not answered")
	}
	requireNothingForbidden(t, kube)

	role := deployment.Find(objects, "ClusterRole", "netloom-metrics-auth")
	require.NotNil(t, role)
	rights := rightsOf(t, []*unstructured.Unstructured{role})
	require.Len(t, rights, 2)
	w := &world{t: t, kube: kube, ovn: ovn, netloom: p}
	for _, r := range rights {
		require.True(t, slices.ContainsFunc(kube.Audit(account), func(q kubelab.Request) bool { return r.uses(q) && q.GrantedBy == r.role }),
			"%+v is not used", r)
		giveBack := w.take(r)
		w.awaitAnswer(http.StatusInternalServerError)
		w.awaitMissed(r)
		require.True(t, p.Ready() && p.Alive(), "probes go on")
		giveBack()
		w.awaitAnswer(http.StatusOK)
	}

	require.NoError(t, kube.Client().RbacV1().ClusterRoleBindings().Delete(t.Context(), "prometheus-netloom", metav1.DeleteOptions{}))
	w.awaitAnswer(http.StatusForbidden) // of another token: that answers expire is shown in pkg/serve/auth
	for _, token := range []string{prometheus, other} {
		require.NotContains(t, p.Log(), token[:40], "no token is logged")
	}
}

// awaitAnswer asks for metrics with a token that netloom has not seen, until the answer is this.
func (w *world) awaitAnswer(want int) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.netloom.Running()
		status, _, err := w.netloom.Ask(corev1.URISchemeHTTPS, "/metrics", w.kube.Token("monitoring", "prometheus"))
		return err == nil && status == want
	}, "%s", http.StatusText(want)+" is the answer")
}
