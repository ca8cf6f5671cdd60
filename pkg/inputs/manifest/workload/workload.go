package workload

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/netloom/netloom/pkg/object"
)

// The kinds.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
	DaemonSet   = "DaemonSet"
	ReplicaSet  = "ReplicaSet"
	Job         = "Job"
	CronJob     = "CronJob"
	Rollout     = "Rollout" // of Argo Rollouts
)

// groups are the API groups of the kinds. Every version of them has the fields that are read.
func groups() map[string]string {
	return map[string]string{
		Deployment: "apps", StatefulSet: "apps", DaemonSet: "apps", ReplicaSet: "apps", Job: "batch", CronJob: "batch", Rollout: "argoproj.io",
	}
}

// Words are the words for a kind, as kubectl has them, the shortest first. ok is false for any other kind.
func Words(kind string) (words []string, ok bool) {
	words, ok = map[string][]string{
		Deployment: {"deploy", "deployment", "deployments"}, StatefulSet: {"sts", "statefulset", "statefulsets"},
		DaemonSet: {"ds", "daemonset", "daemonsets"}, ReplicaSet: {"rs", "replicaset", "replicasets"}, Job: {"job", "jobs"},
		CronJob: {"cj", "cronjob", "cronjobs"}, Rollout: {"rollout", "rollouts", "ro"},
	}[kind]
	return words, ok
}

// Workload is an object that creates pods.
type Workload struct {
	Ref      object.Ref
	Owners   []object.Ref // the objects that created it
	Selector labels.Selector
	Pods     int // how many it has, at most 2: that is enough to stand for all of them
	Template Template
}

// Template is what its pods have in common.
type Template struct {
	Labels   map[string]string
	Spec     corev1.PodSpec // reduced to the network and the ports
	Annotate map[string]string
}

// written is the part of a manifest that is read.
type written struct {
	Metadata struct {
		Name            string                  `json:"name"`
		Namespace       string                  `json:"namespace"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Replicas    *int32                `json:"replicas"`
		Parallelism *int32                `json:"parallelism"`
		Selector    *metav1.LabelSelector `json:"selector"`
		Template    podTemplate           `json:"template"`
		JobTemplate struct {
			Spec struct {
				Template podTemplate `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

type podTemplate struct {
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		HostNetwork    bool               `json:"hostNetwork"`
		NodeName       string             `json:"nodeName"`
		Containers     []corev1.Container `json:"containers"`
		InitContainers []corev1.Container `json:"initContainers"`
	} `json:"spec"`
}

// Is reports whether a kind is one of workloads.
func Is(version schema.GroupVersion, kind string) bool {
	group, ok := groups()[kind]
	return ok && group == version.Group
}

// Parse reads a workload; namespace applies if the object has none. Unused fields are not validated.
func Parse(kind, namespace string, raw json.RawMessage) (*Workload, error) {
	var w written
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	out := &Workload{Ref: object.Ref{Kind: kind, Namespace: w.Metadata.Namespace, Name: w.Metadata.Name}}
	if out.Ref.Namespace == "" {
		out.Ref.Namespace = namespace
	}
	if out.Ref.Name == "" {
		return nil, fmt.Errorf("metadata.name: Required value")
	}
	for _, o := range w.Metadata.OwnerReferences {
		out.Owners = append(out.Owners, object.Ref{Kind: o.Kind, Namespace: out.Ref.Namespace, Name: o.Name})
	}
	t, at := &w.Spec.Template, "spec.template"
	if kind == CronJob {
		t, at = &w.Spec.JobTemplate.Spec.Template, "spec.jobTemplate.spec.template"
	}
	path := field.NewPath(at, "metadata", "labels")
	if faults := validation.ValidateLabels(t.Metadata.Labels, path); len(faults) > 0 {
		return nil, faults.ToAggregate()
	}
	var err error
	if out.Selector, err = selectorOf(&w, t); err != nil {
		return nil, err
	}
	out.Pods = pods(kind, &w)
	out.Template.Labels, out.Template.Annotate = t.Metadata.Labels, t.Metadata.Annotations
	out.Template.Spec = corev1.PodSpec{
		HostNetwork: t.Spec.HostNetwork, NodeName: t.Spec.NodeName, Containers: t.Spec.Containers, InitContainers: t.Spec.InitContainers,
	}
	return out, nil
}

// selectorOf is the selector of its pods, which has to match the template. Without one it is the template's labels.
func selectorOf(w *written, t *podTemplate) (labels.Selector, error) {
	if w.Spec.Selector == nil {
		return labels.SelectorFromSet(t.Metadata.Labels), nil
	}
	s, err := metav1.LabelSelectorAsSelector(w.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	if !s.Matches(labels.Set(t.Metadata.Labels)) {
		return nil, fmt.Errorf("spec.selector: does not match the labels of spec.template: an API server rejects that")
	}
	return s, nil
}

// enough is how many equal pods stand for all: one, and one that it may talk to.
const enough = 2

// pods is how many pods stand for a workload. Without a number of replicas something else may scale it.
func pods(kind string, w *written) int {
	count := enough
	switch kind {
	case CronJob:
		return 1
	case Job:
		count = 1
		if n := w.Spec.Parallelism; n != nil {
			count = int(*n)
		}
	case DaemonSet:
	default:
		if n := w.Spec.Replicas; n != nil {
			count = int(*n)
		}
	}
	return max(0, min(count, enough))
}
