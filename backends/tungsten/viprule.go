package tungsten

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// reach is VIPs that a rule covers, and the service by which it does.
type reach struct {
	vips    endpoint
	service tungsten.Service
}

// vipRule renders the i-th rule of a policy for the VIPs that it covers: those whose backends are all at the end that it refers to
// if it allows, and those of which one is if it denies. The vrouter sees a VIP and its port where the rule means a backend and its
// port.
func (r *rendering) vipRule(p *intent.Policy, i int, allows bool) []string {
	rule := &p.Rules[i]
	reaches := r.reaches(p, rule, allows)
	if len(reaches) == 0 {
		return nil
	}
	subject, peers, ok := endpoint{}, []endpoint(nil), false
	if p.Direction == intent.Egress {
		subject, ok = r.subject(p, rule, allows)
	} else {
		peers, ok = r.peers(p, rule, allows)
	}
	if !ok {
		return nil
	}
	var out []string
	for _, to := range reaches {
		if p.Direction == intent.Egress {
			out = append(out, r.native(p, i, allows, subject, to.vips, to.service))
			continue
		}
		for _, peer := range peers {
			out = append(out, r.native(p, i, allows, to.vips, peer, to.service))
		}
	}
	return out
}

// reaches finds the VIPs that a rule covers, by ports. It records those that it covers in part, except for rules that admit a node to
// the pods on it: they do so for every Service with endpoints on several nodes, and nodes are not behind a vrouter.
func (r *rendering) reaches(p *intent.Policy, rule *intent.Rule, allows bool) []reach {
	if len(r.balanced.vips) == 0 || rule.Peer.Kind == intent.PeerNone {
		return nil
	}
	c, whole := r.behind(p, rule)
	if rule.Ports.Any {
		return r.reachesAnyPort(p, c, whole, allows)
	}
	type key struct {
		protocol intent.Protocol
		port     uint16
	}
	found := map[key][]netip.Addr{}
	for _, n := range c.some {
		v := r.balanced.vips[n]
		_, all := slices.BinarySearch(c.all, n)
		for _, f := range v.fronts {
			has := func(target uint16) bool { return rule.Ports.Has(f.protocol, target) }
			if !slices.ContainsFunc(f.targets, has) {
				continue
			}
			uniform := all && !slices.ContainsFunc(f.targets, func(t uint16) bool { return !has(t) })
			if !uniform && p.Tier != intent.TierSystem {
				r.uneven[f.owner] = true
			}
			if uniform || !allows {
				k := key{f.protocol, f.port}
				found[k] = append(found[k], v.addr)
			}
		}
	}
	var out []reach
	for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.port, b.port))
	}) {
		name := map[intent.Protocol]string{intent.TCP: "tcp", intent.UDP: "udp"}[k.protocol]
		out = append(out, reach{r.vipGroup(found[k]), service(name, int(k.port), int(k.port))})
	}
	return out
}

// behind returns the coverage of the destination of a rule, and whether that is everything.
func (r *rendering) behind(p *intent.Policy, rule *intent.Rule) (c coverage, whole bool) {
	switch {
	case p.Direction == intent.Ingress:
		if c = r.balanced.cover(p.Subject, true); rule.Subject != "" {
			c = c.within(r.balanced.cover(rule.Subject, true))
		}
		return c, false
	case rule.Peer.Kind == intent.PeerSet:
		return r.balanced.cover(rule.Peer.Set, false), false
	default:
		return r.balanced.any(), true
	}
}

func (r *rendering) reachesAnyPort(p *intent.Policy, c coverage, whole, allows bool) []reach {
	anyPort := service("any", 0, maxPort)
	if whole {
		return []reach{{r.everyVIP(), anyPort}}
	}
	for _, n := range c.some {
		if _, all := slices.BinarySearch(c.all, n); !all && p.Tier != intent.TierSystem {
			r.unevenAt(n)
		}
	}
	list := c.all
	if !allows {
		list = c.some
	}
	if len(list) == 0 {
		return nil
	}
	return []reach{{r.vipGroup(r.balanced.addrsOf(list)), anyPort}}
}

