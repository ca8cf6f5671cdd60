package openwrt

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
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

// allowances returns those of a policy. A rule that the device cannot express allows nothing.
func (w *policyWriter) allowances(
	s *intent.Snapshot, p *intent.Policy, isolated map[netip.Addr][]*intent.Policy,
) (list []*allowance) {
	for i := range p.Rules {
		r := &p.Rules[i]
		ports, why := portMatches(r.Ports)
		switch {
		case r.Action > intent.Allow:
			why = fmt.Sprintf("no action %s", r.Action)
		case r.Peer.Kind > intent.PeerAny:
			why = fmt.Sprintf("no kind %d of peer", r.Peer.Kind)
		}
		if why != "" {
			w.skip(p, "%s allows nothing: the device supports %s", r.Path, why)
			continue
		}
		a := &allowance{policy: p, denies: r.Action == intent.Deny, peers: peerPrefixes(s, r.Peer), ports: ports}
		addrs := subjects(s, p, r)
		if !a.denies {
			addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return isolated[a] == nil })
		}
		a.subjects = hosts(addrs)
		list = append(list, a)
	}
	return list
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

// affordable leaves out the policies that need the most rules, until a device may have the rest.
func (w *policyWriter) affordable(list []*allowance) []*allowance {
	needs, total := make(map[*intent.Policy]int), 0
	for _, a := range list {
		a.each(func(traffic) {
			needs[a.policy] += len(w.marked)
			total += len(w.marked)
		})
	}
	dearest := slices.SortedFunc(maps.Keys(needs), func(p, q *intent.Policy) int {
		return cmp.Or(cmp.Compare(needs[q], needs[p]), strings.Compare(string(p.ID), string(q.ID)))
	})
	for _, p := range dearest {
		if total <= maxAllowing {
			break
		}
		w.skip(p, "it allows nothing: it would need %d rules on the device, and the limit for all policies is %d", needs[p], maxAllowing)
		total -= needs[p]
		list = slices.DeleteFunc(list, func(a *allowance) bool { return a.policy == p })
	}
	return list
}

// isolate marks and drops what is isolated in direction d.
func (w *policyWriter) isolate(d intent.Direction, isolated map[netip.Addr][]*intent.Policy) {
	addrs := slices.SortedFunc(maps.Keys(isolated), netip.Addr.Compare)
	for _, subject := range hosts(addrs) {
		var by []*intent.Policy
		for ; len(addrs) > 0 && subject.Contains(addrs[0]); addrs = addrs[1:] {
			by = append(by, isolated[addrs[0]]...)
		}
		t := traffic{direction: d, subject: subject, ports: portMatch{proto: "all"}}
		w.mark(t, "isolate", w.bits.isolated[d], by...)
		for _, z := range w.crossed {
			r := t.rule(z)
			r.Target, r.Mark = "DROP", fmt.Sprintf("0x0/%#x", w.bits.allowed[d])
			w.add(r, t.title("deny"), by...)
		}
	}
}

// allow marks what an allowance allows.
func (w *policyWriter) allow(a *allowance) {
	a.each(func(t traffic) { w.mark(t, "allow", w.bits.allowed[t.direction], a.policy) })
}

// deny drops what a rule denies, and marks it for rules that a person wrote to accept it.
func (w *policyWriter) deny(a *allowance) {
	a.each(func(t traffic) {
		w.mark(t, "refuse", w.bits.denied, a.policy)
		for _, z := range w.crossed {
			r := t.rule(z)
			r.Target = "DROP"
			w.add(r, t.title("refuse"), a.policy)
		}
	})
}

// mark adds rules that set a bit in the mark of some traffic.
func (w *policyWriter) mark(t traffic, verb string, bit uint32, policies ...*intent.Policy) {
	for _, z := range w.marked {
		r := t.rule(z)
		r.Target, r.SetXMark = "MARK", settingBit(bit)
		w.add(r, t.title(verb), policies...)
	}
}

// traffic is what a rule matches of packets. An invalid peer is any.
type traffic struct {
	direction     intent.Direction
	subject, peer netip.Prefix
	ports         portMatch
}

// title is for display only.
func (t traffic) title(verb string) string {
	return fmt.Sprintf("%s %s %s", verb, t.direction, strings.TrimSuffix(t.subject.String(), "/32"))
}

// rule matches t between two zones. The device's own fields hold only IPv4 addresses; its firewall takes others as
// arguments of iptables.
func (t traffic) rule(z zonePair) openwrt.FirewallRule {
	src, dst := t.peer, t.subject
	if t.direction == intent.Egress {
		src, dst = dst, src
	}
	r := openwrt.FirewallRule{Src: z.from, Dest: z.to, Proto: t.ports.proto, DestPort: t.ports.port, Family: "ipv4"}
	var words []string
	for _, side := range []struct {
		flag   string
		field  *string
		prefix netip.Prefix
	}{{"-s", &r.SrcIP, src}, {"-d", &r.DestIP, dst}} {
		switch {
		case !side.prefix.IsValid() || side.prefix.Bits() == 0:
		case side.prefix.Addr().Is4():
			*side.field = side.prefix.String()
		default:
			words = append(words, side.flag, side.prefix.String())
		}
	}
	if t.subject.Addr().Is6() {
		r.Family = "ipv6"
	}
	if t.ports.words != "" {
		words = append(words, t.ports.words)
	}
	r.Extra = strings.Join(words, " ")
	return r
}
