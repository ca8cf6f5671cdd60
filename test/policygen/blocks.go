package policygen

import (
	"fmt"
	"net/netip"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// block makes an ipBlock around addresses of the cluster, with exceptions that nest, overlap or leave nothing.
func (g *generator) block() *networkingv1.IPBlock {
	cidr := g.prefix()
	b := &networkingv1.IPBlock{CIDR: g.spell(cidr)}
	if cidr.IsSingleIP() {
		return b
	}
	if g.chance(12) {
		low, high := halves(cidr)
		b.Except = []string{g.spell(high), g.spell(low)}
		return b
	}
	if g.odd && g.chance(5) {
		b.Except = []string{g.spell(cidr)}
		return b
	}
	inside := cidr
	for range g.rng.IntN(4) {
		next := g.within(inside)
		b.Except = append(b.Except, g.spell(next))
		if g.chance(40) && !next.IsSingleIP() {
			inside = next // the next one nests
		}
	}
	return b
}

// prefix picks a block of either family: everything, a well-known range, or a prefix around an address in use.
func (g *generator) prefix() netip.Prefix {
	v4 := g.families == IPv4Only || g.families == DualStack && g.chance(60)
	if g.chance(5) {
		v4 = !v4
	}
	known := []string{"::/0", "fd00:10::/32", "fd00:10::/64", "fd00::/8", "2001:db8::/32", "fd00:0:0:1::/64"}
	if v4 {
		known = []string{"0.0.0.0/0", "10.244.0.0/16", "10.244.0.0/24", "10.244.1.0/24", "10.0.0.0/8", "203.0.113.0/24", "10.0.0.0/24"}
	}
	p := netip.MustParsePrefix(pick(g, known))
	if g.chance(50) {
		p = g.within(p)
	}
	return p
}

// within picks a smaller block inside p, around an address in use if there is one.
func (g *generator) within(p netip.Prefix) netip.Prefix {
	total := p.Addr().BitLen()
	bits := p.Bits() + 1 + g.rng.IntN(total-p.Bits())
	around := p.Addr()
	if g.chance(30) {
		_, high := halves(p)
		around = high.Addr()
	}
	var inside []netip.Addr
	for _, pod := range g.c.Pods {
		for _, a := range podAddrs(pod) {
			if p.Contains(a) {
				inside = append(inside, a)
			}
		}
	}
	if len(inside) > 0 && g.chance(80) {
		around = pick(g, inside)
		bits = max(p.Bits()+1, total-pick(g, []int{0, 0, 1, 2, 4, 6, 8, 12}))
	}
	return netip.PrefixFrom(around, bits).Masked()
}

// halves cuts a block in two.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bits := p.Bits() + 1
	upper := p.Masked().Addr().AsSlice()
	upper[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	a, _ := netip.AddrFromSlice(upper)
	return netip.PrefixFrom(p.Masked().Addr(), bits), netip.PrefixFrom(a, bits)
}

// spell formats a block as users do: mostly canonical, sometimes with host bits, capitals or zeros.
func (g *generator) spell(p netip.Prefix) string {
	a := p.Addr()
	if g.chance(20) && !p.IsSingleIP() {
		host := a.AsSlice()
		host[len(host)-1] |= 1
		a, _ = netip.AddrFromSlice(host)
	}
	text := a.String()
	switch {
	case a.Is6() && g.chance(15):
		text = a.StringExpanded()
	case a.Is4() && g.odd && g.chance(15):
		octets := a.As4()
		text = fmt.Sprintf("%03d.%03d.%d.%03d", octets[0], octets[1], octets[2], octets[3])
	}
	if g.chance(15) {
		text = strings.ToUpper(text)
	}
	return fmt.Sprintf("%s/%d", text, p.Bits())
}
