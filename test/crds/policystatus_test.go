package crds_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
)

func TestPolicyStatusIsDefinedAsItsTypeSays(t *testing.T) {
	d := loadAll(t)[v1alpha1.KindPolicyStatus]
	require.NotNil(t, d)
	spec := d.Text.Spec
	require.Equal(t, v1alpha1.PluralPolicyStatus+"."+v1alpha1.Group, d.Text.Name)
	require.Equal(t, []string{"pols", "npstatus"}, spec.Names.ShortNames)
	require.Equal(t, apiextensionsv1.NamespaceScoped, spec.Scope)
	require.Len(t, spec.Versions, 1)
	v := spec.Versions[0]
	require.Equal(t, v1alpha1.Version, v.Name)
	require.True(t, v.Served && v.Storage)
	require.NotNil(t, v.Subresources.Status)
	var columns []string
	for _, c := range v.AdditionalPrinterColumns {
		if c.Priority == 0 {
			columns = append(columns, c.Name)
		}
	}
	require.Equal(t, []string{"Enforced", "Generation", "Targets", "Subjects", "Problems", "Age"}, columns)
	status := v.Schema.OpenAPIV3Schema.Properties["status"]
	require.Equal(t, "map", *status.Properties["targets"].XListType)
	require.Equal(t, []string{"name"}, status.Properties["targets"].XListMapKeys)
	require.Equal(t, "map", *status.Properties["conditions"].XListType)
}

func TestWhatIsWrittenIntoAPolicyStatusIsAdmitted(t *testing.T) {
	at := metav1.NewTime(time.Now())
	d := loadAll(t)[v1alpha1.KindPolicyStatus]
	for name, s := range map[string]v1alpha1.PolicyStatusStatus{
		"nothing": {},
		"all of it": {
			ObservedGeneration: 3, EnforcedGeneration: 2, EnforcedTargets: "0/1", Subjects: 4, ProblemCount: 1,
			Problems: []v1alpha1.PolicyProblem{{Message: "wrong"}},
			Peers:    []v1alpha1.PolicyPeer{{Rule: "spec.ingress[0]", Pods: 1}},
			Targets:  []v1alpha1.PolicyTarget{{Name: "ovn", Since: &at, Reason: "Writing"}},
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionUnknown, Reason: "Unreachable", LastTransitionTime: at},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(v1alpha1.PolicyStatus{
				TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindPolicyStatus},
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Status: s,
			})
			require.NoError(t, err)
			var o map[string]any
			require.NoError(t, json.Unmarshal(text, &o))
			delete(o["metadata"].(map[string]any), "creationTimestamp")
			require.Empty(t, d.Admit(t.Context(), o))
		})
	}
	twice := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindPolicyStatus,
		"metadata": map[string]any{"namespace": "shop", "name": "web"},
		"status":   map[string]any{"targets": []any{map[string]any{"name": "ovn"}, map[string]any{"name": "ovn"}}},
	}
	require.NotEmpty(t, d.Admit(t.Context(), twice))
}
