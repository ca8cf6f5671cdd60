package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// dnsPort is the port of DNS.
const dnsPort = 53

// dnsPortOfPods is the port on which the pods of some distributions serve DNS, behind a Service with dnsPort.
const dnsPortOfPods = 5353

// names finds the pods that are isolated for egress and may not send to UDP port 53, nor to the port on which the pods behind a
// Service for DNS listen. They are reported at the policy that isolates most pods.
func (r *run) names() {
	ports := r.dnsPorts()
	if r.resolverUnknown = r.Makers != nil && !r.servesDNS(); r.resolverUnknown {
		ports = append(ports, dnsPortOfPods)
	}
	byName := map[object.Ref]bool{} // policies that allow the port of a resolver by its name
	for _, np := range r.Policies {
		byName[refOf(np)] = slices.ContainsFunc(np.Spec.Egress, namesDNS)
	}
	resolving := &gathered{snapshot: r.Snapshot, keys: map[object.Key]bool{}, from: map[[2]intent.SetID]bool{}}
	most := map[object.Key]*intent.Policy{} // by endpoint: the isolating policy that selects most
	isolated := map[intent.SetID]bool{}
	for p := range r.Snapshot.Policies() {
		set := r.Snapshot.Set(p.Subject)
		if p.Direction != intent.Egress || p.Tier == intent.TierSystem || set.Len() == 0 {
			continue
		}
		if p.Isolates && !isolated[p.Subject] { // the first of equal ones, by ID
			isolated[p.Subject] = true
			for e := range set.Members.All() {
				if best := most[e.Key]; best == nil || r.Snapshot.Set(best.Subject).Len() < set.Len() {
					most[e.Key] = p
				}
			}
		}
		if r.resolverUnknown && byName[p.Origin.Ref()] {
			resolving.add(p.Subject, p.Subject)
		}
		for _, subject := range r.resolvers(p, ports) {
			resolving.add(subject, p.Subject)
		}
	}
	pods := map[*intent.Policy][]string{}
	for key, p := range most {
		if !resolving.keys[key] {
			subject := key.Subject()
			pods[p] = append(pods[p], subject.Namespace+"/"+subject.Name)
		}
	}
	policies := slices.SortedFunc(maps.Keys(pods), func(a, b *intent.Policy) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range policies {
		slices.Sort(pods[p])
		pods[p] = slices.Compact(pods[p])
		r.add(newFinding(NoDNS, p.Origin.Ref(), "spec", fmt.Sprintf("isolates %s for egress, and no policy allows DNS (udp/%d): %s",
			r.out.count(len(pods[p])), dnsPort, object.Few(pods[p], shown))))
	}
}

// gathered are endpoints of many sets. Policies often have a set in common: each is looked at once.
type gathered struct {
	snapshot *intent.Snapshot
	keys     map[object.Key]bool
	from     map[[2]intent.SetID]bool
}

// add adds the endpoints of a set that are in another one, or the same.
func (g *gathered) add(set, within intent.SetID) {
	if g.from[[2]intent.SetID{set, within}] {
		return
	}
	g.from[[2]intent.SetID{set, within}] = true
	outer := g.snapshot.Set(within)
	for e := range g.snapshot.Set(set).Members.All() {
		if set == within || outer.HasKey(e.Key) {
			g.keys[e.Key] = true
		}
	}
}

// resolvers lists the sets of endpoints for which rules of a policy allow DNS to anything.
func (r *run) resolvers(p *intent.Policy, ports []uint16) []intent.SetID {
	found := map[intent.SetID]bool{}
	for i := range p.Rules {
		rule := &p.Rules[i]
		subject := cmp.Or(rule.Subject, p.Subject)
		if found[subject] || rule.Action != intent.Allow || rule.Peer.Kind == intent.PeerNone || r.Snapshot.Set(subject).Len() == 0 {
			continue
		}
		if set := r.Snapshot.Set(rule.Peer.Set); !r.resolverUnknown && rule.Peer.Kind == intent.PeerSet &&
			(set == nil || set.Len() == 0 && len(set.Prefixes) == 0) {
			continue
		}
		found[subject] = slices.ContainsFunc(ports, func(n uint16) bool { return rule.Ports.Has(intent.UDP, n) })
	}
	maps.DeleteFunc(found, func(_ intent.SetID, does bool) bool { return !does })
	return slices.Sorted(maps.Keys(found))
}

// dnsPorts lists the ports on which pods may serve DNS, in order.
func (r *run) dnsPorts() []uint16 {
	ports := map[uint16]bool{dnsPort: true}
	for lb := range r.Snapshot.LoadBalancers() {
		for i := range lb.Frontends {
			if f := &lb.Frontends[i]; f.Port == dnsPort && f.Protocol == intent.UDP {
				for b := range f.Backends.All() {
					ports[b.Port] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(ports))
}

// servesDNS reports whether a pod is known that resolves names: it declares UDP port 53, or is behind a Service that does.
func (r *run) servesDNS() bool {
	for lb := range r.Snapshot.LoadBalancers() {
		for i := range lb.Frontends {
			if f := &lb.Frontends[i]; f.Port == dnsPort && f.Protocol == intent.UDP && f.Backends.Len() > 0 {
				return true
			}
		}
	}
	return slices.ContainsFunc(r.Pods, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool {
				return port.ContainerPort == dnsPort && port.Protocol == corev1.ProtocolUDP
			})
		})
	})
}

// namesDNS reports whether a rule allows a UDP port with the name that those of resolvers have.
func namesDNS(r networkingv1.NetworkPolicyEgressRule) bool {
	return slices.ContainsFunc(r.Ports, func(p networkingv1.NetworkPolicyPort) bool {
		return isNamed(&p) && strings.HasPrefix(p.Port.StrVal, "dns") && p.Protocol != nil && *p.Protocol == corev1.ProtocolUDP
	})
}

// onlyDNS reports whether a rule is for DNS and nothing else.
func onlyDNS(ports []networkingv1.NetworkPolicyPort) bool {
	return len(ports) > 0 && !slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if p.Port == nil || p.EndPort != nil {
			return true
		}
		return p.Port.String() != "53" && p.Port.String() != "5353" && !strings.HasPrefix(p.Port.String(), "dns")
	})
}
