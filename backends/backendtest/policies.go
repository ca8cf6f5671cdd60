package backendtest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// addPolicy writes a new policy. Its name is sometimes too long, or almost the same as another.
func (w *World) addPolicy() {
	w.written++
	d := intent.Directions()[w.rng.IntN(2)]
	if w.rng.IntN(6) == 0 {
		w.allowNode(d)
		return
	}
	if w.rng.IntN(4) == 0 {
		w.addClusterPolicy(d)
		return
	}
	o := intent.Origin{Kind: "NetworkPolicy", Namespace: pick(w.rng, namespaces()), Name: fmt.Sprintf("np-%d", w.written)}
	switch w.rng.IntN(6) {
	case 0:
		o.Namespace, o.Name = "a-b", fmt.Sprintf("c-%d", w.written)
	case 1:
		o.Namespace, o.Name = "a", fmt.Sprintf("b-c-%d", w.written)
	case 2:
		o.Name = fmt.Sprintf("%s.%d", strings.Repeat("long.", 49), w.written)
	}
	o.UID = fmt.Sprintf("00000000-0000-0000-0000-%012d", w.written)
	id := intent.NewPolicyID(o, d)
	w.policies = append(w.policies, w.policy(id, o, d))
}

// addClusterPolicy writes a new policy of an ordered tier.
func (w *World) addClusterPolicy(d intent.Direction) {
	o := intent.Origin{Kind: clusterKind, Name: fmt.Sprintf("cnp-%d", w.written)}
	w.policies = append(w.policies, w.policy(intent.NewPolicyID(o, d), o, d))
}

// clusterKind is the kind of object whose policies are of ordered tiers.
const clusterKind = "ClusterNetworkPolicy"

// rank makes p a policy of an ordered tier. Others often have the same priority.
func (w *World) rank(p *intent.Policy) {
	p.Tier, p.Priority, p.Isolates = intent.TierAdmin, pick(w.rng, []uint16{0, 5, 5, 6, 1000}), false
	if w.rng.IntN(3) == 0 {
		p.Tier = intent.TierBaseline
	}
	if w.rng.IntN(3) == 0 {
		p.Subject = w.set(peerList{terms: []term{{}}})
	}
	for i := range p.Rules {
		p.Rules[i].Action = pick(w.rng, []intent.Action{intent.Allow, intent.Deny, intent.Pass})
	}
}

// allowNode writes the policy that lets a node reach its own pods. It isolates none.
func (w *World) allowNode(d intent.Direction) {
	n := w.rng.IntN(len(nodes()))
	o := intent.Origin{Kind: "Node", Name: nodes()[n]}
	id := intent.NewPolicyID(o, d)
	if slices.ContainsFunc(w.policies, func(p intent.Policy) bool { return p.ID == id }) {
		return
	}
	address := netip.PrefixFrom(nodeAddrs()[n], 32)
	w.policies = append(w.policies, intent.Policy{
		ID: id, Origin: o, Direction: d, Tier: intent.TierSystem,
		Subject: w.set(peerList{terms: []term{{node: nodes()[n]}}}),
		Rules: []intent.Rule{{
			Path: "status.addresses", Action: intent.Allow, Ports: intent.Ports{Any: true},
			Peer: intent.Peer{Kind: intent.PeerSet, Set: w.set(peerList{prefixes: []netip.Prefix{address}})},
		}},
	})
}

func (w *World) policy(id intent.PolicyID, o intent.Origin, d intent.Direction) intent.Policy {
	subject := term{namespace: pick(w.rng, namespaces())}
	switch w.rng.IntN(4) {
	case 0:
		subject.app = pick(w.rng, apps())
	case 1:
		subject.tier = pick(w.rng, tiers())
	}
	p := intent.Policy{
		ID: id, Origin: o, Direction: d, Isolates: o.Kind != "Node",
		Subject: w.set(peerList{terms: []term{subject}}),
	}
	for i := range w.rng.IntN(4) {
		p.Rules = append(p.Rules, w.rule(d, i, subject))
	}
	p.Rules = append(p.Rules, w.commonRules(d, len(p.Rules))...)
	if o.Kind == clusterKind {
		w.rank(&p)
	}
	if w.rng.IntN(5) == 0 {
		p.Log = intent.Logging{
			Allow: intent.Severity(w.rng.IntN(6)),
			Deny:  intent.Severity(w.rng.IntN(6)),
			Rate:  uint32(w.rng.IntN(2)) * 10,
		}
	}
	return p
}

