package webhook

import (
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// judgePod adds the readiness gate to a new pod. It refuses nothing, and leaves pods on the host network as they are: policies do not select
// them. The readiness gates of a pod cannot be changed later.
func (s *Server) judgePod(r *admissionv1.AdmissionRequest) (answer, error) {
	if s.opts.Gate == "" || r.Operation != admissionv1.Create || r.Resource.Resource != "pods" || r.SubResource != "" {
		return answer{}, nil
	}
	var pod corev1.Pod
	if err := kjson.Unmarshal(r.Object.Raw, &pod); err != nil {
		return answer{}, fmt.Errorf("object: %w", err)
	}
	has := func(g corev1.PodReadinessGate) bool { return g.ConditionType == s.opts.Gate }
	if pod.Spec.HostNetwork || slices.ContainsFunc(pod.Spec.ReadinessGates, has) {
		return answer{}, nil
	}
	gates := append(slices.Clone(pod.Spec.ReadinessGates), corev1.PodReadinessGate{ConditionType: s.opts.Gate})
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/readinessGates", "value": gates}}) // which replaces the list
	if err != nil {
		return answer{}, fmt.Errorf("object: %w", err)
	}
	return answer{why: "the pod gets the readiness gate " + string(s.opts.Gate), patch: patch}, nil
}
