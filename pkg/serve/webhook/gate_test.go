package webhook_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/serve/webhook"
)

// TestNewPodsGetTheReadinessGate checks which pods get the gate, and that nothing else of them changes. It needs no data of the cluster.
func TestNewPodsGetTheReadinessGate(t *testing.T) {
	r := newRig(t, deny())
	pods := metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	const head = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"}, "spec": `
	for _, tc := range []struct {
		name, spec string
		change     func(*admissionv1.AdmissionRequest)
		want       string // value of the patch; "" for none
	}{
		{name: "an ordinary pod", spec: `{"containers": []}}`, want: `[{"conditionType":"netloom.io/network-policy"}]`},
		{
			name: "a pod with another gate", spec: `{"readinessGates": [{"conditionType": "example.com/lb"}]}}`,
			want: `[{"conditionType":"example.com/lb"},{"conditionType":"netloom.io/network-policy"}]`,
		},
		{name: "a pod with the gate", spec: `{"readinessGates": [{"conditionType": "netloom.io/network-policy"}]}}`},
		{name: "a pod on the host network", spec: `{"hostNetwork": true}}`},
		{name: "an update", spec: `{}}`, change: func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Update }},
		{name: "a subresource", spec: `{}}`, change: func(r *admissionv1.AdmissionRequest) { r.SubResource = "binding" }},
		{name: "another kind", spec: `{}}`, change: func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "deployments" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := request(t, "system:serviceaccount:kube-system:replicaset-controller", "pods", "", head+tc.spec)
			asked.Resource = pods
			if tc.change != nil {
				tc.change(asked)
			}
			response, _ := r.send(t, webhook.PathGate, asked)
			require.True(t, response.Allowed)
			if tc.want == "" {
				require.Nil(t, response.Patch)
				require.Nil(t, response.PatchType)
				return
			}
			require.Equal(t, admissionv1.PatchTypeJSONPatch, *response.PatchType)
			var patch []struct {
				Op, Path string
				Value    json.RawMessage
			}
			require.NoError(t, json.Unmarshal(response.Patch, &patch))
			require.Len(t, patch, 1)
			require.Equal(t, "add /spec/readinessGates", patch[0].Op+" "+patch[0].Path)
			require.JSONEq(t, tc.want, string(patch[0].Value))
		})
	}
}
