package world

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Undeclared is a named port of an ingress rule that no pod declares which the policy selects: it allows nothing.
type Undeclared struct {
	Path     string // of the rule, such as spec.ingress[0]
	Field    string // of the port, such as spec.ingress[0].ports[0].port
	Name     string
	Protocol intent.Protocol
	from     []networkingv1.NetworkPolicyPeer
}

// String says what is wrong.
func (u *Undeclared) String() string {
	return fmt.Sprintf("%s: no selected pod declares a %s port %q", u.Field, u.Protocol, u.Name)
}

// UndeclaredPorts lists such ports of a NetworkPolicy by its intent for ingress. A policy that selects no pod has none, and one that selects
// very many pods is not examined.
func (w *World) UndeclaredPorts(p *intent.Policy) []Undeclared {
	if p.Direction != intent.Ingress || p.Origin.Kind != object.KindNetworkPolicy {
		return nil
	}
	if known, ok := w.undeclared.Load(p.ID); ok {
		ports, _ := known.([]Undeclared) // nothing else is stored
		return ports
	}
	ports := namedPorts(w.policies[p.Origin.Ref().NamespacedName()])
	if len(ports) > 0 {
		declared, known := w.declared(p)
		ports = slices.DeleteFunc(ports, func(u Undeclared) bool {
			return !known || declared[labelcache.NamedPort{Name: u.Name, Protocol: labelcache.Protocol(u.Protocol)}]
		})
	}
	w.undeclared.Store(p.ID, ports)
	return ports
}

// namedPorts lists the named ports of the ingress rules of a policy; nil has none.
func namedPorts(np *networkingv1.NetworkPolicy) []Undeclared {
	if np == nil {
		return nil
	}
	var out []Undeclared
	for i := range np.Spec.Ingress {
		rule := &np.Spec.Ingress[i]
		for k := range rule.Ports {
			if p := &rule.Ports[k]; p.Port != nil && p.Port.Type == intstr.String {
				path := fmt.Sprintf("spec.ingress[%d]", i)
				out = append(out, Undeclared{path, fmt.Sprintf("%s.ports[%d].port", path, k), p.Port.StrVal, protocolOf(p), rule.From})
			}
		}
	}
	return out
}

func protocolOf(p *networkingv1.NetworkPolicyPort) intent.Protocol {
	switch {
	case p.Protocol != nil && *p.Protocol == corev1.ProtocolUDP:
		return intent.UDP
	case p.Protocol != nil && *p.Protocol == corev1.ProtocolSCTP:
		return intent.SCTP
	}
	return intent.TCP
}

// declared are the named ports of the pods that a policy selects, without their numbers; known is false if there are none, or very many.
func (w *World) declared(p *intent.Policy) (ports map[labelcache.NamedPort]bool, known bool) {
	set := w.State.Snapshot.Set(p.Subject)
	if set.Len() == 0 || set.Len() > maxKin {
		return nil, false
	}
	ports = map[labelcache.NamedPort]bool{}
	for e := range set.Members.All() {
		pod, ok := w.State.View.Endpoint(e.Key)
		if !ok {
			return nil, false
		}
		for _, port := range pod.Ports {
			ports[labelcache.NamedPort{Name: port.Name, Protocol: port.Protocol}] = true
		}
	}
	return ports, true
}

// MayAdmit reports whether the rule of the port may be meant for connections from a party to pods of a namespace. A peer of other
// namespaces, and a block, may be.
func (u *Undeclared) MayAdmit(w *World, from intent.Party, namespace string) bool {
	source, ok := w.State.View.Endpoint(from.Key)
	return len(u.from) == 0 || slices.ContainsFunc(u.from, func(peer networkingv1.NetworkPolicyPeer) bool {
		if peer.PodSelector == nil || !ok {
			return peer.PodSelector == nil
		}
		selector, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
		return err == nil && selector.Matches(labels.Set(source.Labels)) && (peer.NamespaceSelector != nil || source.Key.Namespace == namespace)
	})
}
