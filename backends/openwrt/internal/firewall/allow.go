package firewall

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// isolatedAddrs returns the addresses that policies isolate in direction d, and by which policies. Addresses for which
// a rule allows all traffic with every peer are not included.
func isolatedAddrs(s *intent.Snapshot, policies []*intent.Policy, d intent.Direction) map[netip.Addr][]*intent.Policy {
	isolated := make(map[netip.Addr][]*intent.Policy)
	for _, p := range policies {
		if p.Direction == d && p.Isolates {
			for _, a := range s.Set(p.Subject).SubjectAddrs() {
				isolated[a] = append(isolated[a], p)
			}
		}
	}
	for _, p := range policies {
		for i := range p.Rules {
			r := &p.Rules[i]
			if p.Direction == d && r.Action == intent.Allow && r.Peer.Kind == intent.PeerAny && r.Ports.Any {
				for _, a := range subjects(s, p, r) {
					delete(isolated, a)
				}
			}
		}
	}
	return isolated
}

// subjects returns the addresses that a rule of a policy applies to.
func subjects(s *intent.Snapshot, p *intent.Policy, r *intent.Rule) []netip.Addr {
	all := s.Set(p.Subject).Addrs()
	if r.Subject == "" {
		return all
	}
	narrowed := s.Set(r.Subject).Addrs()
	return slices.DeleteFunc(all, func(a netip.Addr) bool {
		_, found := slices.BinarySearchFunc(narrowed, a, netip.Addr.Compare)
		return !found
	})
}

// allowance is what one rule of a policy allows, as far as it is for isolated addresses, or what it denies. An invalid peer is
// any.
type allowance struct {
	policy          *intent.Policy
	denies          bool
	subjects, peers []netip.Prefix
	ports           []portMatch
}

// peerPrefixes returns the addresses of a peer; an invalid prefix is any address.
func peerPrefixes(s *intent.Snapshot, peer intent.Peer) []netip.Prefix {
	set := s.Set(peer.Set)
	switch {
	case peer.Kind == intent.PeerAny:
		return []netip.Prefix{{}}
	case peer.Kind != intent.PeerSet || set == nil:
		return nil
	default:
		return intent.MergePrefixes(append(hosts(set.Addrs()), set.Prefixes...))
	}
}

// hosts returns addresses as the fewest prefixes.
func hosts(addrs []netip.Addr) []netip.Prefix {
	list := make([]netip.Prefix, 0, len(addrs))
	for _, a := range addrs {
		list = append(list, netip.PrefixFrom(a, a.BitLen()))
	}
	return intent.MergePrefixes(list)
}

// each calls do with the traffic of every rule of a.
func (a *allowance) each(do func(traffic)) {
	for _, subject := range a.subjects {
		for _, peer := range a.peers {
			if peer.IsValid() && peer.Addr().Is4() != subject.Addr().Is4() {
				continue
			}
			for _, ports := range a.ports {
				if ports.family.Has(intent.FamilyOf(subject.Addr())) {
					do(traffic{a.policy.Direction, subject, peer, ports})
				}
			}
		}
	}
}
