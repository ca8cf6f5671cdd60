package deployment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const kustomizeDir = "../../../deploy/kustomize"

// rendering is one way to render deploy/.
type rendering struct {
	name    string
	objects []*unstructured.Unstructured
}

// renderings are every overlay alone and with each component and all of them, and the chart with several values.
func renderings(t *testing.T) []rendering {
	t.Helper()
	var all []rendering
	components := names(t, kustomizeDir+"/components")
	for _, overlay := range names(t, kustomizeDir+"/overlays") {
		components := slices.DeleteFunc(slices.Clone(components), func(c string) bool {
			switch overlay {
			case "zone":
				return c == "sdewan" || c == "webhook-in-daemon" // these do not run on every node
			case "gateway":
				return !strings.HasPrefix(c, "gateway-") // the others are for netloom, or a part of the overlay
			default:
				return false
			}
		})
		combinations := [][]string{nil, uppermost(t, components)}
		for _, c := range components {
			combinations = append(combinations, []string{c})
		}
		for _, combination := range combinations {
			all = append(all, rendering{fmt.Sprintf("overlay %s with %v", overlay, combination), composed(t, overlay, combination...)})
		}
	}
	nb := []any{"tcp:127.0.0.1:6641"}
	for name, values := range map[string]map[string]any{
		"plain":    {"config": map[string]any{"ovn-nb": nb}},
		"SD-WAN":   {"config": map[string]any{"sdewan": true}},
		"Tungsten": {"config": map[string]any{"tungsten": []any{"http://192.0.2.1:8082"}}, "tungstenSecret": "tungsten"},
		"secure":   {"config": secure(map[string]any{"ovn-nb": nb})},
		"zones":    {"config": secure(map[string]any{"ovn-nb": nb}), "mode": "zone"},
		"gateway":  {"config": map[string]any{"ovn-nb": nb}, "gateway": map[string]any{"enabled": true, "frontProxySecret": "proxy"}},
		"gateway alone, without a certificate": {
			"mode": "none", "gateway": map[string]any{"enabled": true, "tlsSecret": ""}, "upstream": map[string]any{"enabled": true},
		},
		"own account": {"config": map[string]any{"ovn-nb": nb}, "serviceAccount": map[string]any{"create": false, "name": "mine"}},
	} {
		objects, err := Helm(chart, "netloom", "chart", values)
		require.NoError(t, err)
		all = append(all, rendering{"chart, " + name, objects})
	}
	return all
}

// secure adds the settings that ask for TLS and tokens.
func secure(settings map[string]any) map[string]any {
	settings["listen-tls"], settings["listen-auth"] = "self", "kubernetes"
	return settings
}

// names lists the directories in one.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	require.NotEmpty(t, all)
	return all
}

// uppermost leaves out the components that others bring with them.
func uppermost(t *testing.T, components []string) []string {
	t.Helper()
	brought := map[string]bool{}
	for _, c := range components {
		text, err := os.ReadFile(filepath.Join(kustomizeDir, "components", c, "kustomization.yaml"))
		require.NoError(t, err)
		var content struct{ Components []string }
		require.NoError(t, yaml.Unmarshal(text, &content))
		for _, other := range content.Components {
			brought[filepath.Base(other)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(components), func(c string) bool { return brought[c] })
}

// composed renders an overlay with components, as an overlay of one's own would.
func composed(t *testing.T, overlay string, components ...string) []*unstructured.Unstructured {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	from, err := filepath.Abs(kustomizeDir)
	require.NoError(t, err)
	from, err = filepath.Rel(dir, from)
	require.NoError(t, err)
	var b strings.Builder
	fmt.Fprintf(&b, "resources: [%s/overlays/%s]\n", from, overlay)
	for i, c := range components {
		if i == 0 {
			b.WriteString("components:\n")
		}
		fmt.Fprintf(&b, "- %s/components/%s\n", from, c)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(b.String()), 0o600))
	objects, err := Kustomize(dir)
	require.NoError(t, err, "%s with %v", overlay, components)
	return objects
}

// podOf is the pod that an object makes; nil for none.
func podOf(t *testing.T, o *unstructured.Unstructured) *corev1.PodSpec {
	t.Helper()
	path := []string{"spec", "template", "spec"}
	switch o.GetKind() {
	case "Pod":
		path = path[:1]
	case "CronJob":
		path = []string{"spec", "jobTemplate", "spec", "template", "spec"}
	}
	content, ok, err := unstructured.NestedMap(o.Object, path...)
	require.NoError(t, err)
	if _, containers := content["containers"]; !ok || !containers {
		return nil
	}
	var spec corev1.PodSpec
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, &spec, true))
	return &spec
}

