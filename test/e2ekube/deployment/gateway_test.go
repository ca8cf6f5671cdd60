package deployment

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/strvals"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/config"
)

// TestGatewayManual renders what docs/gateway.md applies, and finds the objects that it names.
func TestGatewayManual(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/gateway.md")
	require.NoError(t, err)
	manual := string(raw)
	var objects []*unstructured.Unstructured
	for _, m := range regexp.MustCompile(`kubectl .*apply -([kf])\s+deploy/(\S+?\b)[\s`+"`"+`]`).FindAllStringSubmatch(manual, -1) {
		path := filepath.Join("../../../deploy", m[2])
		if m[1] == "k" {
			rendered, err := Kustomize(path)
			require.NoError(t, err)
			objects = append(objects, rendered...)
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		parsed, err := parse(path, text)
		require.NoError(t, err)
		objects = append(objects, parsed...)
	}
	for _, want := range [][2]string{
		{"ServiceAccount", "netloom-gateway-upstream"},
		{"CustomResourceDefinition", "upstreamclusters.proxy.kubegateway.io"},
		{"Service", "netloom-gateway"},
		{"ClusterRole", "netloom-gateway-shared-watches"},
	} {
		require.NotNil(t, Find(objects, want[0], want[1]), want[1])
		require.Contains(t, manual, strings.TrimSuffix(want[1], ".proxy.kubegateway.io"))
	}
	volumes := podOf(t, Find(objects, "Deployment", "netloom-gateway")).Volumes
	require.Contains(t, manual, "create secret tls "+volumes[0].Secret.SecretName+" ")

	commands := regexp.MustCompile(`(?s)helm (?:--kube-context prod )?install netloom deploy/helm/netloom -n (\S+) --create-namespace \\\n(.*?[^\\])\n`).FindAllStringSubmatch(manual, -1)
	require.Len(t, commands, 2)
	charted := map[string]*unstructured.Unstructured{}
	for _, c := range commands {
		values := map[string]any{}
		for _, set := range regexp.MustCompile(`--set (\S+)`).FindAllStringSubmatch(c[2], -1) {
			require.NoError(t, strvals.ParseInto(set[1], values))
		}
		rendered, err := Helm(chart, "netloom", c[1], values)
		require.NoError(t, err)
		for _, o := range rendered {
			charted[o.GetKind()+" "+o.GetName()] = o
		}
	}
	require.NotNil(t, charted["ClusterRole netloom-gateway-shared-watches"])
	require.Contains(t, podOf(t, charted["Deployment netloom-gateway"]).Containers[0].Env, corev1.EnvVar{Name: "NETLOOM_GATEWAY_SHARED_WATCHES", Value: "true"})

	block := regexp.MustCompile("(?s)```yaml\n# kustomization.yaml\n(.*?)```").FindStringSubmatch(manual)
	require.NotNil(t, block)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	from, err := filepath.Abs(kustomizeDir)
	require.NoError(t, err)
	from, err = filepath.Rel(dir, from)
	require.NoError(t, err)
	text := strings.ReplaceAll(block[1], "github.com/netloom/netloom/deploy/kustomize", from)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600))
	objects, err = Kustomize(dir)
	require.NoError(t, err)
	env := podOf(t, Find(objects, "Deployment", "netloom-gateway")).Containers[0].Env
	require.Contains(t, env, corev1.EnvVar{Name: "NETLOOM_GATEWAY_SHARED_WATCHES", Value: "true"})
	require.Contains(t, env, corev1.EnvVar{Name: "NETLOOM_GATEWAY_LISTEN", Value: ":6443"})
	for _, kind := range []string{"PodMonitor", "PrometheusRule", "NetworkPolicy"} {
		require.NotNil(t, Find(objects, kind, "netloom-gateway"), kind)
	}
}

// gatewayAlone are values that install the gateway and nothing else.
func gatewayAlone(settings map[string]any) map[string]any {
	return map[string]any{"mode": "none", "config": settings, "gateway": map[string]any{"enabled": true}}
}

