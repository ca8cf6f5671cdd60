package nbtrace_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// balanced is the rows of rows with load balancers, and ports with addresses: a 10.0.0.1 and fd00::1, b 10.0.0.2 and
// fd00::2, c 10.0.0.3. The row "lb" is on s1 directly, "grouped" through a group on s1 and the router r, "tpl" and "tpl6"
// on s1.
func balanced(acls ...nbtrace.ACL) nbtrace.Rows {
	r := rows(acls...)
	for i, name := range []string{"a", "b", "c"} {
		r.Ports = append(r.Ports, nbtrace.Port{Name: name, Addresses: []string{
			fmt.Sprintf("0a:00:00:00:00:0%d 10.0.0.%d fd00::%d", i+1, i+1, i+1), "unknown",
		}})
	}
	reject := map[string]string{"reject": "true", "hairpin_snat_ip": "169.254.169.5 fd69::5"}
	r.LoadBalancers = []nbtrace.LoadBalancer{
		{UUID: "lb", Options: reject, VIPs: map[string]string{
			"10.96.0.1:80": "10.0.0.1:8080,10.0.0.2:8081", "10.96.0.2:80": "", "[fd96::1]:80": "[fd00::1]:8080",
			"10.96.0.3": "10.0.0.2",
		}},
		{UUID: "grouped", Protocol: "udp", VIPs: map[string]string{"10.96.0.1:53": "10.0.0.3:5353", "10.96.0.2:53": ""}},
		{UUID: "tpl", Options: map[string]string{"template": "true", "reject": "true"}, VIPs: map[string]string{
			"10.97.0.1:80": "^be", "^vip:^port": "^be,10.0.0.2:9", "10.97.0.2:80": "10.0.0.3:8080", "10.97.0.3:80": "",
		}},
		{UUID: "tpl6", Options: map[string]string{"template": "true", "address-family": "ipv6"}, VIPs: map[string]string{
			"^vip6:80": "^be6",
		}},
	}
	r.LoadBalancerGroups = []nbtrace.LoadBalancerGroup{{UUID: "g", Name: "netloom", LoadBalancers: []string{"grouped"}}}
	r.Switches[0].LoadBalancers = []string{"lb", "tpl", "tpl6"}
	r.Switches[0].LoadBalancerGroups = []string{"g"}
	r.Routers = []nbtrace.Router{{Name: "r", LoadBalancerGroups: []string{"g"}}}
	r.TemplateVars = []nbtrace.TemplateVars{
		{Chassis: "ch1", Variables: map[string]string{
			"be": "10.0.0.1:8080,10.0.0.3:8080", "vip": "10.98.0.1", "port": "443", "vip6": "fd98::1", "be6": "[fd00::2]:8080",
		}},
		{Chassis: "ch2", Variables: map[string]string{
			"be": "127.0.0.9:9", "vip": "10.98.0.2", "port": "444", "vip6": "fd98::1", "be6": "[fe80::9]:9",
		}},
		{Chassis: "odd", Variables: map[string]string{"be": "[fd00::2]:8080", "vip": "nonsense", "port": "1", "be6": "", "vip6": "fd98::1"}},
	}
	return r
}

