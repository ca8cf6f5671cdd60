//go:build e2e

package ovnlab

import (
	"fmt"
	"net/netip"
)

// AddGateway gives a chassis its own connection to the outside: the gateway router GR_node, the switch ext_node behind it
// and a port there, whose name it returns. Routers of other chassis are not connected to it.
func (l *Lab) AddGateway(node string) string {
	l.tb.Helper()
	n := l.net
	i := len(n.gateways) + 1
	var cmds [][]string
	if i == 1 {
		cmds = append(cmds, []string{"ls-add", "join"})
		cmds = append(cmds, wire("lr", "join", "0a:03:00:00:00:fe", "100.65.0.254/24", "fd99::fe/64")...)
	}
	out := &segment{
		name: "ext_" + node, routerMAC: fmt.Sprintf("0a:05:00:00:00:%02x", i),
		prefixes: []netip.Prefix{
			netip.MustParsePrefix(fmt.Sprintf("172.29.%d.0/24", i)), netip.MustParsePrefix(fmt.Sprintf("fd97:0:0:%d::/64", i)),
		},
		gateways: map[netip.Prefix]netip.Addr{},
	}
	p := &Port{Name: "world-" + node, mac: fmt.Sprintf("0a:05:00:00:01:%02x", i), sw: out}
	for _, prefix := range out.prefixes {
		p.Addrs = append(p.Addrs, prefix.Addr().Next())
		out.gateways[prefix] = prefix.Addr().Next().Next()
	}
	router, inner4, inner6 := "GR_"+node, fmt.Sprintf("100.65.0.%d", i), fmt.Sprintf("fd99::%d", i)
	cmds = append(cmds, []string{"lr-add", router}, []string{"set", "Logical_Router", router, "options:chassis=" + node}, []string{"ls-add", out.name})
	cmds = append(cmds, wire(router, "join", fmt.Sprintf("0a:03:00:00:00:%02x", i), inner4+"/24", inner6+"/64")...)
	cmds = append(cmds, wire(router, out.name, out.routerMAC,
		fmt.Sprintf("%s/24", out.gateways[out.prefixes[0]]), fmt.Sprintf("%s/64", out.gateways[out.prefixes[1]]))...)
	cmds = append(cmds, []string{"lsp-add", out.name, p.Name}, []string{"lsp-set-addresses", p.Name, p.bindings()},
		[]string{"lr-route-add", "lr", out.prefixes[0].String(), inner4}, []string{"lr-route-add", "lr", out.prefixes[1].String(), inner6},
		[]string{"lr-route-add", router, "0.0.0.0/0", "100.65.0.254"}, []string{"lr-route-add", router, "::/0", "fd99::fe"})
	l.NBCtl(splice(cmds)...)
	n.gateways = append(n.gateways, p)
	return p.Name
}

// wire lists the commands that connect a router and a switch.
func wire(router, sw, mac string, networks ...string) [][]string {
	port, up := router+"-"+sw, sw+"-"+router
	return [][]string{
		append([]string{"lrp-add", router, port, mac}, networks...),
		{"lsp-add", sw, up},
		{"lsp-set-type", up, "router"},
		{"lsp-set-addresses", up, "router"},
		{"lsp-set-options", up, "router-port=" + port},
	}
}