// TestChartIsTheGatewayOverlay compares what the chart installs for the gateway, and for clusters that one serves, with the
// kustomizations.
func TestChartIsTheGatewayOverlay(t *testing.T) {
	values := gatewayAlone(nil)
	for _, some := range []string{"serviceMonitor", "prometheusRule", "dashboard", "networkPolicy"} {
		values[some] = map[string]any{"enabled": true}
	}
	values["upstream"] = map[string]any{"enabled": true, "sharedWatches": true}
	charted, err := Helm(chart, "netloom", "netloom-system", values)
	require.NoError(t, err)
	overlay := composed(t, "gateway", "gateway-monitoring", "gateway-network-policy", "shared-watches")
	upstream, err := Kustomize(kustomizeDir + "/upstream")
	require.NoError(t, err)
	overlay = append(overlay, upstream...)

	var want []*unstructured.Unstructured
	for _, o := range overlay {
		if o.GetKind() != "Namespace" {
			want = append(want, o)
		}
	}
	require.Len(t, charted, len(want), "nothing of netloom")
	for _, o := range charted {
		if o.GetKind() == "Deployment" {
			unsetPullPolicy(t, o)
		}
	}
	for _, o := range want {
		same := Find(charted, o.GetKind(), o.GetName())
		require.NotNil(t, same, "%s %s", o.GetKind(), o.GetName())
		require.Equal(t, o.GetNamespace(), same.GetNamespace(), "%s %s", o.GetKind(), o.GetName())
		a, b := o.DeepCopy(), same.DeepCopy()
		for _, c := range []*unstructured.Unstructured{a, b} {
			delete(c.Object, "metadata")
			withoutInstance(c.Object)
		}
		require.Equal(t, a.Object, b.Object, "%s %s", o.GetKind(), o.GetName())
	}
	requireSamePolicy(t, overlay, charted, "netloom-gateway")
	requireOpen(t, overlay, "netloom-gateway", "netloom-gateway")
	requireOpen(t, charted, "netloom-gateway", "netloom-gateway")
}