func TestLoadBalancing(t *testing.T) {
	for _, tc := range []struct {
		name, packet, chassis, router string
		want                          string
	}{
		{name: "to a VIP", packet: "b>  10.0.0.9 10.96.0.1 tcp 80", want: "sent on 10.0.0.1:8080@a 10.0.0.2:8081@b"},
		{name: "another port is no VIP", packet: "b> 10.0.0.9 10.96.0.1 tcp 81", want: "-"},
		{name: "another protocol is no VIP", packet: "b> 10.0.0.9 10.96.0.1 sctp 80", want: "-"},
		{name: "over IPv6", packet: "b> fd00::9 fd96::1 tcp 80", want: "sent on [fd00::1]:8080@a"},
		{name: "without ports, every protocol and port", packet: "b> 10.0.0.9 10.96.0.3 udp 99", want: "sent on 10.0.0.2:99@b"},
		{name: "no backend, refused", packet: "b> 10.0.0.9 10.96.0.2 tcp 80", want: "refused"},
		{name: "no backend, not refused", packet: "b> 10.0.0.9 10.96.0.2 udp 53", want: "unserved"},
		{name: "through a group", packet: "b> 10.0.0.9 10.96.0.1 udp 53", want: "sent on 10.0.0.3:5353@c"},
		{name: "not on another switch", packet: "c> 10.0.0.9 10.96.0.1 udp 53", want: "-"},
		{name: "not from the outside", packet: "> 198.51.100.9 10.96.0.1 udp 53", want: "-"},
		{name: "on a router", packet: "> 198.51.100.9 10.96.0.1 udp 53", router: "r", want: "sent on 10.0.0.3:5353@c"},
		{name: "not on that router", packet: "> 198.51.100.9 10.96.0.1 tcp 80", router: "r", want: "-"},
		{name: "on the router behind a switch", packet: "c> 10.0.0.9 10.96.0.1 udp 53", router: "r", want: "sent on 10.0.0.3:5353@c"},
		{name: "to the sender itself", packet: "b> 10.0.0.2 10.96.0.1 tcp 80", want: "sent on 10.0.0.1:8080@a 10.0.0.2:8081@b~"},
		{name: "a template on one chassis", packet: "b> 10.0.0.9 10.97.0.1 tcp 80", chassis: "ch1", want: "sent on 10.0.0.1:8080@a 10.0.0.3:8080@c"},
		{name: "a template that leads nowhere", packet: "b> 10.0.0.9 10.97.0.1 tcp 80", chassis: "ch2", want: "unserved"},
		{name: "a template without its variable", packet: "b> 10.0.0.9 10.97.0.1 tcp 80", chassis: "ch9", want: "unserved!"},
		{name: "a template with another family", packet: "b> 10.0.0.9 10.97.0.1 tcp 80", chassis: "odd", want: "unserved!"},
		{name: "a template without variables", packet: "b> 10.0.0.9 10.97.0.2 tcp 80", want: "sent on 10.0.0.3:8080@c"},
		{name: "a template without backends", packet: "b> 10.0.0.9 10.97.0.3 tcp 80", want: "refused"},
		{name: "a template of the VIP", packet: "b> 10.0.0.9 10.98.0.1 tcp 443", chassis: "ch1", want: "sent on 10.0.0.1:8080@a 10.0.0.3:8080@c 10.0.0.2:9@b"},
		{name: "the VIP of another chassis", packet: "b> 10.0.0.9 10.98.0.1 tcp 443", chassis: "ch2", want: "-"},
		{name: "a template over IPv6", packet: "b> fd00::9 fd98::1 tcp 80", chassis: "ch1", want: "sent on [fd00::2]:8080@b"},
		{name: "a template over IPv6 that leads nowhere", packet: "b> fd00::9 fd98::1 tcp 80", chassis: "ch2", want: "unserved"},
		{name: "an empty variable", packet: "b> fd00::9 fd98::1 tcp 80", chassis: "odd", want: "unserved!"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tracer, err := nbtrace.New(balanced())
			require.NoError(t, err)
			p := packet(t, tc.packet)
			p.Chassis, p.Router = tc.chassis, tc.router
			r := tracer.Trace(p)
			require.Equal(t, tc.want, spellBalanced(r.Balanced))
			require.Equal(t, r.Balanced == nil || r.Balanced.Outcome == nbtrace.SentOn, r.Allowed)
		})
	}
}

