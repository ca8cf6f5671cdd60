package vrouter

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/tungsten"
)

// vip is the address of a floating IP that translates ports.
type vip struct {
	members []*port
	targets map[listening]uint16
}

// listening is a port of a VIP.
type listening struct {
	protocol uint8
	port     uint16
}

// Choice is an interface that a connection to a VIP may be sent to.
type Choice struct {
	Interface string     // UUID
	Addr      netip.Addr // that the connection is translated to
	Port      uint16
	// Apart is the verdict if the interfaces are on different hosts: both agents see the VIP and its port. Together is the verdict if
	// they are on one host: its agent matches the lists of the destination against the translated address and port.
	Apart, Together Verdict
	// Sure is whether these are the same whichever tags the route of the VIP has, which is unverified of a route with several members, and
	// whichever tags agents keep.
	Sure bool
}

// readVIPs reads the floating IPs with port mappings.
func (c *config) readVIPs(objects []*tungsten.Object) {
	for _, o := range objects {
		if o.Kind != tungsten.KindFloatingIP || !o.FloatingIPPortMappingsEnabled || o.FloatingIPPortMappings == nil {
			continue
		}
		addr, err := netip.ParseAddr(o.FloatingIPAddress)
		if parent := c.byUUID[o.ParentUUID]; err != nil && parent != nil {
			addr, err = netip.ParseAddr(parent.InstanceIPAddress)
		}
		if err != nil {
			continue
		}
		v := &vip{targets: map[listening]uint16{}}
		for _, m := range o.FloatingIPPortMappings.PortMappings {
			protocol := map[string]uint8{"TCP": protocolTCP, "UDP": protocolUDP}[strings.ToUpper(m.Protocol)]
			if min(m.SrcPort, m.DstPort) > 0 && max(m.SrcPort, m.DstPort) <= 65535 {
				v.targets[listening{protocol, uint16(m.SrcPort)}] = uint16(m.DstPort) //nolint:gosec // both are in range
			}
		}
		for _, ref := range o.InterfaceRefs {
			if p := c.network.interfaces[ref.UUID]; p != nil {
				v.members = append(v.members, p)
			}
		}
		c.network.vips[addr] = v
	}
}

// Balance lists what a packet to a VIP may be sent to. It returns false unless its destination is a VIP that has that port and members.
func (n *Network) Balance(k Packet) ([]Choice, bool) {
	v := n.vips[k.Dst.Addr]
	if v == nil {
		return nil, false
	}
	target, mapped := v.targets[listening{k.Protocol, k.Port}]
	if !mapped {
		return nil, false
	}
	var out []Choice
	src, _ := n.ends(k)
	for _, p := range v.members {
		for _, a := range p.addrs {
			if a.Is4() == k.Dst.Addr.Is4() {
				out = append(out, n.choice(k, v, src, p, a, target))
				break // the first address of a family is the one that is translated to
			}
		}
	}
	return out, len(out) > 0
}

// choice judges a packet that is sent to a member of a VIP.
func (n *Network) choice(k Packet, v *vip, src, member *port, to netip.Addr, target uint16) Choice {
	c := Choice{Interface: member.uuid, Addr: to, Port: target}
	translated := k
	translated.Dst, translated.Port = Party{Interface: member.uuid, Addr: to}, target
	first := true
	for _, from := range src.variants() {
		for _, at := range member.variants() {
			for _, route := range v.routes() {
				var sending, apart, together Verdict
				sending.Allowed, apart.Allowed, together.Allowed = true, true, true
				sending.judge(from, &k, tagsOf(from), tagsOf(route))
				apart.judge(at, &k, tagsOf(from), tagsOf(route))
				together.judge(at, &translated, tagsOf(from), tagsOf(at))
				c.Apart, c.Together = c.Apart.or(sending.and(apart), first), c.Together.or(sending.and(together), first)
				first = false
			}
		}
	}
	c.Sure = !c.Apart.Unsure && !c.Together.Unsure
	return c
}

// routes lists whose tags the route of a VIP may have; nil: none.
func (v *vip) routes() []*port {
	var out []*port
	for _, p := range v.members {
		out = append(out, p.variants()...)
	}
	return append(out, nil)
}

// judge evaluates the lists of an interface.
func (v *Verdict) judge(p *port, k *Packet, src, dst []int64) {
	if p == nil || p.disabled {
		return
	}
	for _, list := range p.lists {
		pass, by := evaluate(list, k, src, dst)
		v.Allowed = v.Allowed && pass
		v.By = append(v.By, by)
	}
}

func (v Verdict) and(o Verdict) Verdict {
	return Verdict{Allowed: v.Allowed && o.Allowed, By: slices.Concat(v.By, o.By)}
}