// unevenAt records that the backends of a VIP are not governed alike.
func (r *rendering) unevenAt(n int) {
	for _, f := range r.balanced.vips[n].fronts {
		r.uneven[f.owner] = true
	}
}

// vipGroup adds the address group of some VIPs.
func (r *rendering) vipGroup(addrs []netip.Addr) endpoint {
	slices.SortFunc(addrs, netip.Addr.Compare)
	return r.addresses(r.names.groupOf(addrs), "addresses of Services", slices.Compact(addrs))
}

// everyVIP adds the address group of all VIPs.
func (r *rendering) everyVIP() endpoint {
	var all []int
	for n := range r.balanced.vips {
		all = append(all, n)
	}
	return r.addresses(r.names.allVIPs(), "addresses of all Services", r.balanced.addrsOf(all))
}

func (r *rendering) addresses(name, what string, addrs []netip.Addr) endpoint {
	if r.objects[r.names.uuid(tungsten.KindAddressGroup, name)] == nil {
		g := r.object(tungsten.KindAddressGroup, name, what)
		g.AddressGroupPrefix = &tungsten.Subnets{}
		for _, p := range hosts(addrs) {
			g.AddressGroupPrefix.Subnet = append(g.AddressGroupPrefix.Subnet, tungsten.SubnetOf(p))
		}
	}
	return endpoint{group: name}
}

// vipIsolation refers to the rule that denies VIPs what no policy allows: for egress to isolated endpoints, for ingress if a backend
// is isolated.
func (r *rendering) vipIsolation(d intent.Direction) []tungsten.Ref {
	if len(r.balanced.vips) == 0 {
		return nil
	}
	if d == intent.Egress {
		return []tungsten.Ref{r.fixedFor(d, stageVIPIsolation, r.isolated(d), r.everyVIP(), false)}
	}
	c := r.balanced.cover(intent.IsolatedSet(d), true)
	for _, n := range c.some {
		if _, all := slices.BinarySearch(c.all, n); !all {
			r.unevenAt(n)
		}
	}
	if len(c.some) == 0 {
		return nil
	}
	return []tungsten.Ref{r.fixedFor(d, stageVIPIsolation, r.vipGroup(r.balanced.addrsOf(c.some)), endpoint{}, false)}
}

// vipRest refers to the rule that ends the decision about VIPs.
func (r *rendering) vipRest(d intent.Direction) []tungsten.Ref {
	if len(r.balanced.vips) == 0 {
		return nil
	}
	if d == intent.Egress {
		return []tungsten.Ref{r.fixedFor(d, stageVIPRest, endpoint{}, r.everyVIP(), true)}
	}
	return []tungsten.Ref{r.fixedFor(d, stageVIPRest, r.everyVIP(), endpoint{}, true)}
}

// fixedFor adds a rule that no policy causes, named after its ends, and refers to it.
func (r *rendering) fixedFor(d intent.Direction, s stage, subject, peer endpoint, allows bool) tungsten.Ref {
	name := fmt.Sprintf("%s.%s", r.names.stageName(d, s), digest(subject.String()+"|"+peer.String()))
	o := r.object(tungsten.KindFirewallRule, name, s.String()+" for "+d.String())
	fill(o, d, subject, peer, service("any", 0, maxPort), allows)
	return r.refTo(tungsten.KindFirewallRule, name).InSequence(place(0))
}

// unevenSkips reports the load balancers whose backends are not governed alike.
func (r *rendering) unevenSkips() []backends.Skip {
	var out []backends.Skip
	for _, id := range slices.Sorted(maps.Keys(r.uneven)) {
		if id == "" {
			continue // of a Service that is unavailable
		}
		out = append(out, backends.Skip{Intent: string(id), Reason: "policies do not treat its endpoints alike, but the vrouter does not " +
			"see which one a connection is for: only what they all allow is allowed"})
	}
	return out
}