func spellBalanced(b *nbtrace.Balanced) string {
	if b == nil {
		return "-"
	}
	parts := []string{string(b.Outcome)}
	for _, at := range b.Backends {
		text := at.Addr.String() + "@" + at.Port
		if at.Hairpin {
			text += "~"
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, " ")
	if b.Fault != nil {
		text += "!"
	}
	if b.Ambiguous {
		text += "?"
	}
	return text
}

func TestPoliciesOfLoadBalancedPackets(t *testing.T) {
	for _, tc := range []struct {
		name, packet string
		acls         []string
		want         string // of each backend, egress / ingress
		allowed      bool
	}{
		{
			"the first stage sees the VIP", "b> 10.0.0.2 10.96.0.1 tcp 80",
			[]string{"from-lport 0.1 drop : inport == @g2 && ip4.dst == 10.96.0.1"},
			"", false,
		},
		{
			"the first stage does not see the backend", "b> 10.0.0.9 10.96.0.1 tcp 80",
			[]string{"from-lport 0.1 drop : inport == @g2 && tcp.dst == 8080"},
			"default/default default/default", true,
		},
		{
			"after load balancing the backend is seen", "b> 10.0.0.9 10.96.0.1 tcp 80",
			[]string{"from-lport+lb 0.1 drop : inport == @g2 && tcp.dst == 8081"},
			"default/default drop 0/default", false,
		},
		{
			"after load balancing the VIP is not seen", "b> 10.0.0.9 10.96.0.1 tcp 80",
			[]string{"from-lport+lb 0.1 drop : inport == @g2 && ip4.dst == 10.96.0.0/16"},
			"default/default default/default", true,
		},
		{
			"the backend's port decides", "b> 10.0.0.9 10.96.0.1 tcp 80",
			[]string{"to-lport 0.1 drop : outport == @g1 && tcp.dst == 8080"},
			"default/drop 0 default/default", false,
		},
		{
			"a packet that comes back skips the second stage", "b> 10.0.0.2 10.96.0.1 tcp 80",
			[]string{"from-lport+lb 0.1 drop : inport == @g2 && ip"},
			"drop 0/default default/default", false,
		},
		{
			"and has another source", "b> 10.0.0.2 10.96.0.1 tcp 80",
			[]string{"to-lport 0.1 drop : ip", "to-lport 0.2 allow : ip4.src == 169.254.169.5"},
			"default/drop 0 default/allow 1", false,
		},
		{
			"and a flag", "b> 10.0.0.2 10.96.0.1 tcp 80",
			[]string{"to-lport 0.1 drop : ip", "to-lport 0.2 allow : flags.loopback == 1"},
			"default/drop 0 default/allow 1", false,
		},
		{
			"of its own family", "a> fd00::1 fd96::1 tcp 80",
			[]string{"to-lport 0.1 drop : ip", "to-lport 0.2 allow : ip6.src == fd69::5"},
			"default/allow 1", true,
		},
		{
			"from the VIP where the row names no address", "b> 10.0.0.3 10.96.0.1 udp 53",
			[]string{"to-lport 0.1 drop : ip", "to-lport 0.2 allow : ip4.src == 10.96.0.1"},
			"default/allow 1", true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var acls []nbtrace.ACL
			for i, s := range tc.acls {
				acls = append(acls, acl(fmt.Sprint(i), s))
			}
			tracer, err := nbtrace.New(balanced(acls...))
			require.NoError(t, err)
			r := tracer.Trace(packet(t, tc.packet))
			require.Equal(t, tc.allowed, r.Allowed)
			if tc.want == "" {
				require.Nil(t, r.Balanced)
				return
			}
			var got []string
			for _, b := range r.Balanced.Backends {
				got = append(got, spell(b.Egress)+"/"+spell(b.Ingress))
				require.Equal(t, b.Egress.Verdict.Allows() && b.Ingress.Verdict.Allows(), b.Allowed)
			}
			i := slices.IndexFunc(r.Balanced.Backends, func(b nbtrace.Backend) bool { return !b.Allowed })
			shown := r.Balanced.Backends[max(i, 0)]
			require.Equal(t, []nbtrace.Step{shown.Egress, shown.Ingress}, []nbtrace.Step{r.Egress, r.Ingress})
			require.Equal(t, tc.want, strings.Join(got, " "))
		})
	}
}

func TestRouterLoadBalancesAfterTheSwitch(t *testing.T) {
	tracer, err := nbtrace.New(balanced(
		acl("0", "from-lport+lb 0.1 drop : inport == @g1 && ip4.dst == 10.96.0.1"),
		acl("1", "from-lport+lb 0.2 allow : inport == @g1 && udp.dst == 53"),
		acl("2", "to-lport 0.1 drop : outport == @g1 && udp.dst == 5353"),
	))
	require.NoError(t, err)
	p := packet(t, "c> 10.0.0.9 10.96.0.1 udp 53")
	p.Router = "r"
	r := tracer.Trace(p)
	require.Equal(t, "allow 1 drop 2", spell(r.Egress)+" "+spell(r.Ingress), "ACLs of the switch see the VIP")
	require.False(t, r.Allowed)
}

func TestPortOfABackendMayBeGiven(t *testing.T) {
	tracer, err := nbtrace.New(balanced(acl("0", "to-lport 0.1 drop : outport == @g2 && ip")))
	require.NoError(t, err)
	p := packet(t, "d> 10.0.0.9 10.96.0.1 udp 53")
	p.Inport, p.Router = "", "r"
	require.True(t, tracer.Trace(p).Allowed)
	p.PortOf = func(netip.Addr) string { return "b" }
	require.False(t, tracer.Trace(p).Allowed)
}

func TestLoadBalancingTracksConnections(t *testing.T) {
	with := balanced(acl("0", "to-lport 0.5 drop : ip"))
	without := rows(with.ACLs...)
	const neighbour = "b>a fd00::2 fd00::1 icmp6 135"
	tracer, err := nbtrace.New(without)
	require.NoError(t, err)
	require.False(t, tracer.Trace(packet(t, neighbour)).Allowed)
	tracer, err = nbtrace.New(with)
	require.NoError(t, err)
	require.True(t, tracer.Trace(packet(t, neighbour)).Allowed)
}

