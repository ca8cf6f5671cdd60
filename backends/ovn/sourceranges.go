package ovn

import (
	"github.com/netloom/netloom/backends/ovn/internal/nb"

	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// sourceRanges is where a Service says whom it takes.
const sourceRanges = "spec.loadBalancerSourceRanges"

// denial is one address that some sources may not send to, with all its ports of a protocol.
type denial struct {
	addr     netip.Addr
	protocol intent.Protocol
	denied   []netip.Prefix
	ports    []intent.PortRange
}

// bar writes the ACLs that drop, before it is balanced, what comes from sources that frontends deny.
func (w *balancerWriter) bar(frontends []*intent.Frontend) {
	var denials []denial
	for _, f := range frontends {
		ports := intent.PortRange{Protocol: f.Protocol, First: f.Port, Last: f.Port}
		i := slices.IndexFunc(denials, func(d denial) bool {
			return d.addr == f.Addr && d.protocol == f.Protocol && slices.Equal(d.denied, f.Denied)
		})
		if i < 0 {
			denials = append(denials, denial{f.Addr, f.Protocol, f.Denied, nil})
			i = len(denials) - 1
		}
		denials[i].ports = append(denials[i].ports, ports)
	}
	o := w.lb.Origin
	for _, d := range denials {
		match := d.match()
		if match == "" {
			continue
		}
		s := aclSpec{
			direction: intent.Egress, early: true, priority: prioritySource, action: nb.ActionDrop, match: match,
			name: ruleName(o, "source ranges"), ids: nb.OriginIDs(o, intent.Egress, sourceRanges),
			origin: o.String() + " " + sourceRanges,
		}
		uuid := w.names.UUID(nb.TableACL, s.id("balancer|"+string(w.lb.ID)))
		w.bars[uuid] = w.acl(uuid, s, "")
	}
}

// match is the expression for what d drops, "" for nothing.
func (d *denial) match() string {
	ip := "ip" + nb.FamilyName(intent.FamilyOf(d.addr))[1:]
	terms := []string{fmt.Sprintf("%s.dst == %s", ip, d.addr), protocolMatch(d.ports)}
	var sources []string
	for _, p := range d.denied {
		switch {
		case p.Addr().Is4() != d.addr.Is4():
		case p.Bits() == 0:
			return strings.Join(terms, " && ")
		default:
			sources = append(sources, spellPrefix(p))
		}
	}
	switch len(sources) {
	case 0:
		return ""
	case 1:
		terms = append(terms, ip+".src == "+sources[0])
	default:
		terms = append(terms, ip+".src == {"+strings.Join(sources, ", ")+"}")
	}
	return strings.Join(terms, " && ")
}
