package vrouter

import (
	"net/netip"
	"slices"
)

// Packet is the first packet of a connection.
type Packet struct {
	Src, Dst   Party
	Protocol   uint8 // IANA number
	SourcePort uint16
	Port       uint16 // of the destination
}

// Party is one end of a packet: an interface, or whatever has the address if the interface is not known.
type Party struct {
	Interface string // UUID; "" to look it up by the address
	Addr      netip.Addr
}

// Verdict is what the agents decide on a packet. The zero value denies.
type Verdict struct {
	Allowed bool     // it may pass
	By      []string // the names of the rules that decided, in the order of lists; "" for the end of one
	// Unsure means that it may also not pass: that depends on which of several tags of one type an agent keeps.
	Unsure bool
}

// Verdict decides on a packet that is not translated. For one to a VIP see Balance.
func (n *Network) Verdict(k Packet) Verdict {
	if n.vips[k.Dst.Addr] != nil {
		return Verdict{} // a port that is not translated: nothing has the address
	}
	src, dst := n.ends(k)
	var out Verdict
	for i, from := range src.variants() {
		for j, to := range dst.variants() {
			v := Verdict{Allowed: true}
			for _, p := range []*port{from, to} {
				v.judge(p, &k, tagsOf(from), tagsOf(to))
			}
			out = out.or(v, i+j == 0)
		}
	}
	return out
}

// or adds what agents that keep other tags decide. The first one replaces v.
func (v Verdict) or(o Verdict, first bool) Verdict {
	switch {
	case first:
		return o
	case v.Allowed == o.Allowed:
		return v
	case o.Allowed:
		v = o
	}
	v.Unsure = true
	return v
}

// ends finds the interfaces of a packet; nil for an address outside.
func (n *Network) ends(k Packet) (src, dst *port) {
	src, dst = n.interfaces[k.Src.Interface], n.interfaces[k.Dst.Interface]
	if src == nil {
		src = n.route(k.Src.Addr, dst)
	}
	if dst == nil {
		dst = n.route(k.Dst.Addr, src)
	}
	return src, dst
}

// route finds the interface with an address as seen from another one; nil if there is none, or if several match.
func (n *Network) route(a netip.Addr, from *port) *port {
	all := n.byAddr[a]
	if from != nil {
		for _, p := range all {
			if slices.ContainsFunc(p.networks, func(vn string) bool { return slices.Contains(from.networks, vn) }) {
				return p
			}
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return nil
}

func tagsOf(p *port) []int64 {
	if p == nil {
		return nil
	}
	return p.tags
}

// evaluate applies the first rule that matches. Nil is no list, which passes.
func evaluate(list []*rule, k *Packet, src, dst []int64) (pass bool, by string) {
	if list == nil {
		return true, ""
	}
	for _, r := range list {
		if r.matches(k, src, dst) {
			return r.pass, r.name
		}
	}
	return false, ""
}

func (r *rule) matches(k *Packet, src, dst []int64) bool {
	if r.never || !slices.ContainsFunc(r.services, func(s service) bool { return s.matches(k) }) {
		return false
	}
	for _, t := range r.matchTypes {
		if !slices.Equal(ofType(src, t), ofType(dst, t)) || len(ofType(src, t)) == 0 {
			return false
		}
	}
	return r.forward && r.first.matches(k.Src.Addr, src) && r.second.matches(k.Dst.Addr, dst) ||
		r.backward && r.second.matches(k.Src.Addr, src) && r.first.matches(k.Dst.Addr, dst)
}

// ofType lists the tags of a type.
func ofType(tags []int64, t int64) []int64 {
	return slices.DeleteFunc(slices.Clone(tags), func(id int64) bool { return typeOf(id) != t })
}
