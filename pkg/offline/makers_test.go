package offline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/offline"
)

// TestWhatMayCreatePods judges a policy that selects no pod, next to one object that may lead to pods or not.
func TestWhatMayCreatePods(t *testing.T) {
	const policy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec: {podSelector: {matchLabels: {cluster: db}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
---
`
	role := func(kind, namespace, resource, verb string) string {
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: " + kind + ", metadata: {name: r, namespace: " + namespace + "}, rules: [{apiGroups: [apps, \"\"], resources: [" +
			resource + "], verbs: [" + verb + "]}]}\n---\n"
	}
	bind := func(kind, namespace, of string) string {
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: " + kind + ", metadata: {name: b, namespace: " + namespace + "}, roleRef: {kind: " + of +
			", name: r}, subjects: [{kind: ServiceAccount, name: operator, namespace: ops}]}\n"
	}
	for _, tc := range []struct{ name, object, by string }{
		{"a cluster of an operator", `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: db, namespace: shop}}`, "Cluster/shop/db"},
		{"in another namespace", `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: db, namespace: other}}`, ""},
		{"a service of Knative", `{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: db, namespace: shop}}`, "Service/shop/db"},
		{"a set of jobs", `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: db, namespace: shop}}`, "JobSet/shop/db"},
		{"an application elsewhere, for this namespace", `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: db, namespace: argocd}, spec: {destination: {namespace: shop}}}`, "Application/argocd/db"},
		{"a release for this namespace", `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: db, namespace: flux-system}, spec: {targetNamespace: shop}}`, "HelmRelease/flux-system/db"},
		{"a certificate", `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: db, namespace: shop}}`, ""},
		{"a monitor", `{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: db, namespace: shop}}`, ""},
		{"a kind of Kubernetes", `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: db, namespace: shop}}`, ""},
		{"an account that may create pods", role("Role", "shop", "pods", "create") + bind("RoleBinding", "shop", "Role"), "ServiceAccount/ops/operator"},
		{"one that may create workloads, by a role of the cluster", role("ClusterRole", "\"\"", "statefulsets", "get, create") + bind("RoleBinding", "shop", "ClusterRole"), "ServiceAccount/ops/operator"},
		{"one that may do so elsewhere", role("ClusterRole", "\"\"", "statefulsets", "'*'") + bind("ClusterRoleBinding", "\"\"", "ClusterRole"), ""},
		{"one that may only look", role("Role", "shop", "pods", "get") + bind("RoleBinding", "shop", "Role"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.yaml")
			require.NoError(t, os.WriteFile(file, []byte(policy+tc.object), 0o600))
			report, state, err := offline.Lint(offline.Manifests{Paths: []string{file}}, lint.Options{Skip: []string{lint.UnisolatedNamespace}})
			require.NoError(t, err)
			require.Empty(t, state.Reading.Unjudged, "it does not decide on connections")
			require.Len(t, report.Findings, 1)
			if f := report.Findings[0]; tc.by == "" {
				require.Equal(t, lint.SelectsNothing, f.Rule)
			} else {
				require.Equal(t, lint.UnknownPods, f.Rule)
				require.Contains(t, f.Message, "created by "+tc.by)
			}
		})
	}
}
