package verify

import (
	"net/netip"
	"strings"

	"github.com/netloom/netloom/pkg/answers/reach"
	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// firewall is an EgressFirewall: of the rules that match a connection to an address outside the cluster, the first decides.
type firewall struct {
	ref   object.Ref
	rules []firewallRule
}

type firewallRule struct {
	prefix  netip.Prefix // invalid if the destination is not known
	nodes   bool         // only nodes are destinations
	allow   bool
	traffic reach.Traffic
}

func newFirewall(f *ovnkubernetes.EgressFirewall) *firewall {
	out := &firewall{ref: object.Ref{Kind: object.KindEgressFirewall, Namespace: f.Namespace, Name: f.Name}}
	for i := range f.Spec.Egress {
		from := &f.Spec.Egress[i]
		r := firewallRule{allow: from.Type == ovnkubernetes.Allow, nodes: from.To.NodeSelector != nil, traffic: reach.All()}
		if p, err := netip.ParsePrefix(from.To.CIDRSelector); err == nil {
			r.prefix = p.Masked()
		}
		if len(from.Ports) > 0 {
			var ranges []intent.PortRange
			for _, p := range from.Ports {
				protocol, ok := map[string]intent.Protocol{"TCP": intent.TCP, "UDP": intent.UDP, "SCTP": intent.SCTP}[strings.ToUpper(p.Protocol)]
				if ok && p.Port >= 0 && p.Port <= 65535 {
					ranges = append(ranges, intent.PortRange{Protocol: protocol, First: uint16(p.Port), Last: uint16(p.Port)})
				}
			}
			r.traffic = reach.Traffic{Ranges: intent.MergePorts(ranges)}
		}
		out.rules = append(out.rules, r)
	}
	return out
}

// judge returns what f allows to an address outside, and what it is not known of. A name in a rule may stand for any address.
func (f *firewall) judge(a netip.Addr) (allowed, unknown reach.Traffic) {
	left := reach.All()
	for i := range f.rules {
		r := &f.rules[i]
		matched := left.Intersect(r.traffic)
		switch {
		case r.nodes:
			continue
		case !r.prefix.IsValid():
			unknown = unknown.Union(matched)
			continue
		case !r.prefix.Contains(a):
			continue
		case r.allow:
			allowed = allowed.Union(matched)
		}
		left = left.Minus(r.traffic)
	}
	return allowed.Union(left), unknown
}

// prefixes lists the prefixes that f names.
func (f *firewall) prefixes() []netip.Prefix {
	var out []netip.Prefix
	for i := range f.rules {
		if f.rules[i].prefix.IsValid() {
			out = append(out, f.rules[i].prefix)
		}
	}
	return out
}
