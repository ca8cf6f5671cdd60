package deployment

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

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

// requireHardened checks every pod that deploy/ can make against the rules for hardened pods.
func requireHardened(t *testing.T, all []rendering) {
	t.Helper()
	seen := 0
	for _, r := range all {
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
		"config": secure(map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}), "serviceMonitor": map[string]any{"enabled": true},
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

	plain, err := Helm(chart, "netloom", "chart", map[string]any{"config": map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}})
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
