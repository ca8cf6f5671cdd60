package lb

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// SourceRanges is the field of a Service with the sources that it admits.
const SourceRanges = "spec.loadBalancerSourceRanges"

// denial is one address that some sources may not send to, with all of its denied ports of a protocol.
type denial struct {
	addr     netip.Addr
	protocol intent.Protocol
	denied   []netip.Prefix
	ports    []intent.PortRange
}

// prioritySource is the priority of the ACLs that deny sources, in a stage of their own.
const prioritySource = 1003

// denials returns the ACLs that drop, before load balancing, packets from sources that frontends of a load balancer deny.
func (t *Target) denials(lb *intent.LoadBalancer, frontends []*intent.Frontend) nb.Rows {
	out, o := nb.Rows{}, lb.Origin
	for _, d := range denialsOf(frontends) {
		match := d.match()
		if match == "" {
			continue
		}
		acl := nb.ACL{
			Direction: intent.Egress, BeforeLB: true, Priority: prioritySource, Action: nb.ActionDrop, Match: match,
			Name: nb.RuleName(o, "source ranges"), IDs: nb.OriginIDs(o, intent.Egress, SourceRanges),
			Origin: o.String() + " " + SourceRanges,
		}
		uuid := acl.UUID(t.Names, "balancer|"+string(lb.ID))
		out.Put(acl.Row(t.Names, t.Schema, uuid, ""))
	}
	return out
}

// denialsOf groups the ports of frontends that have the same address and deny the same sources, in the order of the first
// of each.
func denialsOf(frontends []*intent.Frontend) []*denial {
	type target struct {
		addr     netip.Addr
		protocol intent.Protocol
	}
	var denials []*denial
	at := map[target][]*denial{} // one each, unless the ports of an address deny different sources
	for _, f := range frontends {
		k := target{f.Addr, f.Protocol}
		i := slices.IndexFunc(at[k], func(d *denial) bool { return samePrefixes(d.denied, f.Denied) })
		if i < 0 {
			d := &denial{f.Addr, f.Protocol, f.Denied, nil}
			denials, i = append(denials, d), len(at[k])
			at[k] = append(at[k], d)
		}
		at[k][i].ports = append(at[k][i].ports, intent.PortRange{Protocol: f.Protocol, First: f.Port, Last: f.Port})
	}
	return denials
}

// samePrefixes compares two lists. It does not look into a list that both share, as the ports of a Service usually do.
func samePrefixes(a, b []netip.Prefix) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// match returns the expression for what d drops, "" if it drops nothing.
func (d *denial) match() string {
	f := intent.FamilyOf(d.addr)
	terms := []string{nb.AddressField(f, "dst") + " == " + d.addr.String(), nb.MatchPorts(d.ports)}
	var sources []string
	for _, p := range d.denied {
		if intent.FamilyOf(p.Addr()) != f {
			continue
		}
		if p.Bits() == 0 {
			return strings.Join(terms, " && ")
		}
		sources = append(sources, nb.PrefixText(p))
	}
	if len(sources) == 0 {
		return ""
	}
	return strings.Join(append(terms, nb.MatchAny(nb.AddressField(f, "src"), sources)), " && ")
}
