package tungsten

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// endpoint is one end of a rule: all tags, or the prefixes of an address group. The zero value is any.
type endpoint struct {
	tags  []string
	group string
}

func (e endpoint) object() *tungsten.Endpoint {
	switch {
	case e.group != "":
		return &tungsten.Endpoint{AddressGroup: management + ":" + e.group}
	case len(e.tags) > 0:
		var tags []string
		for _, t := range e.tags {
			tags = append(tags, global(t))
		}
		return &tungsten.Endpoint{Tags: tags}
	default:
		return &tungsten.Endpoint{Any: true}
	}
}

func (e endpoint) String() string { return strings.Join(append(slices.Clone(e.tags), e.group), "+") }

// rule renders the i-th rule of a policy as one rule for each range of ports and kind of peer, and returns their names.
func (r *rendering) rule(p *intent.Policy, i int, allows bool) []string {
	rule := &p.Rules[i]
	services, ok := r.services(p, rule, allows)
	if !ok {
		return nil
	}
	subject, ok := r.subject(p, rule, allows)
	if !ok {
		return nil
	}
	peers, ok := r.peers(p, rule, allows)
	if !ok {
		return nil
	}
	if !allows && len(peers)*len(services) > 0 {
		r.govern(p.Direction, p.Subject)
	}
	var out []string
	for _, peer := range peers {
		for _, service := range services {
			out = append(out, r.native(p, i, allows, subject, peer, service))
		}
	}
	return out
}

// subject returns the end of a rule that policies select.
func (r *rendering) subject(p *intent.Policy, rule *intent.Rule, allows bool) (endpoint, bool) {
	as := allowSubject
	if !allows {
		as = denySubject
	}
	sets := []intent.SetID{p.Subject}
	if rule.Subject != "" && rule.Subject != p.Subject {
		sets = append(sets, rule.Subject)
	}
	var e endpoint
	for _, id := range sets {
		tag := r.names.setTag(as, id)
		if r.lacks(tag, r.title(id)) {
			r.skip(p, rule, noTag)
			return endpoint{}, !allows // a rule that denies does so for all
		}
		e.tags = append(e.tags, tag)
		r.use(use{tag: tag, set: id})
	}
	slices.Sort(e.tags)
	return e, true
}

// peers returns the other ends of a rule.
func (r *rendering) peers(p *intent.Policy, rule *intent.Rule, allows bool) ([]endpoint, bool) {
	switch rule.Peer.Kind {
	case intent.PeerNone:
		return nil, false
	case intent.PeerAny:
		return []endpoint{{}}, true
	case intent.PeerSet:
	default:
		r.skip(p, rule, fmt.Sprintf("unknown kind of peer %d", uint8(rule.Peer.Kind)))
		return []endpoint{{}}, !allows
	}
	as := allowPeer
	if !allows {
		as = denyPeer
	}
	set := r.want.Set(rule.Peer.Set)
	if set == nil {
		return nil, false
	}
	var out []endpoint
	listed := addressed(set)
	prefixes := slices.Clone(set.Prefixes)
	if set.Members != nil && !listed {
		tag := r.names.setTag(as, set.ID)
		if r.lacks(tag, r.title(set.ID)) {
			r.skip(p, rule, noTag)
			return []endpoint{{}}, !allows
		}
		out = append(out, endpoint{tags: []string{tag}})
		r.use(use{tag: tag, set: set.ID, peer: true})
		for e := range set.Members.All() {
			if r.spelled(e) {
				prefixes = append(prefixes, hosts(e.Addrs)...)
				r.listed[set.ID] = true
			}
		}
	}
	if listed {
		r.listed[set.ID] = true
		prefixes = append(prefixes, hosts(set.Addrs())...)
	}
	if len(set.Hosts) > 0 {
		r.listed[set.ID] = true // the group stays while DNS answers nothing, and then matches nothing
	} else if len(prefixes) == 0 {
		return out, len(out) > 0
	}
	if len(prefixes) > maxPrefixes {
		r.skip(p, rule, fmt.Sprintf("%d prefixes, more than the %d of an address group", len(prefixes), maxPrefixes))
		return []endpoint{{}}, !allows
	}
	return append(out, endpoint{group: r.group(as, set, prefixes)}), true
}

// spelled reports whether an endpoint is a peer by its addresses: a tag would stand for the addresses that it shares, too, and no
// interface of another cluster's pod is looked for.
func (r *rendering) spelled(e intent.Endpoint) bool {
	return len(e.Shared) > 0 || !r.local.has(e.Key.Cluster)
}

// addressed reports whether the members of a set are peers by single addresses rather than as what they are: a tag stands for
// all addresses of an interface.
func addressed(set *intent.Set) bool {
	return len(set.Within) > 0 || strings.HasPrefix(string(set.ID), "meet/peer/")
}

// hosts returns each address as a prefix.
func hosts(addrs []netip.Addr) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(addrs))
	for _, a := range addrs {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out
}