func (w *World) rule(d intent.Direction, i int, subject term) intent.Rule {
	r := intent.Rule{Path: fmt.Sprintf("spec.%s[%d]", d, i), Action: intent.Allow, Ports: w.ports()}
	if w.rng.IntN(20) == 0 {
		r.Action = intent.Deny
	}
	if w.rng.IntN(5) == 0 { // as a named port does
		subject.web = pick(w.rng, webs()[1:])
		r.Subject = w.set(peerList{terms: []term{subject}})
		r.Ports = intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: subject.web, Last: subject.web}}}
	}
	switch n := w.rng.IntN(10); {
	case n < 2:
		r.Peer.Kind = intent.PeerAny
	case n < 3:
		r.Peer.Kind = intent.PeerNone
	default:
		r.Peer = intent.Peer{Kind: intent.PeerSet, Set: w.set(w.named(w.peers()))}
	}
	return r
}

func (w *World) ports() intent.Ports {
	switch n := w.rng.IntN(12); {
	case n < 4:
		return intent.Ports{Any: true}
	case n < 5:
		return intent.Ports{}
	}
	var ranges []intent.PortRange
	for range 1 + w.rng.IntN(3) {
		ranges = append(ranges, pick(w.rng, portMenu()))
	}
	return intent.Ports{Ranges: intent.MergePorts(ranges)}
}

func (w *World) peers() peerList {
	var l peerList
	if w.rng.IntN(4) > 0 {
		t := term{namespace: pick(w.rng, append(namespaces(), ""))}
		switch w.rng.IntN(4) {
		case 0:
			t.app = pick(w.rng, apps())
		case 1:
			t.tier = pick(w.rng, tiers())
		case 2:
			t.app = "nobody"
		}
		l.terms = append(l.terms, t)
	}
	if len(l.terms) == 0 || w.rng.IntN(4) == 0 {
		l.prefixes = pick(w.rng, prefixMenu())
	} else if w.rng.IntN(5) == 0 { // as a named port with an address block does
		l.within = pick(w.rng, prefixMenu())
	}
	return l
}

// portMenu returns the ports that rules choose from. Probes test both ends of its ranges.
func portMenu() []intent.PortRange {
	return []intent.PortRange{
		{Protocol: intent.TCP, First: 80, Last: 80},
		{Protocol: intent.TCP, First: 80, Last: 90},
		{Protocol: intent.TCP, First: 91, Last: 8080},
		{Protocol: intent.TCP, First: 1, Last: 65535},
		{Protocol: intent.UDP, First: 53, Last: 53},
		{Protocol: intent.UDP, First: 80, Last: 80},
		{Protocol: intent.SCTP, First: 80, Last: 80},
		{Protocol: intent.SCTP, First: 0, Last: 65535},
	}
}

// prefixMenu returns the prefixes that peers choose from.
func prefixMenu() [][]netip.Prefix {
	return [][]netip.Prefix{
		prefixes("0.0.0.0/0"),
		prefixes("::/0"),
		prefixes("10.244.0.0/16"),
		prefixes("10.244.0.0/27", "203.0.113.0/24", "2001:db8::/32"),
		prefixes("0.0.0.0/1", "128.0.0.0/2", "fd00:10::/64"),
		prefixes("198.51.100.7/32", "2001:db8::7/128"),
	}
}

// nodeAddrs returns the addresses of the nodes, in their order.
func nodeAddrs() []netip.Addr { return addresses("172.18.0.2", "172.18.0.3") }

// outside returns addresses that no endpoint or node has.
func outside() []netip.Addr {
	return addresses("203.0.113.9", "198.51.100.7", "2001:db8::7", "2001:db9::1")
}

func addresses(list ...string) []netip.Addr {
	parsed := make([]netip.Addr, 0, len(list))
	for _, a := range list {
		parsed = append(parsed, netip.MustParseAddr(a))
	}
	return parsed
}

func prefixes(list ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, 0, len(list))
	for _, p := range list {
		parsed = append(parsed, netip.MustParsePrefix(p))
	}
	return parsed
}
