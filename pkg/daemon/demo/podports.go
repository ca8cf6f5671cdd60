package demo

import (
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/object"
)

// podPorts maps addresses to logical ports. The embedded database does not: its ports only have names.
type podPorts struct {
	mu    sync.Mutex
	ports map[netip.Addr]string
	addrs map[object.Ref][]netip.Addr
}

func newPodPorts() *podPorts {
	return &podPorts{ports: map[netip.Addr]string{}, addrs: map[object.Ref][]netip.Addr{}}
}

// update updates p for the pods among refs, which were created, changed or deleted.
func (p *podPorts) update(refs []object.Ref, get func(object.Ref) (runtime.Object, bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ref := range refs {
		if ref.Kind != object.KindPod {
			continue
		}
		port := portName(ref.Namespace, ref.Name)
		for _, a := range p.addrs[ref] {
			if p.ports[a] == port {
				delete(p.ports, a)
			}
		}
		delete(p.addrs, ref)
		object, _ := get(ref)
		if pod, ok := object.(*corev1.Pod); ok && !pod.Spec.HostNetwork {
			p.addrs[ref] = podAddrs(pod)
			for _, a := range p.addrs[ref] {
				p.ports[a] = port
			}
		}
	}
}

// port returns the logical port that has address a, "" for none.
func (p *podPorts) port(a netip.Addr) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ports[a]
}

// portName returns the embedded database's name for the port of a pod.
func portName(namespace, name string) string { return namespace + "_" + name }

func podAddrs(pod *corev1.Pod) []netip.Addr {
	texts := make([]string, len(pod.Status.PodIPs))
	for i, ip := range pod.Status.PodIPs {
		texts[i] = ip.IP
	}
	return addrs(texts)
}

// addrs returns those of texts that are addresses.
func addrs(texts []string) []netip.Addr {
	var all []netip.Addr
	for _, t := range texts {
		if a, err := netip.ParseAddr(t); err == nil {
			all = append(all, a)
		}
	}
	return all
}
