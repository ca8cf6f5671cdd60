//go:build e2e

package e2ekube_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/test/e2ekube/deployment"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// auditedRights are those that a test checks to be used and takes away.
func auditedRights(t *testing.T) []right {
	t.Helper()
	const settings = "ovn-nb: [tcp:127.0.0.1:6641]\n"
	metrics := deployment.Find(central(t, "secure-metrics")(settings), "ClusterRole", "netloom-metrics-auth")
	require.NotNil(t, metrics)
	return slices.Concat(
		rightsOf(t, central(t)(settings)),                                                // by TestRights and TestRightsToOtherKinds
		sdwanRights(t, func(right) bool { return true }),                                 // by TestSDWAN
		rightsOfRole(t, central(t, "feedback")(settings), feedbackRole),                  // by TestPolicyStatus
		rightsOfRole(t, central(t, "webhook")(settings), "netloom-webhook"),              // by TestWebhookRights
		rightsOfRole(t, central(t, "readiness")(settings), readinessRole),                // by TestReadiness
		rightsOfRole(t, central(t, "readiness-webhook")(settings), readinessWebhookRole), // by TestReadiness
		rightsOf(t, []*unstructured.Unstructured{metrics}),                               // by TestSecureMetrics
		rightsOf(t, otherObjects(t)),                                                     // by TestPodsOfAnotherCluster
		rightsOfRole(t, central(t, "upstreams")(settings), upstreamsRole),                // by TestPodsOfAnotherCluster
		rightsOf(t, gatewayOverlay(t)),                                                   // by TestGatewayRights
		rightsOf(t, upstreamObjects(t)),                                                  // by TestGatewayRights
		rightsOf(t, optionalObjects(t)),                                                  // by TestGatewayOptionalRights
	)
}

// shippedRoles are the objects of every file of deploy/kustomize with a role in it, and what each overlay and component is
// rendered to, by where they are from.
func shippedRoles(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	all := map[string][]*unstructured.Unstructured{}
	role := regexp.MustCompile(`(?m)^kind: (Cluster)?Role$`)
	require.NoError(t, filepath.WalkDir(deployDir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && role.Match(raw) {
			all[path] = kubelab.Parse(t, string(raw))
		}
		return err
	}))
	require.GreaterOrEqual(t, len(all), 8, "files with roles")
	const settings = "ovn-nb: [tcp:127.0.0.1:6641]\n"
	for folder, render := range map[string]func(name string) []*unstructured.Unstructured{
		"overlays":   func(name string) []*unstructured.Unstructured { return overlay(t, name)("") },
		"components": func(name string) []*unstructured.Unstructured { return central(t, name)(settings) },
	} {
		entries, err := os.ReadDir(filepath.Join(deployDir, folder))
		require.NoError(t, err)
		for _, e := range entries {
			all[folder+"/"+e.Name()] = render(e.Name())
		}
	}
	return all
}

// TestEveryRightIsAudited checks that nothing in deploy/ gives a right that no test takes away. It needs no API server.
func TestEveryRightIsAudited(t *testing.T) {
	t.Parallel()
	audited := auditedRights(t)
	pages, empty := map[string][]string{}, map[string]bool{}
	for from, objects := range shippedRoles(t) {
		for _, o := range objects {
			if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
				continue
			}
			var role rbacv1.Role // a ClusterRole has the same fields that matter
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role))
			for i := range role.Rules {
				if urls := role.Rules[i].NonResourceURLs; len(urls) > 0 {
					pages[role.Name] = urls
				}
				for _, r := range rightsOfRule(right{role: role.Name, namespace: role.Namespace}, &role.Rules[i]) {
					require.Contains(t, audited, r, "%s: no test takes it away", from)
				}
			}
			if len(role.Rules) == 0 {
				empty[role.Name] = true
			}
		}
	}
	require.Equal(t, map[string][]string{
		"netloom-metrics-reader": {"/metrics"},            // which TestSecureMetrics binds
		upstreamAccount:          {"/readyz", "/healthz"}, // which TestGatewayRights takes away
	}, pages)
	require.Equal(t, map[string]bool{"netloom-buckets": true}, empty, "what it is for stands in its annotation, and TestWebhookRights unbinds it")
}
