//go:build e2e

package e2ekube_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/test/e2ekube/deployment"
)

// admitting are values that switch on admission.
func admitting(mode string, values map[string]any) map[string]any {
	w := map[string]any{"enabled": true, "mode": mode}
	for k, v := range values {
		w[k] = v
	}
	return map[string]any{"webhook": w}
}

// fromSecret are values of admission with a certificate of cert-manager, and all else that can be said.
var fromSecret = map[string]any{
	"certificate":  map[string]any{"secret": "webhook-tls", "injectFrom": "chart/webhook"},
	"exemptGroups": []any{"system:masters", "operators"}, "exemptUsers": []any{"ann"}, "failurePolicy": "Ignore",
	"namespaceSelector": map[string]any{"matchLabels": map[string]any{"sdwan": "yes"}},
}

// webhookManifests are the ways in which admission can be installed, for TestManifests.
func webhookManifests(t *testing.T) []manifestCase {
	t.Helper()
	nb := map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}
	settings := "ovn-nb: [tcp:127.0.0.1:6641]\n"
	return []manifestCase{
		{"the overlay with admission", home, central(t, "webhook")(settings)},
		{"the overlay with admission in the daemon", home, central(t, "webhook-in-daemon")(settings)},
		{"the overlay with everything", home, central(t, "monitoring", "sdewan", "webhook")(settings + "sdewan: true\n")},
		{"the zones with everything", home, overlay(t, "zone", "feedback", "monitoring", "secure-metrics", "webhook")(zoneSettings)},
		{"the chart with admission", "chart", helm(t, "chart", nb, admitting("own", nil))},
		{"the chart with admission in the daemon", "chart", helm(t, "chart", nb, admitting("daemon", nil))},
		{"the chart with a certificate of another", "chart", helm(t, "chart", nb, admitting("own", fromSecret))},
		{"the chart with that in the daemon", "chart", helm(t, "chart", map[string]any{"sdewan": true}, admitting("daemon", fromSecret))},
	}
}

// TestChartAdmitsAsTheComponents checks that the chart and the components validate the same requests, with the same
// containers and the same rights.
func TestChartAdmitsAsTheComponents(t *testing.T) {
	t.Parallel()
	settings, nb := "ovn-nb: [tcp:127.0.0.1:6641]\n", map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}
	for mode, component := range map[string]string{"own": "webhook", "daemon": "webhook-in-daemon"} {
		overlay, objects := central(t, component)(settings), helm(t, home, nb, admitting(mode, nil))
		require.ElementsMatch(t, rightsOfRole(t, overlay, "netloom-webhook"), rightsOfRole(t, objects, "netloom-webhook"), mode)
		require.Equal(t, hooksOf(t, overlay), hooksOf(t, objects), mode)
		for _, kind := range []string{"ClusterRoleBinding", "RoleBinding", "Service"} {
			one, other := deployment.Find(overlay, kind, "netloom-webhook"), deployment.Find(objects, kind, "netloom-webhook")
			require.NotNil(t, one, kind)
			require.NotNil(t, other, kind)
			for _, field := range []string{"subjects", "roleRef"} {
				require.Equal(t, one.Object[field], other.Object[field], "%s of %s", field, kind)
			}
		}
		one, other := deployment.Find(overlay, "ClusterRole", "netloom-buckets"), deployment.Find(objects, "ClusterRole", "netloom-buckets")
		require.Equal(t, one.GetAnnotations(), other.GetAnnotations())
		require.Equal(t, mode == "own", deployment.Find(objects, "Deployment", "netloom-webhook") != nil)
		require.Equal(t, mode == "own", deployment.Find(overlay, "Deployment", "netloom-webhook") != nil)
	}
	a, b := webhookDeployment(t, central(t, "webhook")(settings)), webhookDeployment(t, helm(t, home, nb, admitting("own", nil)))
	require.Equal(t, a.Template.Spec.SecurityContext.RunAsUser, b.Template.Spec.SecurityContext.RunAsUser)
	require.Equal(t, a.Template.Spec.Containers[0].SecurityContext, b.Template.Spec.Containers[0].SecurityContext)
	require.Equal(t, a.Template.Spec.Containers[0].Ports, b.Template.Spec.Containers[0].Ports)
	require.Equal(t, a.Template.Spec.Containers[0].Resources, b.Template.Spec.Containers[0].Resources)
	require.Equal(t, a.Template.Spec.Containers[0].ReadinessProbe, b.Template.Spec.Containers[0].ReadinessProbe)
	require.Equal(t, a.Replicas, b.Replicas)
}

