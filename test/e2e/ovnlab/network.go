//go:build e2e

package ovnlab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Port is the logical switch port of an endpoint.
type Port struct {
	Name  string
	Addrs []netip.Addr

	mac string
	sw  *segment
}

// World is the name of the port for all addresses that belong to no other port: nodes and the outside.
const World = "world"

// WorldSwitch is between the router and the world.
const WorldSwitch = "outside"

const worldMAC = "0a:01:ff:ff:ff:ff"

// segment is one logical switch with its port on the router.
type segment struct {
	name      string
	prefixes  []netip.Prefix
	gateways  map[netip.Prefix]netip.Addr
	routerMAC string
}

// gateway is the router's address of the family of a.
func (s *segment) gateway(a netip.Addr) (netip.Addr, netip.Prefix, bool) {
	for _, p := range s.prefixes {
		if p.Contains(a) || (p.Addr().Is4() == a.Is4() && s.name == WorldSwitch) {
			return s.gateways[p], p, true
		}
	}
	return netip.Addr{}, netip.Prefix{}, false
}

// Network is a set of logical switches connected by one router. Ports whose addresses share a /24 or a /64 are on one
// switch; all others communicate through the router.
type Network struct {
	Ports    []*Port
	world    *Port
	segments []*segment
	byAddr   map[netip.Addr]*Port
	taken    map[netip.Addr]bool
	hosts    []netip.Addr // of the world, inside a segment's prefix: these need a separate route
	gateways []*Port
}

// NewNetwork lays out ports. The addresses in world are reachable behind the router even if a port's neighbors use the
// same prefix; so is every other address that belongs to no port.
func NewNetwork(ports []Port, world []netip.Addr) (*Network, error) {
	n := &Network{byAddr: map[netip.Addr]*Port{}}
	owner := map[netip.Prefix]*segment{}
	for i := range ports {
		p := &Port{Name: ports[i].Name, Addrs: ports[i].Addrs, mac: fmt.Sprintf("0a:01:00:00:%02x:%02x", i>>8&0xff, i&0xff)}
		for _, a := range p.Addrs {
			if o := n.byAddr[a]; o != nil {
				return nil, fmt.Errorf("ports %s and %s both have %s", o.Name, p.Name, a)
			}
			n.byAddr[a] = p
		}
		join(owner, p.Addrs)
		n.Ports = append(n.Ports, p)
	}
	n.taken = map[netip.Addr]bool{}
	for _, a := range world {
		n.taken[a] = true
	}
	n.number(owner)
	for _, p := range n.Ports {
		p.sw = owner[prefixOf(p.Addrs[0])]
	}
	out := &segment{name: WorldSwitch, prefixes: []netip.Prefix{netip.MustParsePrefix("100.64.0.0/16"), netip.MustParsePrefix("fd98::/64")}}
	n.close(out)
	n.world = &Port{Name: World, mac: worldMAC, sw: out, Addrs: []netip.Addr{netip.MustParseAddr("100.64.0.1"), netip.MustParseAddr("fd98::1")}}
	for a := range n.taken {
		if n.byAddr[a] == nil && owner[prefixOf(a)] != nil {
			n.hosts = append(n.hosts, a)
		}
	}
	slices.SortFunc(n.hosts, netip.Addr.Compare)
	return n, nil
}

// Unroutable reports whether the network cannot carry f, whatever the policies are: the router drops packets from and to Edge
// addresses, and a host's packets to itself are not sent.
func (n *Network) Unroutable(f Flow) bool {
	return n.Reserved(f.Src) || n.Reserved(f.Dst) || n.portAt(f.Src) == n.portAt(f.Dst)
}

// Reserved reports whether a is the network or the broadcast address of one of the router's own networks.
func (n *Network) Reserved(a netip.Addr) bool {
	for _, s := range n.segments {
		for _, p := range s.prefixes {
			if last := a.As16()[15]; a.Is4() && p.Contains(a) && (last == 0 || last == 0xff) {
				return true
			}
		}
	}
	return false
}

func prefixOf(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(a, bits).Masked()
}

// join assigns the prefixes of addrs to one segment, merging segments.
func join(owner map[netip.Prefix]*segment, addrs []netip.Addr) {
	all := &segment{}
	for _, a := range addrs {
		if s := owner[prefixOf(a)]; s != nil {
			all.prefixes = append(all.prefixes, s.prefixes...)
		}
		all.prefixes = append(all.prefixes, prefixOf(a))
	}
	slices.SortFunc(all.prefixes, netip.Prefix.Compare)
	all.prefixes = slices.Compact(all.prefixes)
	for _, p := range all.prefixes {
		owner[p] = all
	}
}