// unsetPullPolicy removes the field of a Deployment that only the chart sets.
func unsetPullPolicy(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	require.NoError(t, err)
	delete(containers[0].(map[string]any), "imagePullPolicy")
	require.NoError(t, unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers"))
}

// withoutInstance removes the label that only the chart selects by, from labels and selectors.
func withoutInstance(content any) {
	switch content := content.(type) {
	case map[string]any:
		delete(content, "app.kubernetes.io/instance")
		for _, v := range content {
			withoutInstance(v)
		}
	case []any:
		for _, v := range content {
			withoutInstance(v)
		}
	}
}

// TestSettingsOfTheGateway checks that settings of the chart reach the gateway, and only those of the gateway.
func TestSettingsOfTheGateway(t *testing.T) {
	settings := map[string]any{
		"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "log-level": "debug", "gateway-shared-watches": true, "gateway-token-audiences": []any{"a", "b"},
		"gateway-front-proxy-names": "proxy", "gateway-shutdown-grace": "1m",
	}
	values := map[string]any{"config": settings, "gateway": map[string]any{"enabled": true, "frontProxySecret": "front"}}
	objects, err := Helm(chart, "netloom", "chart", values)
	require.NoError(t, err)
	container := podOf(t, Find(objects, "Deployment", "netloom-gateway")).Containers[0]
	env := map[string]string{}
	for _, e := range container.Env {
		env[e.Name] = e.Value
	}
	require.Equal(t, []string{"gateway"}, container.Args)
	cfg, err := config.LoadGateway(pflag.NewFlagSet("gateway", pflag.ContinueOnError), func(name string) (string, bool) {
		value, ok := env[name]
		delete(env, name)
		return value, ok
	}, os.ReadFile, new(builtin.Settings).Groups()...)
	require.NoError(t, err)
	require.Empty(t, env, "these are for others")
	require.Equal(t, config.Gateway{
		Listen: ":6443", TLSCert: "/etc/netloom/gateway/tls.crt", TLSKey: "/etc/netloom/gateway/tls.key", FrontProxyCA: "/etc/netloom/front-proxy/ca.crt",
		FrontProxyNames: []string{"proxy"}, TokenAudiences: []string{"a", "b"}, SharedWatches: true, ReviewInterval: 4 * time.Minute, AccessLog: true,
		ShutdownDelay: 5 * time.Second, ShutdownSpread: 15 * time.Second, ShutdownGrace: time.Minute,
	}, cfg.Gateway)
	require.Equal(t, ":8080", cfg.Listen)
	for i, path := range []string{cfg.Gateway.TLSCert, cfg.Gateway.FrontProxyCA} {
		require.Equal(t, filepath.Dir(path), container.VolumeMounts[i].MountPath)
	}
	before := Find(objects, "Deployment", "netloom-gateway")
	settings["ovn-nb"] = "tcp:127.0.0.1:6642"
	objects, err = Helm(chart, "netloom", "chart", values)
	require.NoError(t, err)
	require.Equal(t, before, Find(objects, "Deployment", "netloom-gateway"), "it is not restarted for a setting of netloom")
}

// TestGroupsThatTheGatewayMayImpersonate restricts the one rule that would let it become everybody.
func TestGroupsThatTheGatewayMayImpersonate(t *testing.T) {
	rules := func(groups ...any) []any {
		objects, err := Helm(chart, "netloom", "chart", map[string]any{"mode": "none", "upstream": map[string]any{"enabled": true, "groups": groups}})
		require.NoError(t, err)
		return Find(objects, "ClusterRole", "netloom-gateway-upstream").Object["rules"].([]any)
	}
	restricted := 0
	for i, rule := range rules("developers") {
		rule := rule.(map[string]any)
		if names, ok := rule["resourceNames"]; ok {
			restricted++
			require.Equal(t, []any{"developers"}, names)
			require.Equal(t, []any{"groups"}, rule["resources"])
			delete(rule, "resourceNames")
		}
		require.Equal(t, rules()[i], rule)
	}
	require.Equal(t, 1, restricted)
}

// TestNotesOfTheGateway reads what a user sees after the installation.
func TestNotesOfTheGateway(t *testing.T) {
	values := gatewayAlone(nil)
	values["upstream"] = map[string]any{"enabled": true}
	notes, err := HelmNotes(chart, "netloom", "chart", values)
	require.NoError(t, err)
	require.Contains(t, notes, "kubectl -n chart create secret tls netloom-gateway-tls --cert tls.crt --key tls.key\n")
	require.Contains(t, notes, "kubectl -n chart get service netloom-gateway ")
	require.Contains(t, notes, "kubectl -n chart create token netloom-gateway-upstream --duration 8760h | tr -d '\\n' | base64 -w0\n")
	require.NotContains(t, notes, "in sync")
}

// TestChartRefusesGateways lists values that contradict each other.
func TestChartRefusesGateways(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"mode: none installs only":            {"mode": "none"},
		"config.ovn-nb: expected nothing":     gatewayAlone(map[string]any{"ovn-nb": "tcp:127.0.0.1:6641"}),
		"webhook.enabled: expected false":     {"mode": "none", "gateway": map[string]any{"enabled": true}, "webhook": map[string]any{"enabled": true}},
		"gateway.frontProxySecret: expected":  gatewayAlone(map[string]any{"gateway-front-proxy-names": "proxy"}),
		"gateway-listen":                      gatewayAlone(map[string]any{"gateway-listen": ":443"}),
		"replicas":                            {"mode": "none", "gateway": map[string]any{"enabled": true, "replicas": 0}},
		"config.ovn-nb: expected the address": {"gateway": map[string]any{"enabled": true}},
	} {
		_, err := Helm(chart, "netloom", "chart", values)
		require.ErrorContains(t, err, want)
	}
}