// TestPodsAreHardened checks every pod that deploy/ can make against the rules for hardened pods.
func TestPodsAreHardened(t *testing.T) {
	seen := 0
	for _, r := range renderings(t) {
		for _, o := range r.objects {
			if spec := podOf(t, o); spec != nil {
				seen++
				for _, fault := range softSpots(spec) {
					t.Errorf("%s: %s %s: %s", r.name, o.GetKind(), o.GetName(), fault)
				}
			}
			if o.GetKind() == "ServiceAccount" {
				require.Equal(t, false, o.Object["automountServiceAccountToken"], "%s: %s: a pod asks for its token itself", r.name, o.GetName())
			}
		}
	}
	require.Greater(t, seen, 10)
}

// softSpots lists what is not hardened about a pod.
func softSpots(spec *corev1.PodSpec) []string {
	var faults []string
	check := func(good bool, format string, args ...any) {
		if !good {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	s := spec.SecurityContext
	if s == nil {
		s = &corev1.PodSecurityContext{}
	}
	check(isTrue(s.RunAsNonRoot), "runAsNonRoot is not true")
	check(s.RunAsUser != nil && *s.RunAsUser > 0 && s.RunAsGroup != nil && *s.RunAsGroup > 0, "it names no user and group other than root")
	check(s.SeccompProfile != nil && s.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "its seccomp profile is not that of the runtime")
	check(!spec.HostPID && !spec.HostIPC, "it sees other processes of the host")
	check(spec.ServiceAccountName != "" && spec.ServiceAccountName != "default", "it has no service account of its own")
	check(spec.AutomountServiceAccountToken != nil, "whether it gets a token is left to its service account")
	check(spec.EnableServiceLinks != nil && !*spec.EnableServiceLinks, "its environment lists all Services")
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		check(v.ConfigMap != nil || v.Secret != nil || v.EmptyDir != nil || v.Projected != nil || readOnlyHost(spec, v),
			"volume %s is of a kind that is not expected", v.Name)
	}
	for i := range spec.InitContainers {
		faults = append(faults, softContainer(&spec.InitContainers[i])...)
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		faults = append(faults, softContainer(c)...)
		check(c.LivenessProbe != nil, "container %s has no liveness probe", c.Name)
		check(c.ReadinessProbe != nil, "container %s has no readiness probe", c.Name)
	}
	return faults
}

// readOnlyHost reports whether a volume is a directory of the host that no container may write to: sockets still work.
func readOnlyHost(spec *corev1.PodSpec, v *corev1.Volume) bool {
	if v.HostPath == nil {
		return false
	}
	for i := range spec.Containers {
		for _, m := range spec.Containers[i].VolumeMounts {
			if m.Name == v.Name && !m.ReadOnly {
				return false
			}
		}
	}
	return true
}

func softContainer(c *corev1.Container) []string {
	var faults []string
	check := func(good bool, what string) {
		if !good {
			faults = append(faults, "container "+c.Name+": "+what)
		}
	}
	s := c.SecurityContext
	if s == nil {
		s = &corev1.SecurityContext{}
	}
	check(s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation, "privileges can escalate")
	check(isTrue(s.ReadOnlyRootFilesystem), "its root can be written")
	check(!isTrue(s.Privileged), "it is privileged")
	check(s.Capabilities != nil && len(s.Capabilities.Drop) == 1 && s.Capabilities.Drop[0] == "ALL", "capabilities are not dropped")
	check(s.Capabilities == nil || len(s.Capabilities.Add) == 0, "capabilities are added")
	check(s.RunAsUser == nil || *s.RunAsUser > 0, "it runs as root")
	check(s.RunAsNonRoot == nil || *s.RunAsNonRoot, "it may run as root")
	check(s.SeccompProfile == nil || s.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "its seccomp profile is not that of the runtime")
	check(!c.Resources.Requests.Cpu().IsZero() && !c.Resources.Requests.Memory().IsZero(), "it requests no processor time or no memory")
	check(!c.Resources.Limits.Memory().IsZero(), "its memory has no limit")
	for _, e := range c.Env {
		check(e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil, "a Secret is in its environment")
	}
	return faults
}

func isTrue(b *bool) bool { return b != nil && *b }

// TestSoftSpotsAreSeen removes one property at a time from a hardened pod.
func TestSoftSpotsAreSeen(t *testing.T) {
	hard := podOf(t, Find(composed(t, "central"), "Deployment", "netloom"))
	require.NotNil(t, hard)
	require.Empty(t, softSpots(hard))
	yes, no, root := true, false, int64(0)
	for name, soften := range map[string]func(*corev1.PodSpec, *corev1.Container){
		"no context":   func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext = nil },
		"root":         func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsUser = &root },
		"perhaps root": func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsNonRoot = nil },
		"no profile":   func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.SeccompProfile = nil },
		"unconfined": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: "Unconfined"}
		},
		"processes":       func(p *corev1.PodSpec, _ *corev1.Container) { p.HostPID = true },
		"default account": func(p *corev1.PodSpec, _ *corev1.Container) { p.ServiceAccountName = "" },
		"token by chance": func(p *corev1.PodSpec, _ *corev1.Container) { p.AutomountServiceAccountToken = nil },
		"escalation":      func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil },
		"writable":        func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.ReadOnlyRootFilesystem = &no },
		"privileged":      func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Privileged = &yes },
		"some capability": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
		},
		"capabilities":      func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Capabilities = nil },
		"no context inside": func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext = nil },
		"no requests":       func(_ *corev1.PodSpec, c *corev1.Container) { c.Resources.Requests = nil },
		"no limit":          func(_ *corev1.PodSpec, c *corev1.Container) { delete(c.Resources.Limits, corev1.ResourceMemory) },
		"no liveness":       func(_ *corev1.PodSpec, c *corev1.Container) { c.LivenessProbe = nil },
		"no readiness":      func(_ *corev1.PodSpec, c *corev1.Container) { c.ReadinessProbe = nil },
		"the host": func(p *corev1.PodSpec, _ *corev1.Container) {
			p.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
			p.Containers[0].VolumeMounts[0].ReadOnly = false
		},
		"links":          func(p *corev1.PodSpec, _ *corev1.Container) { p.EnableServiceLinks = nil },
		"init container": func(p *corev1.PodSpec, _ *corev1.Container) { p.InitContainers = []corev1.Container{{Name: "soft"}} },
		"secret as a variable": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.Env = append(c.Env, corev1.EnvVar{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "x"}}})
		},
	} {
		soft := hard.DeepCopy()
		soften(soft, &soft.Containers[0])
		require.NotEmpty(t, softSpots(soft), name)
	}
}