func TestFaultyLoadBalancersAreReportedAndLeftOut(t *testing.T) {
	r := balanced()
	r.LoadBalancers[0].VIPs = map[string]string{
		"10.96.0.1:80": "10.0.0.1:8080,[fd00::1]:8080", "fd96::1:80": "[fd00::1]:8080", "nonsense:80": "", "10.96.0.5:0": "",
		"10.96.0.6:80": "web:8080", "10.96.0.7:80": "10.0.0.1:8080,0.0.0.0:8080", "10.96.0.8:80": "^be", "10.96.0.9:80": "10.0.0.1:8080",
	}
	r.LoadBalancers[2].VIPs["[fd96::2]:80"] = ""
	r.LoadBalancers[3].VIPs["[fd96::2]:80"] = "[fd00::1]:8080"
	r.LoadBalancers[3].Options["affinity_timeout"] = "60"
	tracer, err := nbtrace.New(r)
	for _, vip := range []string{"10.96.0.1:80", "nonsense:80", "10.96.0.5:0", "10.96.0.6:80", "10.96.0.7:80", "10.96.0.8:80"} {
		require.ErrorContains(t, err, fmt.Sprintf("load balancer lb: vip %q:", vip))
	}
	require.ErrorContains(t, err, `load balancer tpl: vip "[fd96::2]:80"`)
	require.ErrorContains(t, err, `load balancer tpl6: vip "[fd96::2]:80"`)
	require.ErrorContains(t, err, `affinity_timeout does not work with template`)
	require.NotContains(t, err.Error(), "10.96.0.9")
	var fault *nbtrace.BalancerError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "-", spellBalanced(tracer.Trace(packet(t, "b> 10.0.0.9 10.96.0.1 tcp 80")).Balanced))
	require.Equal(t, "-", spellBalanced(tracer.Trace(packet(t, "b> fd00::9 fd96::1 tcp 80")).Balanced), "it is an address without a port")
	require.Equal(t, "sent on 10.0.0.1:8080@a", spellBalanced(tracer.Trace(packet(t, "b> 10.0.0.9 10.96.0.9 tcp 80")).Balanced))
}

func TestOneVIPOfTwoLoadBalancersIsAFault(t *testing.T) {
	twin := func(protocol, vip string) nbtrace.LoadBalancer {
		return nbtrace.LoadBalancer{UUID: "alien", Protocol: protocol, VIPs: map[string]string{vip: ""}}
	}
	for _, tc := range []struct {
		name   string
		alien  nbtrace.LoadBalancer
		attach func(*nbtrace.Rows)
		fault  string
	}{
		{"on one switch", twin("tcp", "10.96.0.1:80"), func(r *nbtrace.Rows) {
			r.Switches[0].LoadBalancers = append(r.Switches[0].LoadBalancers, "alien")
		}, "load balancer lb has it too, on s1"},
		{"in one group", twin("udp", "10.96.0.1:53"), func(r *nbtrace.Rows) {
			r.LoadBalancerGroups[0].LoadBalancers = append(r.LoadBalancerGroups[0].LoadBalancers, "alien")
		}, "load balancer grouped has it too, on r"},
		{"in a group and on the router", twin("udp", "10.96.0.1:53"), func(r *nbtrace.Rows) {
			r.Routers[0].LoadBalancers = []string{"alien"}
		}, "load balancer grouped has it too, on r"},
		{"on different switches", twin("tcp", "10.96.0.1:80"), func(r *nbtrace.Rows) {
			r.Switches[1].LoadBalancers = []string{"alien"}
		}, ""},
		{"with another protocol", twin("sctp", "10.96.0.1:80"), func(r *nbtrace.Rows) {
			r.Switches[0].LoadBalancers = append(r.Switches[0].LoadBalancers, "alien")
		}, ""},
		{"the same row twice", twin("tcp", "10.99.0.1:80"), func(r *nbtrace.Rows) {
			r.Switches[0].LoadBalancers = append(r.Switches[0].LoadBalancers, "grouped")
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := balanced()
			r.LoadBalancers = append(r.LoadBalancers, tc.alien)
			tc.attach(&r)
			tracer, err := nbtrace.New(r)
			if tc.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.fault)
			var text string
			for vip := range tc.alien.VIPs {
				at := netip.MustParseAddrPort(vip)
				protocol := tc.alien.Protocol
				p := packet(t, fmt.Sprintf("b> 10.0.0.9 %s %s %d", at.Addr(), protocol, at.Port()))
				if protocol == "udp" {
					p.Inport, p.Router = "", "r"
				}
				text = spellBalanced(tracer.Trace(p).Balanced)
			}
			require.Contains(t, text, "?")
		})
	}
}
