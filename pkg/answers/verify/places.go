package verify

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// special are addresses that no connection crosses a network with.
func special() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/127", "::ffff:0:0/96", "fe80::/10", "ff00::/8",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// linkLocal are addresses that pods may connect to, such as that of a metadata service, and that never come from outside.
func linkLocal(a netip.Addr) bool { return a.Is4() && a.IsLinkLocalUnicast() }

// network is the addresses that belong to something.
type network struct {
	pods  map[netip.Addr]bool
	other map[netip.Addr]bool // of nodes, routers, load balancers and ports of no pod
}

func newNetwork(state *world.State, endpoints []*labelcache.Endpoint, rows *nbtrace.Rows) *network {
	n := &network{pods: map[netip.Addr]bool{}, other: map[netip.Addr]bool{}}
	for _, e := range endpoints {
		for _, a := range e.AllAddrs() {
			n.pods[a] = true
		}
	}
	for _, pod := range state.Objects.Pods {
		n.add(pod.Status.PodIP)
		for _, ip := range pod.Status.PodIPs {
			n.add(ip.IP)
		}
	}
	for _, node := range state.Objects.Nodes {
		for _, a := range node.Status.Addresses {
			n.add(a.Address)
		}
	}
	for i := range rows.Ports {
		for _, a := range rows.Ports[i].IPs() {
			n.other[a] = true
		}
	}
	for _, s := range rows.RouterNetworks {
		host, _, _ := strings.Cut(s, "/")
		n.add(host)
	}
	for i := range rows.LoadBalancers {
		lb := &rows.LoadBalancers[i]
		for vip := range lb.VIPs {
			n.add(vip)
			if at, err := netip.ParseAddrPort(vip); err == nil {
				n.other[at.Addr()] = true
			}
		}
		for word := range strings.FieldsSeq(lb.Options["hairpin_snat_ip"]) {
			n.add(word)
		}
	}
	return n
}

// add adds an address that is not a pod's, if s is one.
func (n *network) add(s string) {
	if a, err := netip.ParseAddr(s); err == nil {
		n.other[a.Unmap().WithZone("")] = true
	}
}

func (n *network) taken(a netip.Addr) bool { return n.pods[a] || n.other[a] }

// outside lists the places outside that policies, firewalls and rows distinguish.
func (n *network) outside(named []netip.Prefix) []reach.Place {
	places := reach.OutsideOf(n.taken, slices.Concat(named, special()))
	return slices.DeleteFunc(places, func(p reach.Place) bool {
		a := p.Party.Addr
		return slices.ContainsFunc(special(), func(s netip.Prefix) bool {
			return s.Contains(a) && (!linkLocal(a) || p.Standing.Bits() <= s.Bits())
		})
	})
}

// inside returns a function that reports whether an address may be in the network of the cluster: whether a named prefix
// contains it and the address of a pod. Prefixes that contain everything do not count.
func (n *network) inside(named []netip.Prefix) func(netip.Addr) bool {
	holds := map[netip.Prefix]bool{}
	var bits4, bits6 []int
	for _, p := range named {
		if p.Bits() <= 0 {
			continue
		}
		holds[p] = false
		if p.Addr().Is4() {
			bits4 = append(bits4, p.Bits())
		} else {
			bits6 = append(bits6, p.Bits())
		}
	}
	slices.Sort(bits4)
	slices.Sort(bits6)
	bits4, bits6 = slices.Compact(bits4), slices.Compact(bits6)
	each := func(a netip.Addr, do func(netip.Prefix)) {
		bits := bits6
		if a.Is4() {
			bits = bits4
		}
		for _, b := range bits {
			if p, err := a.Prefix(b); err == nil {
				do(p)
			}
		}
	}
	for a := range n.pods {
		each(a, func(p netip.Prefix) {
			if _, ok := holds[p]; ok {
				holds[p] = true
			}
		})
	}
	return func(a netip.Addr) bool {
		found := false
		each(a, func(p netip.Prefix) { found = found || holds[p] })
		return found
	}
}

// familyName names a family as users write it.
func familyName(f intent.Families) string {
	if f == intent.IPv6 {
		return "IPv6"
	}
	return "IPv4"
}
