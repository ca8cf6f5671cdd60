package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// dnsPort is the port of DNS.
const dnsPort = 53

// names finds the pods that are isolated for egress and may not send to UDP port 53, nor to the port on which the pods behind a
// Service for DNS listen. They are reported at the policy that isolates most pods.
func (r *run) names() {
	ports := r.dnsPorts()
	resolving := map[object.Key]bool{}
	most := map[object.Key]*intent.Policy{} // by endpoint: the isolating policy that selects most
	for p := range r.Snapshot.Policies() {
		set := r.Snapshot.Set(p.Subject)
		if p.Direction != intent.Egress || p.Tier == intent.TierSystem || set.Len() == 0 {
			continue
		}
		if p.Isolates {
			for e := range set.Members.All() {
				if best := most[e.Key]; best == nil || r.Snapshot.Set(best.Subject).Len() < set.Len() {
					most[e.Key] = p // the first of equal ones, by ID
				}
			}
		}
		for _, subject := range r.resolvers(p, ports) {
			for e := range r.Snapshot.Set(subject).Members.All() {
				if subject == p.Subject || set.HasKey(e.Key) {
					resolving[e.Key] = true
				}
			}
		}
	}
	pods := map[*intent.Policy][]string{}
	for key, p := range most {
		if !resolving[key] {
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

// resolvers lists the sets of endpoints for which rules of a policy allow DNS to anything.
func (r *run) resolvers(p *intent.Policy, ports []uint16) []intent.SetID {
	found := map[intent.SetID]bool{}
	for i := range p.Rules {
		rule := &p.Rules[i]
		subject := cmp.Or(rule.Subject, p.Subject)
		if found[subject] || rule.Action != intent.Allow || rule.Peer.Kind == intent.PeerNone || r.Snapshot.Set(subject).Len() == 0 {
			continue
		}
		if set := r.Snapshot.Set(rule.Peer.Set); rule.Peer.Kind == intent.PeerSet && (set == nil || set.Len() == 0 && len(set.Prefixes) == 0) {
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
				for _, b := range f.Backends {
					ports[b.Port] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(ports))
}