// TestSecureMetrics checks what the component and the chart's settings enable, and that they are equal.
func TestSecureMetrics(t *testing.T) {
	values := map[string]any{
		"config": secure(map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}}), "serviceMonitor": map[string]any{"enabled": true},
	}
	objects, err := Helm(chart, "netloom", "netloom-system", values)
	require.NoError(t, err)
	overlay := composed(t, "central", "monitoring", "secure-metrics")
	for _, all := range [][]*unstructured.Unstructured{overlay, objects} {
		container := podOf(t, Find(all, "Deployment", "netloom")).Containers[0]
		require.Equal(t, corev1.URISchemeHTTPS, container.LivenessProbe.HTTPGet.Scheme)
		require.Equal(t, corev1.URISchemeHTTPS, container.ReadinessProbe.HTTPGet.Scheme)
		require.Equal(t, "/readyz", container.ReadinessProbe.HTTPGet.Path)
		endpoints, _, err := unstructured.NestedSlice(Find(all, "ServiceMonitor", "netloom").Object, "spec", "endpoints")
		require.NoError(t, err)
		require.Equal(t, []any{map[string]any{
			"port": "http", "path": "/metrics", "interval": "30s", "scheme": "https",
			"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token", "tlsConfig": map[string]any{"insecureSkipVerify": true},
		}}, endpoints)
		for name, rules := range map[string]int{"netloom-metrics-auth": 2, "netloom-metrics-reader": 1} {
			require.Len(t, Find(all, "ClusterRole", name).Object["rules"], rules)
			require.Equal(t, Find(overlay, "ClusterRole", name).Object["rules"], Find(all, "ClusterRole", name).Object["rules"])
		}
		require.NotNil(t, Find(all, "ClusterRoleBinding", "netloom-metrics-auth"))
		require.Nil(t, Find(all, "ClusterRoleBinding", "netloom-metrics-reader"), "netloom does not read its own metrics")
	}
	env := podOf(t, Find(overlay, "Deployment", "netloom")).Containers[0].Env
	require.Contains(t, env, corev1.EnvVar{Name: "NETLOOM_LISTEN_TLS", Value: "self"})
	require.Contains(t, env, corev1.EnvVar{Name: "NETLOOM_LISTEN_AUTH", Value: "kubernetes"})

	plain, err := Helm(chart, "netloom", "chart", map[string]any{"config": map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}}})
	require.NoError(t, err)
	require.Nil(t, Find(plain, "ClusterRole", "netloom-metrics-auth"), "what is switched off needs no right")

	values["listenTLSSecret"] = "certificate"
	settings := values["config"].(map[string]any)
	settings["listen-tls"], settings["listen-cert"], settings["listen-key"] = "files", "/etc/netloom/listen/tls.crt", "/etc/netloom/listen/tls.key"
	objects, err = Helm(chart, "netloom", "netloom-system", values)
	require.NoError(t, err)
	endpoints, _, err := unstructured.NestedSlice(Find(objects, "ServiceMonitor", "netloom").Object, "spec", "endpoints")
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"serverName": "netloom.netloom-system.svc", "ca": map[string]any{"secret": map[string]any{"name": "certificate", "key": "ca.crt"}},
	}, endpoints[0].(map[string]any)["tlsConfig"], "a certificate that can be checked is checked")
	require.Equal(t, "/etc/netloom/listen", podOf(t, Find(objects, "Deployment", "netloom")).Containers[0].VolumeMounts[2].MountPath)
}
