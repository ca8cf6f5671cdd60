//go:build e2e

package e2ekube_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/deployment"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

const chart = root + "/deploy/helm/netloom"

// operatorKind is a definition that stands for one of the Prometheus operator: the server takes anything for its spec.
func operatorKind(kind string) string {
	plural := strings.ToLower(kind) + "s"
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + `.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: ` + kind + `, plural: ` + plural + `}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`
}

// everything are values that enable all that the chart can make.
var everything = map[string]any{
	"serviceMonitor": map[string]any{"enabled": true}, "prometheusRule": map[string]any{"enabled": true},
	"dashboard": map[string]any{"enabled": true}, "podLabels": map[string]any{"a": "b"}, "podAnnotations": map[string]any{"c": "d"},
	"imagePullSecrets": []any{map[string]any{"name": "registry"}},
}

// helm renders the chart with settings and other values.
func helm(t *testing.T, namespace string, settings map[string]any, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	all := map[string]any{"config": settings}
	for k, v := range values {
		all[k] = v
	}
	objects, err := deployment.Helm(chart, "netloom", namespace, all)
	require.NoError(t, err)
	return objects
}

// TestManifests applies all that deploy/ can be rendered to, as a dry run and for real, and a second time, which changes
// nothing. The pods of the Deployments are admitted to a namespace that is restricted.
func TestManifests(t *testing.T) {
	t.Parallel()
	kube := startKube(t)
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule"} {
		kube.Apply(operatorKind(kind))
	}
	kube.Apply(`{apiVersion: v1, kind: Node, metadata: {name: node-a, labels: {kubernetes.io/os: linux}}}`) // for DaemonSets
	awaitKinds(t, kube)
	tryDefinitions(t, kube)
	nb := map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}
	feedback := map[string]any{"ovn-nb": nb["ovn-nb"], "ovn-port-names": "ovn-kubernetes", "policy-status": true, "policy-events": true}
	guarded := map[string]any{"ovn-nb": nb["ovn-nb"], "ovn-port-names": "ovn-kubernetes", "listen-tls": "self", "listen-auth": "kubernetes"}
	all := map[string]any{"sdewan": true}
	for _, some := range []map[string]any{feedback, guarded} {
		maps.Copy(all, some)
	}
	alone := maps.Clone(everything)
	maps.Copy(alone, map[string]any{
		"mode": "none", "gateway": map[string]any{"enabled": true}, "upstream": map[string]any{"enabled": true, "sharedWatches": true},
		"networkPolicy": map[string]any{"enabled": true},
	})
	plain, err := deployment.Kustomize(deployDir + "/overlays/central")
	require.NoError(t, err)
	for _, tc := range append([]manifestCase{
		{"the overlay as it is", home, plain},
		{"the overlay with monitoring", home, central(t, "monitoring")("ovn-nb: [tcp:127.0.0.1:6641]\n")},
		{"the overlay with SD-WAN", home, central(t, "sdewan")("sdewan: true\n")},
		{"the overlay with feedback", home, central(t, "feedback")("ovn-nb: [tcp:127.0.0.1:6641]\n")},
		{"the overlay with readiness", home, central(t, "readiness")("ovn-nb: [tcp:127.0.0.1:6641]\n")},
		{"the overlay with secure metrics", home, central(t, "monitoring", "secure-metrics")("ovn-nb: [tcp:127.0.0.1:6641]\n")},
		{"the overlay with other clusters", home, central(t, "peers")("ovn-nb: [tcp:127.0.0.1:6641]\ncluster: a\npeer-clusters: [b]\npeer-kubeconfig: /etc/netloom/peers/kubeconfig\n")},
		{"the overlay with the gateway", home, central(t, "gateway", "gateway-network-policy")("ovn-nb: [tcp:127.0.0.1:6641]\n")},
		{"the gateway alone", home, gatewayOverlay(t, "gateway-monitoring")},
		{"the chart", "chart", helm(t, "chart", nb, nil)},
		{"the chart with secure metrics", "chart", helm(t, "chart", guarded, map[string]any{"serviceMonitor": everything["serviceMonitor"]})},
		{"the chart with feedback", "chart", helm(t, "chart", feedback, nil)},
		{"the chart with SD-WAN alone", "chart", helm(t, "chart", map[string]any{"sdewan": true}, nil)},
		{"the chart with everything", "chart", helm(t, "chart", all, everything)},
		{"the chart with the gateway alone", "chart", helm(t, "chart", nil, alone)},
		{"the zones with everything but admission", home, overlay(t, "zone", "feedback", "monitoring", "secure-metrics")(zoneSettings)},
	}, webhookManifests(t)...) {
		kube.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: ` + tc.namespace + `, labels: {pod-security.kubernetes.io/enforce: restricted}}}`)
		for _, o := range tc.objects {
			_, err := kube.TryApply(o, true)
			require.NoError(t, err, "%s, dry run", tc.name)
		}
		hooks, others := split(tc.objects, "ValidatingWebhookConfiguration")
		kube.ApplyObjects(others)
		for _, o := range slices.Concat(others, hooks) {
			before, err := kube.TryApply(o, false)
			require.NoError(t, err, tc.name)
			after, err := kube.TryApply(o, false)
			require.NoError(t, err, tc.name)
			require.Equal(t, withoutStatus(before), withoutStatus(after), "%s: %s %s", tc.name, o.GetKind(), o.GetName())
		}
		awaitPods(t, kube, tc)
		for _, o := range hooks { // there is no webhook here
			require.NoError(t, kube.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
		}
	}
}

// tryDefinitions applies deploy/crds as a dry run.
func tryDefinitions(t *testing.T, kube *kubelab.Lab) {
	t.Helper()
	files, err := filepath.Glob(root + "/deploy/crds/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 21)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, o := range kubelab.Parse(t, string(raw)) {
			_, err := kube.TryApply(o, true)
			require.NoError(t, err, f)
		}
	}
}

// awaitPods waits until the pods of the workloads of a case have been created, which means that they were admitted.
func awaitPods(t *testing.T, kube *kubelab.Lab, tc manifestCase) {
	t.Helper()
	workloads := 0
	for _, o := range tc.objects {
		made := map[string]string{"Deployment": "updatedReplicas", "DaemonSet": "updatedNumberScheduled"}[o.GetKind()]
		if made == "" {
			continue
		}
		workloads++
		await.True(t, func() bool {
			now, err := kube.TryApply(o, true)
			require.NoError(t, err)
			seen, _, _ := unstructured.NestedInt64(now.Object, "status", "observedGeneration")
			n, _, _ := unstructured.NestedInt64(now.Object, "status", made)
			return seen == now.GetGeneration() && n > 0
		}, "%s", tc.name+": pods are made of "+o.GetName())
	}
	require.Positive(t, workloads, tc.name)
}

// manifestCase is something that can be made of deploy/.
type manifestCase struct {
	name      string
	namespace string
	objects   []*unstructured.Unstructured
}

// split separates the objects of a kind.
func split(objects []*unstructured.Unstructured, kind string) (of, others []*unstructured.Unstructured) {
	for _, o := range objects {
		if o.GetKind() == kind {
			of = append(of, o)
		} else {
			others = append(others, o)
		}
	}
	return of, others
}

// withoutStatus is an object without what its controllers write meanwhile.
func withoutStatus(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	delete(o.Object, "status")
	o.SetResourceVersion("")
	o.SetManagedFields(nil)
	o.SetAnnotations(nil)
	return o.Object
}

// awaitKinds waits until the server serves the kinds of the Prometheus operator.
func awaitKinds(t *testing.T, kube *kubelab.Lab) {
	t.Helper()
	await.True(t, func() bool {
		list, err := kube.Client().Discovery().ServerResourcesForGroupVersion("monitoring.coreos.com/v1")
		return err == nil && len(list.APIResources) == 3
	}, "the kinds of the Prometheus operator are served")
}

// TestChartIsTheOverlay checks that the chart and the overlay run the same container with the same rights.
func TestChartIsTheOverlay(t *testing.T) {
	t.Parallel()
	overlay := central(t)("ovn-nb: [tcp:127.0.0.1:6641]\n")
	objects := helm(t, home, map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}, nil)
	require.Equal(t, rightsOf(t, overlay), rightsOf(t, objects))
	sdwan := map[string]any{"sdewan": true}
	require.Equal(t, rightsOf(t, central(t, "sdewan")("sdewan: true\n")), rightsOf(t, helm(t, home, sdwan, nil)))
	feedback := map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes", "policy-status": true, "policy-events": true}
	require.Equal(t, rightsOf(t, central(t, "feedback")("ovn-nb: [tcp:127.0.0.1:6641]\n")), rightsOf(t, helm(t, home, feedback, nil)))

	ready := map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes", "readiness": true}
	require.Equal(t, rightsOf(t, central(t, "readiness")("ovn-nb: [tcp:127.0.0.1:6641]\n")), rightsOf(t, helm(t, home, ready, nil)))
	gated := helm(t, home, ready, map[string]any{"webhook": map[string]any{"enabled": true, "readinessGate": true}})
	gate := central(t, "readiness", "webhook", "readiness-webhook")("ovn-nb: [tcp:127.0.0.1:6641]\n")
	require.Equal(t, rightsOfRole(t, gate, readinessWebhookRole), rightsOfRole(t, gated, readinessWebhookRole))
	one, other := deployment.Find(gate, "MutatingWebhookConfiguration", "netloom-webhook"), deployment.Find(gated, "MutatingWebhookConfiguration", "netloom-webhook")
	require.NotNil(t, one)
	require.NotNil(t, other)
	require.Equal(t, one.Object["webhooks"], other.Object["webhooks"])

	a, b := deploymentOf(t, overlay), deploymentOf(t, objects)
	settings := a.Template.Spec.Volumes[0].ConfigMap.Name
	require.True(t, strings.HasPrefix(settings, "netloom-"), "a change of the settings changes the pod")
	a.Template.Spec.Volumes[0].ConfigMap.Name = "netloom"
	require.NotEmpty(t, b.Template.Annotations["checksum/config"], "a change of the settings changes the pod")
	delete(b.Template.Annotations, "checksum/config")
	b.Template.Spec.Containers[0].ImagePullPolicy = a.Template.Spec.Containers[0].ImagePullPolicy
	require.Equal(t, a, b)

	for _, kind := range []string{"ServiceAccount", "Service", "PodDisruptionBudget"} {
		one, other := deployment.Find(overlay, kind, "netloom"), deployment.Find(objects, kind, "netloom")
		require.NotNil(t, one, kind)
		require.NotNil(t, other, kind)
		require.Equal(t, one.Object["spec"], other.Object["spec"], kind)
	}
}

// TestALeaseMayBeNamedAsANumber checks that a name that looks like a number stays a string.
func TestALeaseMayBeNamedAsANumber(t *testing.T) {
	t.Parallel()
	objects := helm(t, home, map[string]any{"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "leader-elect-name": "123"}, nil)
	rules := deployment.Find(objects, "Role", "netloom-leader").Object["rules"].([]any)
	require.Equal(t, []any{"123"}, rules[0].(map[string]any)["resourceNames"])
}

func deploymentOf(t *testing.T, objects []*unstructured.Unstructured) *appsv1.DeploymentSpec {
	t.Helper()
	o := deployment.Find(objects, "Deployment", "netloom")
	require.NotNil(t, o)
	var d appsv1.Deployment
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d))
	return &d.Spec
}

func resourcesOf(rights []right) []string {
	var all []string
	for _, r := range rights {
		all = append(all, r.resource)
	}
	return all
}

// TestChartRefuses lists values that the schema of the chart rejects.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	nb := map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}
	with := func(mode string, settings ...string) map[string]any {
		config := maps.Clone(nb)
		for i := 0; i < len(settings); i += 2 {
			config[settings[i]] = settings[i+1]
		}
		return map[string]any{"config": config, "mode": mode}
	}
	for name, tc := range map[string]struct {
		values map[string]any
		want   string
	}{
		"no database":               {nil, "config.ovn-nb: expected the address of the Northbound database, such as tcp:10.0.0.1:6641"},
		"no database in zones":      {map[string]any{"mode": "zone"}, "config.ovn-nb: expected the address of the Northbound database of each node"},
		"no network plugin":         {map[string]any{"config": map[string]any{"ovn-nb": "tcp:127.0.0.1:6641"}}, "config.ovn-port-names: expected"},
		"none in zones":             {map[string]any{"mode": "zone", "zone": map[string]any{"endpoint": "ssl:$(HOST_IP):6641"}}, "config.ovn-port-names: expected"},
		"no digest":                 {map[string]any{"config": nb, "image": map[string]any{"digest": "latest"}}, "digest"},
		"a setting misspelt":        {map[string]any{"config": map[string]any{"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "onwer": "x"}}, "onwer"},
		"two that write":            {map[string]any{"config": nb, "leaderElection": false}, "replicas: expected 1 without leaderElection"},
		"a value misspelt":          {map[string]any{"config": nb, "imagee": map[string]any{}}, "imagee"},
		"an invalid boolean":        {map[string]any{"config": nb, "dashboard": map[string]any{"enabled": "perhaps"}}, "enabled"},
		"reviews in zones":          {map[string]any{"config": nb, "mode": "zone", "webhook": admitting("daemon", nil)["webhook"]}, "webhook.mode: expected own"},
		"what the chart decides":    {map[string]any{"config": map[string]any{"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "kubeconfig": "x"}}, "kubeconfig"},
		"CNFs in zones":             {with("zone", "sdewan", "true"), "config.sdewan: expected false with mode zone"},
		"events in zones":           {with("zone", "policy-events", "true"), "config.policy-events: expected false with mode zone"},
		"the web page in zones":     {with("zone", "ui-listen", ":8081"), "config.ui-listen: expected nothing with mode zone"},
		"a leader in zones":         {with("zone", "leader-elect", "true"), "leader-elect"},
		"tokens in clear":           {with("central", "listen-auth", "kubernetes"), "config.listen-auth: kubernetes needs listen-tls"},
		"tokens in clear, in zones": {with("zone", "listen-auth", "kubernetes", "listen-tls", "none"), "config.listen-auth: kubernetes needs listen-tls"},
		"no certificate":            {with("central", "listen-tls", "files"), "config.listen-cert: expected a file"},
		"no key":                    {with("central", "listen-tls", "files", "listen-cert", "/etc/netloom/tls/a"), "config.listen-key: expected a file"},
		"a certificate for nothing": {with("central", "listen-tls", "self", "listen-cert", "/etc/netloom/tls/a"), "config.listen-cert: expected nothing"},
		"no Secret":                 {with("zone", "listen-tls", "files", "listen-cert", "/etc/netloom/listen/tls.crt", "listen-key", "/etc/netloom/listen/tls.key"), "listenTLSSecret: expected the Secret with listen-cert"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := deployment.Helm(chart, "netloom", "chart", tc.values)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// TestImageIsWhatPodsRun compares the Dockerfile with the container in the manifests.
func TestImageIsWhatPodsRun(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(root + "/deploy/Dockerfile")
	require.NoError(t, err)
	text := string(raw)
	spec := deploymentOf(t, central(t)("ovn-nb: [tcp:127.0.0.1:6641]\n")).Template.Spec
	require.Contains(t, text, "FROM scratch\n")
	require.Contains(t, text, "CGO_ENABLED=0 ")
	require.Contains(t, text, `ENTRYPOINT ["/netloom"]`)
	require.Contains(t, text, "USER 65532:65532\n")
	require.Equal(t, int64(65532), *spec.SecurityContext.RunAsUser)
	require.Equal(t, int64(65532), *spec.SecurityContext.RunAsGroup)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, spec.SecurityContext.SeccompProfile.Type)
	require.True(t, *spec.SecurityContext.RunAsNonRoot)
	inside := spec.Containers[0].SecurityContext
	require.True(t, *inside.ReadOnlyRootFilesystem)
	require.False(t, *inside.AllowPrivilegeEscalation)
	require.Equal(t, []corev1.Capability{"ALL"}, inside.Capabilities.Drop)
	require.Empty(t, inside.Capabilities.Add)
}

// TestImageHasItsSources checks that all sources of the program are part of the build context of the image.
func TestImageHasItsSources(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(root + "/deploy/Dockerfile.dockerignore")
	require.NoError(t, err)
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", "./cmd/netloom")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	rooms := strings.Fields(string(out))
	require.Contains(t, rooms, "github.com/netloom/netloom/cmd/netloom")
	for _, room := range rooms {
		dir := strings.TrimPrefix(room, "github.com/netloom/netloom") + "/"
		kept := true // the last line that matches decides
		for line := range strings.Lines(string(raw)) {
			pattern, back := strings.CutPrefix(strings.TrimSpace(line), "!")
			if strings.HasPrefix(pattern, "/") && strings.HasPrefix(dir, pattern+"/") {
				kept = back
			}
		}
		require.True(t, kept, "%s is not in the image's build", room)
	}
}

// TestMonitoringNamesMetrics checks that the dashboards and the alerts use metrics that exist.
func TestMonitoringNamesMetrics(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		manual, metrics string
		objects         []*unstructured.Unstructured
		name, dashboard string
		alerts          int
	}{
		{
			"operations.md", "(?m)^\\| `(netloom_[a-z_]+)` \\| (\\w+)",
			central(t, "monitoring")("ovn-nb: [tcp:127.0.0.1:6641]\n"), "netloom", "netloom.json", 16,
		},
		{
			"gateway.md", "(?m)^\\| `(netloom_[a-z_]+)(?:\\{[a-z,]+\\})?` \\| (\\w+)",
			gatewayOverlay(t, "gateway-monitoring"), "netloom-gateway", "netloom-gateway.json", 8,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			raw, err := os.ReadFile(root + "/docs/" + tc.manual)
			require.NoError(t, err)
			known := map[string]bool{"go_memstats_heap_inuse_bytes": true, "process_resident_memory_bytes": true}
			for _, m := range regexp.MustCompile(tc.metrics).FindAllStringSubmatch(string(raw), -1) {
				known[m[1]] = true
				if m[2] == "histogram" {
					known[m[1]+"_bucket"] = true
				}
			}
			asked := alertExpressions(t, tc.objects, tc.name)
			require.Len(t, asked, tc.alerts)
			for _, expr := range append(asked, dashboardExpressions(t, tc.objects, tc.name+"-dashboard", tc.dashboard)...) {
				names := regexp.MustCompile(`\b(netloom|go|process)_[a-z_]+\b`).FindAllString(expr, -1)
				require.NotEmpty(t, names, expr)
				for _, name := range names {
					require.True(t, known[name], "%s in %s", name, expr)
				}
			}
		})
	}
}

// alertExpressions are the expressions of a PrometheusRule.
func alertExpressions(t *testing.T, objects []*unstructured.Unstructured, name string) []string {
	t.Helper()
	var all []string
	groups, _, err := unstructured.NestedSlice(deployment.Find(objects, "PrometheusRule", name).Object, "spec", "groups")
	require.NoError(t, err)
	for _, g := range groups {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			all = append(all, r.(map[string]any)["expr"].(string))
		}
	}
	return all
}

// dashboardExpressions are the expressions of the dashboard in a file of a ConfigMap.
func dashboardExpressions(t *testing.T, objects []*unstructured.Unstructured, name, file string) []string {
	t.Helper()
	text, _, err := unstructured.NestedString(deployment.Find(objects, "ConfigMap", name).Object, "data", file)
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &dashboard))
	var all []string
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	require.NotEmpty(t, all)
	return all
}