// group adds the address group of a set.
func (r *rendering) group(as role, set *intent.Set, prefixes []netip.Prefix) string {
	name := r.names.groupName(as, set.ID)
	if r.objects[r.names.uuid(tungsten.KindAddressGroup, name)] != nil {
		return name
	}
	g := r.object(tungsten.KindAddressGroup, name, "addresses of "+r.title(set.ID))
	g.AddressGroupPrefix = &tungsten.Subnets{}
	for _, p := range intent.MergePrefixes(prefixes) {
		g.AddressGroupPrefix.Subnet = append(g.AddressGroupPrefix.Subnet, tungsten.SubnetOf(p))
	}
	return name
}

// native adds a rule and returns its name.
func (r *rendering) native(p *intent.Policy, i int, allows bool, subject, peer endpoint, s tungsten.Service) string {
	content := fmt.Sprintf("%s|%t|%s|%s|%s|%d-%d", p.Direction, allows, subject, peer, s.Protocol, s.DstPorts.Start, s.DstPorts.End)
	if p.Tier.Ordered() {
		content = fmt.Sprintf("%s|%d", content, i)
	}
	name := r.names.ruleName(p.ID, content)
	if r.objects[r.names.uuid(tungsten.KindFirewallRule, name)] != nil {
		return name
	}
	o := r.object(tungsten.KindFirewallRule, name, string(p.ID))
	notes := o.Annotations.Map()
	notes[annotationOrigin], notes[annotationRule] = p.Origin.Ref().Path(), note(p.Rules[i].Path)
	o.Annotations = tungsten.NewAnnotations(notes)
	fill(o, p.Direction, subject, peer, s, allows)
	return name
}

// fixed adds a rule for all peers and ports that no policy causes, and refers to it.
func (r *rendering) fixed(d intent.Direction, s stage, subject endpoint, allows bool) tungsten.Ref {
	name := r.names.stageName(d, s)
	o := r.object(tungsten.KindFirewallRule, name, s.String()+" for "+d.String())
	fill(o, d, subject, endpoint{}, service("any", 0, maxPort), allows)
	return r.refTo(tungsten.KindFirewallRule, name)
}

func fill(o *tungsten.Object, d intent.Direction, subject, peer endpoint, s tungsten.Service, allows bool) {
	o.Endpoint1, o.Endpoint2 = peer.object(), subject.object()
	if d == intent.Egress {
		o.Endpoint1, o.Endpoint2 = o.Endpoint2, o.Endpoint1
	}
	o.Service, o.Direction, o.ActionList = &s, ">", &tungsten.Actions{SimpleAction: "deny"}
	if allows {
		o.ActionList.SimpleAction = "pass"
	}
}

const maxPort = 65535

func service(protocol string, first, last int) tungsten.Service {
	return tungsten.Service{
		Protocol: protocol, SrcPorts: &tungsten.Ports{End: maxPort}, DstPorts: &tungsten.Ports{Start: first, End: last},
	}
}

// services returns the protocols and ports of a rule. What the agent cannot match is left out of a rule that allows; a rule that
// denies denies the whole protocol.
func (r *rendering) services(p *intent.Policy, rule *intent.Rule, allows bool) ([]tungsten.Service, bool) {
	if rule.Ports.Any {
		return []tungsten.Service{service("any", 0, maxPort)}, true
	}
	var out []tungsten.Service
	for _, ports := range rule.Ports.Ranges {
		first, last := int(ports.First), int(ports.Last)
		name := map[intent.Protocol]string{
			intent.TCP: "tcp", intent.UDP: "udp", intent.SCTP: "sctp", intent.ICMP: "icmp", intent.ICMPv6: "icmp6",
		}[ports.Protocol]
		whole := first == 0 && last == maxPort
		switch {
		case name == "" && allows:
			r.skip(p, rule, fmt.Sprintf("%s has no name in a firewall rule", ports.Protocol))
			continue
		case name == "":
			r.skip(p, rule, fmt.Sprintf("%s has no name in a firewall rule; the rule denies every protocol", ports.Protocol))
			name, first, last = "any", 0, maxPort
		case whole || ports.Protocol == intent.TCP || ports.Protocol == intent.UDP:
		case allows:
			r.skip(p, rule, fmt.Sprintf("%s: the vrouter does not match ports of SCTP or types of ICMP", ports))
			continue
		default:
			r.skip(p, rule, fmt.Sprintf("%s: the vrouter does not match ports of SCTP or types of ICMP; the rule denies all of %s", ports, name))
			first, last = 0, maxPort
		}
		out = append(out, service(name, first, last))
	}
	return out, len(out) > 0
}

// isolated returns the endpoints that NetworkPolicies isolate: all that policies govern, if the tag of those that are isolated cannot
// be created.
func (r *rendering) isolated(d intent.Direction) endpoint {
	tag := r.names.isolatedTag(d)
	if !r.lacks(tag, isolatedTitle+d.String()) {
		return endpoint{tags: []string{tag}}
	}
	skip := backends.Skip{Intent: string(intent.IsolatedSet(d)), Reason: noTag + ": every endpoint that policies govern is isolated"}
	if !r.skipped[skip] {
		r.skipped[skip] = true
		r.skips = append(r.skips, skip)
	}
	return endpoint{}
}
