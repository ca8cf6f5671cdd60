package webhook_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/serve/webhook"
	"github.com/netloom/netloom/pkg/serve/webhook/bucket"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
)

const manifests = "../../../deploy/kustomize/components/webhook"

func readManifest(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests, file))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "\n---\n")
	require.NoError(t, yaml.UnmarshalStrict([]byte(first), into))
}

func TestConfigurationAsksOfWhatIsServed(t *testing.T) {
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(t, "validatingwebhookconfiguration.yaml", &c)
	want := map[string]struct {
		path   string
		policy admissionregistrationv1.FailurePolicyType
	}{
		"validate-sdewan-bucket.akraino.org": {webhook.PathBucket, admissionregistrationv1.Fail},
		"validate-label.akraino.org":         {webhook.PathLabel, admissionregistrationv1.Fail},
		"validate-cnf.netloom.io":            {webhook.PathWorkload, admissionregistrationv1.Fail},
		"validate-sdewan.netloom.io":         {webhook.PathObject, admissionregistrationv1.Ignore},
		"warn-networkpolicy.netloom.io":      {webhook.PathPolicy, admissionregistrationv1.Ignore},
		"warn-clusterpolicy.netloom.io":      {webhook.PathPolicy, admissionregistrationv1.Ignore},
		"warn-role.netloom.io":               {webhook.PathRole, admissionregistrationv1.Ignore},
	}
	require.Equal(t, "netloom-webhook", c.Name, "it is what the role lets be changed")
	var plurals []string
	for _, r := range v1alpha1.Resources() {
		plurals = append(plurals, r.Plural)
	}
	require.Len(t, c.Webhooks, len(want))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		require.Equal(t, want[w.Name].path, *w.ClientConfig.Service.Path)
		require.Equal(t, want[w.Name].policy, *w.FailurePolicy, w.Name)
		require.Equal(t, "kubernetes.io/metadata.name", w.NamespaceSelector.MatchExpressions[0].Key)
		require.Equal(t, []string{"kube-system", "netloom-system"}, w.NamespaceSelector.MatchExpressions[0].Values, "what repairs the cluster is never locked out")
		if rule := w.Rules[0]; rule.APIGroups[0] == v1alpha1.Group {
			require.Equal(t, plurals, rule.Resources, w.Name)
		}
		if *w.FailurePolicy == admissionregistrationv1.Fail {
			require.Len(t, w.MatchConditions, 1)
			for _, user := range append(bucket.DefaultExemptUsers(), "system:serviceaccount:netloom-system:netloom") {
				require.Contains(t, w.MatchConditions[0].Expression, `"`+user+`"`, w.Name)
			}
		}
	}
}

// TestGateConfigurationAsksOfWhatIsServed checks that only pods of namespaces that opted in are asked about, and that pods can be created
// without the webhook.
func TestGateConfigurationAsksOfWhatIsServed(t *testing.T) {
	var c admissionregistrationv1.MutatingWebhookConfiguration
	readManifest(t, "../readiness-webhook/mutatingwebhookconfiguration.yaml", &c)
	require.Equal(t, "netloom-webhook", c.Name, "it is what the role lets be changed")
	require.Len(t, c.Webhooks, 1)
	w := &c.Webhooks[0]
	require.Equal(t, webhook.PathGate, *w.ClientConfig.Service.Path)
	require.Equal(t, admissionregistrationv1.Ignore, *w.FailurePolicy)
	require.Equal(t, []string{"pods"}, w.Rules[0].Resources)
	require.Equal(t, []admissionregistrationv1.OperationType{admissionregistrationv1.Create}, w.Rules[0].Operations)
	require.Equal(t, map[string]string{"netloom.io/readiness-gate": "enabled"}, w.NamespaceSelector.MatchLabels)
	require.Equal(t, []string{"kube-system", "netloom-system"}, w.NamespaceSelector.MatchExpressions[0].Values)
}

func TestRoleLetsEverythingBeListedThatIsKept(t *testing.T) {
	var role rbacv1.ClusterRole
	readManifest(t, "role.yaml", &role)
	plurals := map[string]string{}
	for _, r := range v1alpha1.Resources() {
		plurals[r.Kind] = r.Plural
	}
	want := map[string][]string{
		"rbac.authorization.k8s.io":    {"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
		"apps":                         {"daemonsets", "deployments", "statefulsets"},
		"":                             {"namespaces", "pods"},
		"networking.k8s.io":            {"networkpolicies"},
		"policy.networking.k8s.io":     {"adminnetworkpolicies", "baselineadminnetworkpolicies", "clusternetworkpolicies"},
		"admissionregistration.k8s.io": {"validatingwebhookconfigurations"},
	}
	for _, kind := range consistency.Kinds() {
		want[v1alpha1.Group] = append(want[v1alpha1.Group], plurals[kind])
	}
	slices.Sort(want[v1alpha1.Group])
	got := map[string][]string{}
	for _, rule := range role.Rules {
		slices.Sort(rule.Resources)
		got[rule.APIGroups[0]] = rule.Resources
	}
	require.Equal(t, want, got)
	require.Equal(t, []string{"netloom-webhook"}, role.Rules[6].ResourceNames)
}