// number gives segments names and gateways in the order of their ports' prefixes.
func (n *Network) number(owner map[netip.Prefix]*segment) {
	for _, p := range n.Ports {
		s := owner[prefixOf(p.Addrs[0])]
		if s.name == "" {
			s.name = fmt.Sprintf("ls%d", len(n.segments))
			n.close(s)
		}
	}
}

// close chooses the router's addresses on s: the highest address of each prefix that belongs to no port.
func (n *Network) close(s *segment) {
	i := len(n.segments)
	s.routerMAC = fmt.Sprintf("0a:00:00:00:%02x:%02x", i>>8&0xff, i&0xff)
	s.gateways = map[netip.Prefix]netip.Addr{}
	for _, p := range s.prefixes {
		b := p.Addr().AsSlice()
		b[len(b)-1] = 0xfe
		if p.Addr().Is6() {
			b[len(b)-2] = 0xff
		}
		a, _ := netip.AddrFromSlice(b)
		for n.byAddr[a] != nil || n.taken[a] {
			a = a.Prev()
		}
		s.gateways[p] = a
	}
	n.segments = append(n.segments, s)
}

// Port finds a port by its name, nil if there is none.
func (n *Network) Port(name string) *Port {
	if name == World {
		return n.world
	}
	for _, p := range slices.Concat(n.Ports, n.gateways) {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// portAt returns the port of an address.
func (n *Network) portAt(a netip.Addr) *Port {
	if p := n.byAddr[a]; p != nil {
		return p
	}
	return n.world
}

// SwitchOf is the name of the switch of an address.
func (n *Network) SwitchOf(a netip.Addr) string { return n.portAt(a).sw.name }

// perTransaction is how many commands of ovn-nbctl are given at once: a program takes two megabytes of arguments.
const perTransaction = 2000

// Install writes the network into the Northbound database and waits until northd has processed it. A second call replaces
// the routes only: the ports must be the same.
func (l *Lab) Install(n *Network) {
	l.tb.Helper()
	if l.net == nil {
		for some := range slices.Chunk(n.commands(), perTransaction) {
			l.NBCtl(splice(some)...)
		}
	}
	l.NBCtl(splice(n.routes())...)
	l.net = n
	l.Sync()
}

// Network is the installed network, nil before Install.
func (l *Lab) Network() *Network { return l.net }

// commands are the ovn-nbctl commands that make the network.
func (n *Network) commands() [][]string {
	cmds := [][]string{{"lr-add", "lr"}}
	for _, s := range n.segments {
		cmds = append(cmds, []string{"ls-add", s.name})
		var networks []string
		for _, p := range s.prefixes {
			networks = append(networks, fmt.Sprintf("%s/%d", s.gateways[p], p.Bits()))
		}
		cmds = append(cmds, wire("lr", s.name, s.routerMAC, networks...)...)
	}
	for _, p := range n.Ports {
		cmds = append(cmds, []string{"lsp-add", p.sw.name, p.Name},
			[]string{"lsp-set-addresses", p.Name, p.bindings()}, []string{"lsp-set-port-security", p.Name, p.bindings()})
	}
	cmds = append(cmds, []string{"lsp-add", WorldSwitch, World}, []string{"lsp-set-addresses", World, n.world.bindings()})
	return cmds
}

// routes are the ovn-nbctl commands for the routes to the world.
func (n *Network) routes() [][]string {
	cmds := [][]string{{"lr-route-del", "lr"}}
	for i, dst := range []string{"0.0.0.0/0", "::/0"} {
		cmds = append(cmds, []string{"lr-route-add", "lr", dst, n.world.Addrs[i].String()})
	}
	for _, a := range n.hosts {
		via := n.world.Addrs[0]
		if a.Is6() {
			via = n.world.Addrs[1]
		}
		cmds = append(cmds, []string{"lr-route-add", "lr", netip.PrefixFrom(a, a.BitLen()).String(), via.String()})
	}
	return cmds
}

func (p *Port) bindings() string {
	parts := []string{p.mac}
	for _, a := range p.Addrs {
		parts = append(parts, a.String())
	}
	return strings.Join(parts, " ")
}

// splice joins commands into the arguments of one ovn-nbctl or ovs-vsctl transaction.
func splice(cmds [][]string) []string {
	var args []string
	for i, c := range cmds {
		if i > 0 {
			args = append(args, "--")
		}
		args = append(args, c...)
	}
	return args
}

// rowCount counts the values in the output of a --bare list of one column.
func rowCount(out string) int { return len(strings.Fields(out)) }
