package deployment

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// exceptions are what pods do that the Pod Security Standard restricted forbids, by the kind of what makes them: those of the DaemonSet
// mount the directory of a socket, a hostPath.
var exceptions = map[string][]string{"DaemonSet": {"restricted volume types"}}

// levels are the versions of the standard that pods are held against.
var levels = []api.Version{api.MajorMinorVersion(1, 28), api.LatestVersion()}

// requireRestricted judges every pod that deploy/ can make by the code of an API server. A pod that comes with its namespace is also admitted
// by the namespace's own label.
func requireRestricted(t *testing.T, all []rendering) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	excepted := 0
	for _, r := range all {
		for _, o := range r.objects {
			spec := podOf(t, o)
			if spec == nil {
				continue
			}
			for _, version := range levels {
				found := findings(evaluator, api.LevelVersion{Level: api.LevelRestricted, Version: version}, spec)
				if hostDirectory(spec) {
					excepted++
					require.Equal(t, exceptions[o.GetKind()], found, "%s: %s %s", r.name, o.GetKind(), o.GetName())
				} else {
					require.Empty(t, found, "%s: %s %s", r.name, o.GetKind(), o.GetName())
				}
				if home := Find(r.objects, "Namespace", o.GetNamespace()); home != nil {
					enforced := api.Level(home.GetLabels()[api.EnforceLevelLabel])
					require.NotEmpty(t, enforced, r.name)
					require.Empty(t, findings(evaluator, api.LevelVersion{Level: enforced, Version: version}, spec), "%s: the namespace admits %s", r.name, o.GetName())
				}
			}
		}
	}
	require.Positive(t, excepted)

	root := podOf(t, Find(composed(t, "central"), "Deployment", "netloom"))
	root.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
	require.NotEmpty(t, findings(evaluator, api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, root))
}

// findings are the reasons why a level forbids a pod, in the order of the checks.
func findings(evaluator policy.Evaluator, at api.LevelVersion, spec *corev1.PodSpec) []string {
	var all []string
	for _, result := range evaluator.EvaluatePod(at, &metav1.ObjectMeta{}, spec) {
		if !result.Allowed {
			all = append(all, result.ForbiddenReason)
		}
	}
	return all
}

// hostDirectory reports whether a pod mounts a directory of its node.
func hostDirectory(spec *corev1.PodSpec) bool {
	for i := range spec.Volumes {
		if spec.Volumes[i].HostPath != nil {
			return true
		}
	}
	return false
}
