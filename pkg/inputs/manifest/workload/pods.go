package workload

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StandIns makes the pods that stand for a workload. Their names contain a slash, such as deploy/web, which no pod has. They have no
// addresses yet.
func (w *Workload) StandIns() []*corev1.Pod {
	var out []*corev1.Pod
	for i := range w.Pods {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Ref.Namespace, Name: w.podName(i), Labels: maps.Clone(w.Template.Labels), Annotations: w.Template.Annotate,
			},
			Spec:   *w.Template.Spec.DeepCopy(),
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		w.addLabels(p, i)
		out = append(out, p)
	}
	return out
}

// Word is the name of its kind in the names of ends and pods.
func (w *Workload) Word() string {
	words, ok := Words(w.Ref.Kind)
	if !ok {
		return strings.ToLower(w.Ref.Kind)
	}
	return words[0]
}

func (w *Workload) podName(i int) string {
	name := w.Word() + "/" + w.Ref.Name
	if w.Ref.Kind == StatefulSet {
		return fmt.Sprintf("%s-%d", name, i)
	}
	if i > 0 {
		return fmt.Sprintf("%s+%d", name, i)
	}
	return name
}

// addLabels adds the labels that a controller gives its pods and that are known in advance.
func (w *Workload) addLabels(p *corev1.Pod, i int) {
	add := func(key, value string) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
	switch w.Ref.Kind {
	case StatefulSet:
		add("statefulset.kubernetes.io/pod-name", fmt.Sprintf("%s-%d", w.Ref.Name, i))
		add("apps.kubernetes.io/pod-index", fmt.Sprint(i))
	case Job:
		add("job-name", w.Ref.Name)
		add("batch.kubernetes.io/job-name", w.Ref.Name)
	}
}
