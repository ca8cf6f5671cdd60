package source

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cnfAnnotations lists the annotations with the networks of a CNF and the names of its interfaces.
func cnfAnnotations() []string {
	return []string{
		"k8s.plugin.opnfv.org/nfn-network",
		"k8s.v1.cni.cncf.io/network-status",
		"k8s.v1.cni.cncf.io/networks-status",
	}
}

// keepCNF keeps the parts of a pod configured from outside that show whether it can be configured now, and whether it has
// restarted: p is the trimmed pod, was the pod before.
func keepCNF(p, was *corev1.Pod) {
	for _, name := range cnfAnnotations() {
		if v, ok := was.Annotations[name]; ok {
			if p.Annotations == nil {
				p.Annotations = map[string]string{}
			}
			p.Annotations[name] = v
		}
	}
	for i := range was.OwnerReferences {
		if o := &was.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			p.OwnerReferences = []metav1.OwnerReference{*o}
		}
	}
	for i := range was.Status.Conditions {
		if c := &was.Status.Conditions[i]; c.Type == corev1.PodReady {
			p.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	for i := range was.Status.ContainerStatuses {
		c := &was.Status.ContainerStatuses[i]
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: c.Name, RestartCount: c.RestartCount})
	}
}
