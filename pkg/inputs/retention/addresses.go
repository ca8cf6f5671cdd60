package retention

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// addresses maps the addresses of kept pods to the pods. If another pod has the address, the pod it belonged to is gone,
// and nothing may be allowed for its sake.
type addresses map[string]object.Ref

func (a addresses) add(ref object.Ref, o source.Held) {
	for _, ip := range addressesOf(o.Object()) {
		a[ip] = ref
	}
}

func (a addresses) remove(ref object.Ref, o source.Held) {
	for _, ip := range addressesOf(o.Object()) {
		if a[ip] == ref {
			delete(a, ip)
		}
	}
}

// sharing removes and returns the other kept pods that have an address of a pod.
func (a addresses) sharing(ref object.Ref, o source.Held) []object.Ref {
	if len(a) == 0 {
		return nil
	}
	var out []object.Ref
	for _, ip := range addressesOf(o.Object()) {
		if other, ok := a[ip]; ok && other != ref {
			out = append(out, other)
			delete(a, ip)
		}
	}
	return out
}

// addressesOf are the addresses of a pod that is not on the host network, none of any other object.
func addressesOf(o runtime.Object) []string {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.HostNetwork {
		return nil
	}
	ips := make([]string, 0, len(pod.Status.PodIPs)+1)
	for _, ip := range pod.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	if len(ips) == 0 && pod.Status.PodIP != "" {
		ips = append(ips, pod.Status.PodIP)
	}
	return ips
}
