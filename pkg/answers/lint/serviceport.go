package lint

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// podPort is a port of a pod.
type podPort struct {
	pod      object.Key
	protocol intent.Protocol
	port     uint16
}

// translatedPort is what the port of a Service becomes at one of its pods.
type translatedPort struct {
	service string // namespace/name, the first of several
	target  uint16
}

// portTable is where the pods of a cluster listen, as far as it is known, and which ports lead there by a Service.
type portTable struct {
	listens map[podPort]bool
	through map[podPort]translatedPort // by the port of the Service, where it is another one
}

// newPortTable fills a table from the container ports of pods and from the backends of Services.
func newPortTable(c *Cluster) *portTable {
	t := &portTable{listens: map[podPort]bool{}, through: map[podPort]translatedPort{}}
	for _, p := range c.Pods {
		for i := range p.Spec.Containers {
			for _, port := range p.Spec.Containers[i].Ports {
				t.listens[podPort{object.Key{Namespace: p.Namespace, Name: p.Name}, protocolOf(port.Protocol), uint16(port.ContainerPort)}] = true //nolint:gosec // a port
			}
		}
	}
	at := map[netip.Addr]object.Key{}
	for e := range c.View.Endpoints() {
		for _, a := range e.AllAddrs() {
			at[a] = e.Key
		}
	}
	for lb := range c.Snapshot.LoadBalancers() {
		service := lb.Origin.Namespace + "/" + lb.Origin.Name
		for i := range lb.Frontends {
			f := &lb.Frontends[i]
			for b := range f.Backends.All() {
				pod, found := at[b.Addr]
				if !found || f.Kind != intent.ClusterAddress {
					continue
				}
				t.listens[podPort{pod, f.Protocol, b.Port}] = true
				at := podPort{pod, f.Protocol, f.Port}
				if old, known := t.through[at]; b.Port != f.Port && (!known || service < old.service) {
					t.through[at] = translatedPort{service, b.Port}
				}
			}
		}
	}
	return t
}

// misses returns the Service whose port stands in a rule instead of that of its pods: at none of the pods does anything listen there, and
// all of them are behind a Service with that port.
func (t *portTable) misses(pods []object.Key, protocol intent.Protocol, port uint16) (translatedPort, bool) {
	var found translatedPort
	for i, pod := range pods {
		at := podPort{pod, protocol, port}
		by, behind := t.through[at]
		if !behind || t.listens[at] {
			return translatedPort{}, false
		}
		if i == 0 {
			found = by
		}
	}
	return found, len(pods) > 0
}

// servicePorts finds rules with the port of a Service where that of its pods is meant.
func (r *run) servicePorts() {
	var table *portTable
	byRef := map[object.Ref]*networkingv1.NetworkPolicy{}
	for _, np := range r.Policies {
		byRef[object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}] = np
	}
	for _, x := range r.objects {
		np := byRef[x.ref]
		if np == nil {
			continue
		}
		seen := map[string]bool{}
		for _, p := range x.policies {
			for i := range p.Rules {
				rule := &p.Rules[i]
				if seen[rule.Path] {
					continue // a rule of the object is several if a named port has several numbers
				}
				seen[rule.Path] = true
				if table == nil {
					table = newPortTable(r.Cluster)
				}
				r.servicePortsOf(table, x.ref, np, p, rule)
			}
		}
	}
}

// servicePortsOf judges the ports of one rule.
func (r *run) servicePortsOf(table *portTable, ref object.Ref, np *networkingv1.NetworkPolicy, p *intent.Policy, rule *intent.Rule) {
	ports := portsOf(np, p.Direction, rule.Path)
	if len(ports) == 0 {
		return
	}
	set := r.Snapshot.Set(p.Subject)
	if p.Direction == intent.Egress {
		if rule.Peer.Kind != intent.PeerSet {
			return
		}
		if set = r.Snapshot.Set(rule.Peer.Set); set != nil && len(set.Prefixes) > 0 {
			return // addresses outside may be meant
		}
	}
	if set.Len() == 0 || set.Len() > maxNamingPods {
		return
	}
	var pods []object.Key
	for member := range set.Members.All() {
		pods = append(pods, member.Key)
	}
	slices.SortFunc(pods, object.Key.Compare)
	for i := range ports {
		port := &ports[i]
		if port.Port == nil || port.Port.Type != intstr.Int || port.EndPort != nil {
			continue
		}
		protocol := intent.TCP
		if port.Protocol != nil {
			protocol = protocolOf(*port.Protocol)
		}
		by, wrong := table.misses(pods, protocol, uint16(port.Port.IntVal)) //nolint:gosec // a port
		if !wrong || slices.ContainsFunc(ports, func(o networkingv1.NetworkPolicyPort) bool {
			return o.Port != nil && o.Port.Type == intstr.Int && uint16(o.Port.IntVal) == by.target //nolint:gosec // a port
		}) {
			continue
		}
		r.add(newFinding(ServicePort, ref, fmt.Sprintf("%s.ports[%d].port", rule.Path, i), fmt.Sprintf(
			"%d is the port of Service %s; its pods listen on %d, which is what policies see", port.Port.IntVal, by.service, by.target)))
	}
}

// portsOf lists the ports of a rule by its path, such as spec.ingress[0].
func portsOf(np *networkingv1.NetworkPolicy, d intent.Direction, path string) []networkingv1.NetworkPolicyPort {
	var n int
	if d == intent.Ingress {
		if _, err := fmt.Sscanf(path, "spec.ingress[%d]", &n); err == nil && n < len(np.Spec.Ingress) {
			return np.Spec.Ingress[n].Ports
		}
	} else if _, err := fmt.Sscanf(path, "spec.egress[%d]", &n); err == nil && n < len(np.Spec.Egress) {
		return np.Spec.Egress[n].Ports
	}
	return nil
}

// protocolOf is the protocol of a port, TCP by default.
func protocolOf(p corev1.Protocol) intent.Protocol {
	switch p {
	case corev1.ProtocolUDP:
		return intent.UDP
	case corev1.ProtocolSCTP:
		return intent.SCTP
	case corev1.ProtocolTCP:
		fallthrough
	default:
		return intent.TCP
	}
}
