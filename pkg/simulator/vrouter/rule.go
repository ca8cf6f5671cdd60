package vrouter

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/tungsten"
)

// rule is a firewall rule.
type rule struct {
	name       string
	first      end
	second     end
	forward    bool
	backward   bool
	services   []service
	pass       bool
	never      bool    // it has no action
	matchTypes []int64 // both ends must have the same tag of these types
}

// end is one end of a rule. The zero value matches anything.
type end struct {
	tags   []int64 // all of them
	group  *group
	subnet netip.Prefix
	none   bool // it matches nothing
}

// service is a protocol with ranges of ports.
type service struct {
	any      bool
	protocol uint8
	src, dst [2]int
}

func (c *config) rule(o *tungsten.Object) *rule {
	r := &rule{
		name: o.Name(), first: c.end(o.Endpoint1), second: c.end(o.Endpoint2),
		forward: o.Direction != "<", backward: o.Direction == "<" || o.Direction == "<>",
	}
	if o.ActionList == nil || o.ActionList.SimpleAction == "" {
		r.never = true
	} else {
		r.pass = o.ActionList.SimpleAction == "pass"
	}
	if o.Service != nil {
		r.services = append(r.services, serviceOf(o.Service))
	}
	for _, ref := range o.ServiceGroupRefs {
		if g := c.byUUID[ref.UUID]; g != nil && g.ServiceGroupList != nil {
			for i := range g.ServiceGroupList.FirewallService {
				r.services = append(r.services, serviceOf(&g.ServiceGroupList.FirewallService[i]))
			}
		}
	}
	if o.MatchTags != nil {
		for _, name := range o.MatchTags.TagList {
			for _, t := range c.byUUID {
				if id, err := strconv.ParseInt(t.TagTypeID, 0, 64); err == nil && t.Kind == tungsten.KindTagType && t.Name() == name {
					r.matchTypes = append(r.matchTypes, id)
				}
			}
		}
	}
	return r
}

func (c *config) end(e *tungsten.Endpoint) end {
	var out end
	switch {
	case e == nil || e.Any:
	case len(e.Tags) > 0:
		for _, name := range e.Tags {
			id, known := c.network.tagIDs[strings.TrimPrefix(name, "global:")]
			out.none = out.none || !known
			out.tags = append(out.tags, id)
		}
	case e.AddressGroup != "":
		out.group = c.network.groups[e.AddressGroup] // an unknown one leaves the end open
	case e.Subnet != nil:
		p, err := e.Subnet.Prefix()
		out.subnet, out.none = p, err != nil
	case e.VirtualNetwork != "":
		out.none = true // routes do not name their networks here
	}
	return out
}

func (e *end) matches(addr netip.Addr, tags []int64) bool {
	switch {
	case e.none:
		return false
	case e.tags != nil:
		return !slices.ContainsFunc(e.tags, func(id int64) bool { return !has(tags, id) })
	case e.group != nil:
		return slices.ContainsFunc(e.group.prefixes, func(p netip.Prefix) bool { return p.Contains(addr) }) ||
			slices.ContainsFunc(e.group.labels, func(id int64) bool { return has(tags, id) })
	case e.subnet.IsValid():
		return e.subnet.Contains(addr)
	default:
		return true
	}
}

func has(tags []int64, id int64) bool {
	_, found := slices.BinarySearch(tags, id)
	return found
}

func serviceOf(s *tungsten.Service) service {
	out := service{src: rangeOf(s.SrcPorts), dst: rangeOf(s.DstPorts)}
	switch strings.ToLower(s.Protocol) {
	case "any":
		out.any = true
	case "icmp":
		out.protocol = protocolICMP
	case "tcp":
		out.protocol = protocolTCP
	case "udp":
		out.protocol = protocolUDP
	case "icmp6", "ipv6-icmp":
		out.protocol = protocolICMP6
	case "sctp":
		out.protocol = protocolSCTP
	}
	return out
}

func rangeOf(p *tungsten.Ports) [2]int {
	if p == nil {
		return [2]int{0, 65535}
	}
	return [2]int{p.Start, p.End}
}

// The protocols that rules can name.
const (
	protocolICMP  = 1
	protocolTCP   = 6
	protocolUDP   = 17
	protocolICMP6 = 58
	protocolSCTP  = 132
)

func (s *service) matches(k *Packet) bool {
	if s.any {
		return true
	}
	if s.protocol != k.Protocol || s.protocol == 0 {
		return false
	}
	var src, dst int
	switch k.Protocol {
	case protocolTCP, protocolUDP:
		src, dst = int(k.SourcePort), int(k.Port)
	case protocolSCTP: // the agent knows no ports of it
	default:
		return true
	}
	return s.src[0] <= src && src <= s.src[1] && s.dst[0] <= dst && dst <= s.dst[1]
}