// TestRecoveryIsNeverLockedOut checks that no way to install admission covers the namespaces needed to repair it, and that
// exemptions in the chart's values reach both the configuration and the process.
func TestRecoveryIsNeverLockedOut(t *testing.T) {
	t.Parallel()
	for _, tc := range webhookManifests(t) {
		for _, h := range hooksOf(t, tc.objects) {
			require.Contains(t, h.NamespaceSelector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kube-system", tc.namespace},
			}, "%s: %s", tc.name, h.Name)
		}
	}
	objects := helm(t, "chart", map[string]any{"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "webhook-dependencies": "deny"}, admitting("own", fromSecret))
	for _, h := range hooksOf(t, objects) {
		require.Equal(t, admissionregistrationv1.Ignore, *h.FailurePolicy)
		require.Equal(t, map[string]string{"sdwan": "yes"}, h.NamespaceSelector.MatchLabels)
		if h.Name == "validate-sdewan-bucket.akraino.org" {
			require.Contains(t, h.MatchConditions[0].Expression, `request.userInfo.groups.exists(g,g in ["system:masters","operators"])`)
			require.Contains(t, h.MatchConditions[0].Expression, `"system:serviceaccount:chart:netloom","ann"]`)
		}
	}
	require.Equal(t, "chart/webhook", deployment.Find(objects, "ValidatingWebhookConfiguration", "netloom-webhook").GetAnnotations()["cert-manager.io/inject-ca-from"])
	require.False(t, slices.ContainsFunc(rightsOf(t, objects), func(r right) bool {
		return r.resource == "secrets" || strings.HasPrefix(r.resource, "validatingwebhook")
	}), "a certificate from a Secret needs no rights")
	env := map[string]string{}
	for _, e := range webhookDeployment(t, objects).Template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	require.Equal(t, map[string]string{
		"NETLOOM_WEBHOOK_LISTEN": ":9443", "NETLOOM_WEBHOOK_TLS_CERT": "/etc/netloom/webhook/tls.crt", "NETLOOM_WEBHOOK_TLS_KEY": "/etc/netloom/webhook/tls.key",
		"NETLOOM_WEBHOOK_EXEMPT_GROUP": "system:masters,operators", "NETLOOM_WEBHOOK_EXEMPT_USER": "ann",
	}, env)

	off := map[string]any{"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "webhook-dependencies": "off", "webhook-duplicate-cnf": "off", "webhook-network-policies": "off"}
	resources := resourcesOf(rightsOfRole(t, helm(t, "chart", off, admitting("own", fromSecret)), "netloom-webhook"))
	slices.Sort(resources)
	require.Equal(t, []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}, slices.Compact(resources), "what is off needs no rights")
}

// TestWhatRefusesFailsClosed checks that webhooks that may refuse SD-WAN objects fail closed, and that those who clean up,
// and netloom itself, are exempt then.
func TestWhatRefusesFailsClosed(t *testing.T) {
	t.Parallel()
	sdewan := func(objects []*unstructured.Unstructured) admissionregistrationv1.ValidatingWebhook {
		hooks := hooksOf(t, objects)
		at := slices.IndexFunc(hooks, func(h admissionregistrationv1.ValidatingWebhook) bool { return h.Name == "validate-sdewan.netloom.io" })
		require.GreaterOrEqual(t, at, 0)
		return hooks[at]
	}
	for dependencies, secrets := range map[string]string{"deny": "warn", "warn": "deny", "off": "deny"} {
		settings := map[string]any{"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "webhook-dependencies": dependencies, "webhook-plain-secrets": secrets}
		require.Equal(t, admissionregistrationv1.Fail, *sdewan(helm(t, home, settings, admitting("own", nil))).FailurePolicy, "%v", settings)
	}
	settings := map[string]any{"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "webhook-dependencies": "warn", "webhook-plain-secrets": "off"}
	require.Equal(t, admissionregistrationv1.Ignore, *sdewan(helm(t, home, settings, admitting("own", nil))).FailurePolicy)
	for _, tc := range webhookManifests(t) {
		h := sdewan(tc.objects)
		require.Len(t, h.MatchConditions, 1, tc.name)
		for _, user := range []string{
			"system:serviceaccount:kube-system:namespace-controller", "system:serviceaccount:kube-system:generic-garbage-collector",
			"system:serviceaccount:" + tc.namespace + ":netloom",
		} {
			require.Contains(t, h.MatchConditions[0].Expression, `"`+user+`"`, tc.name)
		}
	}
}

// rightsOfRole are those that the roles of a name give.
func rightsOfRole(t *testing.T, objects []*unstructured.Unstructured, role string) []right {
	t.Helper()
	return slices.DeleteFunc(rightsOf(t, objects), func(r right) bool { return r.role != role })
}

func hooksOf(t *testing.T, objects []*unstructured.Unstructured) []admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	o := deployment.Find(objects, "ValidatingWebhookConfiguration", "netloom-webhook")
	require.NotNil(t, o)
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &c))
	for i := range c.Webhooks { // how an expression is laid out does not matter
		for j := range c.Webhooks[i].MatchConditions {
			m := &c.Webhooks[i].MatchConditions[j]
			m.Expression = strings.ReplaceAll(m.Expression, ", ", ",")
		}
	}
	return c.Webhooks
}

func webhookDeployment(t *testing.T, objects []*unstructured.Unstructured) *appsv1.DeploymentSpec {
	t.Helper()
	o := deployment.Find(objects, "Deployment", "netloom-webhook")
	require.NotNil(t, o)
	var d appsv1.Deployment
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d))
	return &d.Spec
}
