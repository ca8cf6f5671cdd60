//go:build e2e

package nbtrace_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/seeds"
)

// TestLoadBalancingMatchesOVN compares the results for packets to VIPs with those of a real OVN, under random ACLs that
// know VIPs and backends. Every VIP has one backend at most, as ovn-trace chooses one by chance. It knows neither the
// source of a packet that comes back to its sender nor templates: those are not compared.
func TestLoadBalancingMatchesOVN(t *testing.T) {
	seeds.Each(t, "nbtrace", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 2))
		network, ports := crossing(t)
		lab := ovnlab.Start(t)
		lab.Install(network)
		lab.NBCtl("set", "Logical_Router", "lr", "options:chassis=ch0") // else it does no load balancing
		lab.NBCtl("pg-add", "all", "a", "b", "c", "d")
		outcomes := map[string]int{}
		for range 6 {
			r := nbtrace.Rows{
				Switches:   []nbtrace.Switch{{Name: "ls0", Ports: []string{"a", "b"}}, {Name: "ls1", Ports: []string{"c", "d"}}},
				Routers:    []nbtrace.Router{{Name: "lr"}},
				PortGroups: []nbtrace.PortGroup{{Name: "all", Ports: []string{"a", "b", "c", "d"}}},
			}
			for _, p := range ports {
				r.Ports = append(r.Ports, nbtrace.Port{Name: p.Name, Addresses: []string{fmt.Sprint(p.Addrs[0], " ", p.Addrs[1])}})
			}
			randomBalancers(rng, &r, ports)
			randomBalancedACLs(rng, &r)
			installBalancing(lab, r)
			tracer, err := nbtrace.New(r)
			require.NoError(t, err)
			for range 50 {
				f, p := randomBalancedFlow(rng, r, ports)
				got := tracer.Trace(p)
				if b := got.Balanced; b != nil && len(b.Backends) > 0 && b.Backends[0].Addr.Addr() == p.Src {
					continue
				}
				want := traceBalanced(t, lab, f, p)
				outcomes[want]++
				require.Equal(t, want, becomes(got), "%+v: %+v", p, got)
			}
		}
		t.Logf("%v", outcomes)
		require.GreaterOrEqual(t, len(outcomes), 6, "%v", outcomes)
	})
}

// becomes formats a result as traceBalanced does.
func becomes(r nbtrace.Result) string {
	switch b := r.Balanced; {
	case b != nil && b.Outcome == nbtrace.Refused:
		return "refused"
	case !r.Allowed:
		return "dropped"
	case b == nil:
		return "world"
	default:
		return b.Backends[0].Port
	}
}

// traceBalanced asks ovn-trace where a packet comes out.
func traceBalanced(t *testing.T, lab *ovnlab.Lab, in string, p nbtrace.Packet) string {
	t.Helper()
	args := []string{"ovn-trace", "--minimal"}
	for range 12 {
		args = append(args, "--ct=new")
	}
	ip, proto := "ip4", map[uint8]string{6: "tcp", 17: "udp", 132: "sctp"}[p.Protocol]
	if p.Src.Is6() {
		ip = "ip6"
	}
	dp, eth := "ls0", map[string]string{
		"a":     "eth.src == 0a:01:00:00:00:00 && eth.dst == 0a:00:00:00:00:00",
		"b":     "eth.src == 0a:01:00:00:00:01 && eth.dst == 0a:00:00:00:00:00",
		"c":     "eth.src == 0a:01:00:00:00:02 && eth.dst == 0a:00:00:00:00:01",
		"d":     "eth.src == 0a:01:00:00:00:03 && eth.dst == 0a:00:00:00:00:01",
		"world": "eth.src == 0a:01:ff:ff:ff:ff && eth.dst == 0a:00:00:00:00:02",
	}[in]
	switch in {
	case "c", "d":
		dp = "ls1"
	case "world":
		dp = "outside"
	}
	out, err := lab.RunProgram(t.Context(), append(args, dp, fmt.Sprintf(
		"inport == %q && %s && %s.src == %s && %s.dst == %s && ip.ttl == 64 && %s.src == 40000 && %s.dst == %d",
		in, eth, ip, p.Src, ip, p.Dst, proto, proto, p.DstPort))...)
	require.NoError(t, err)
	switch {
	case strings.Contains(out, "tcp_reset {"), strings.Contains(out, "icmp4 {"), strings.Contains(out, "icmp6 {"),
		strings.Contains(out, "sctp_abort {"), strings.Contains(out, "reject {"):
		return "refused"
	case !strings.Contains(out, "output("):
		return "dropped"
	}
	_, port, _ := strings.Cut(out, `output("`)
	port, _, _ = strings.Cut(port, `"`)
	return port
}

// randomBalancers fills r with load balancers whose VIPs are all different, somewhere each.
func randomBalancers(rng *rand.Rand, r *nbtrace.Rows, ports []ovnlab.Port) {
	r.LoadBalancerGroups = []nbtrace.LoadBalancerGroup{{UUID: "g", Name: "g"}}
	r.Switches[0].LoadBalancerGroups, r.Routers[0].LoadBalancerGroups = []string{"g"}, []string{"g"}
	for i := range 8 {
		lb := nbtrace.LoadBalancer{
			UUID: fmt.Sprint("lb", i), Protocol: []string{"tcp", "udp", "sctp"}[i%3], VIPs: map[string]string{},
			Options: map[string]string{"hairpin_snat_ip": "169.254.169.5 fd69::5"},
		}
		if rng.IntN(2) == 0 {
			lb.Options["reject"] = "true"
		}
		for v6 := range 2 {
			vip := []string{fmt.Sprintf("10.96.0.%d:80", i+1), fmt.Sprintf("[fd96::%d]:80", i+1)}[v6]
			if i == 7 {
				vip = []string{"10.96.0.8", "fd96::8"}[v6]
			}
			backend := netip.AddrPortFrom(ports[rng.IntN(len(ports))].Addrs[v6], 8080).String()
			switch {
			case i < 7 && rng.IntN(3) == 0:
				backend = ""
			case i == 7:
				backend = ports[rng.IntN(len(ports))].Addrs[v6].String()
			}
			lb.VIPs[vip] = backend
		}
		r.LoadBalancers = append(r.LoadBalancers, lb)
		switch rng.IntN(4) {
		case 0:
			r.Switches[1].LoadBalancers = append(r.Switches[1].LoadBalancers, lb.UUID)
		case 1:
			r.Routers[0].LoadBalancers = append(r.Routers[0].LoadBalancers, lb.UUID)
		default:
			r.LoadBalancerGroups[0].LoadBalancers = append(r.LoadBalancerGroups[0].LoadBalancers, lb.UUID)
		}
	}
}

// randomBalancedACLs fills r with ACLs that drop some VIPs and backends in every stage.
func randomBalancedACLs(rng *rand.Rand, r *nbtrace.Rows) {
	for i := range 16 {
		a := nbtrace.ACL{UUID: fmt.Sprint(i), Priority: i + 1, Direction: "from-lport", Action: "drop"}
		port, end := "inport", "dst"
		switch rng.IntN(3) {
		case 0:
			a.Direction, port, end = "to-lport", "outport", []string{"src", "dst"}[rng.IntN(2)]
		case 1:
			a.Options = map[string]string{"apply-after-lb": "true"}
		}
		if rng.IntN(3) == 0 {
			a.Action = "allow-related"
		}
		what := []string{
			fmt.Sprintf("ip4.%s == 10.96.0.%d", end, 1+rng.IntN(8)), fmt.Sprintf("ip6.%s == fd96::%d", end, 1+rng.IntN(8)),
			fmt.Sprintf("ip4.%s == 10.0.%d.%d", end, 1+rng.IntN(2), 1+rng.IntN(2)),
			fmt.Sprintf("ip6.%s == fd00:%d::%d", end, 1+rng.IntN(2), 1+rng.IntN(2)),
			"tcp.dst == 8080", "udp.dst == 80", "sctp.dst == {80, 8080} && ip6", "ip4.src == 198.51.100.9",
		}
		a.Match = port + " == @all && " + what[rng.IntN(len(what))]
		r.ACLs, r.PortGroups[0].ACLs = append(r.ACLs, a), append(r.PortGroups[0].ACLs, a.UUID)
	}
}

// installBalancing makes the ACLs and load balancers of the lab those of r.
func installBalancing(lab *ovnlab.Lab, r nbtrace.Rows) {
	args := []string{
		"--type=port-group", "acl-del", "all", "--", "ls-lb-del", "ls1", "--", "lr-lb-del", "lr",
		"--", "--all", "destroy", "Load_Balancer_Group", "--", "--all", "destroy", "Load_Balancer",
	}
	for _, a := range r.ACLs {
		args = append(args, "--", "--type=port-group")
		if a.Options != nil {
			args = append(args, "--apply-after-lb")
		}
		args = append(args, "acl-add", "all", a.Direction, fmt.Sprint(a.Priority), a.Match, a.Action)
	}
	var group []string
	for _, lb := range r.LoadBalancers {
		ref := "@" + lb.UUID
		args = append(args, "--", "--id="+ref, "create", "Load_Balancer", "name="+lb.UUID, "protocol="+lb.Protocol)
		for _, vip := range slices.Sorted(maps.Keys(lb.VIPs)) {
			args = append(args, fmt.Sprintf("vips:%q=%q", vip, lb.VIPs[vip]))
		}
		for k, v := range lb.Options {
			args = append(args, fmt.Sprintf("options:%s=%q", k, v))
		}
		switch {
		case slices.Contains(r.Switches[1].LoadBalancers, lb.UUID):
			args = append(args, "--", "add", "Logical_Switch", "ls1", "load_balancer", ref)
		case slices.Contains(r.Routers[0].LoadBalancers, lb.UUID):
			args = append(args, "--", "add", "Logical_Router", "lr", "load_balancer", ref)
		default:
			group = append(group, ref)
		}
	}
	args = append(args, "--", "--id=@g", "create", "Load_Balancer_Group", "name=g")
	if len(group) > 0 {
		args = append(args, "load_balancer="+strings.Join(group, ","))
	}
	args = append(args, "--", "add", "Logical_Switch", "ls0", "load_balancer_group", "@g",
		"--", "add", "Logical_Router", "lr", "load_balancer_group", "@g")
	lab.NBCtl("--", "clear", "Logical_Switch", "ls0", "load_balancer_group", "--", "clear", "Logical_Router", "lr", "load_balancer_group")
	lab.NBCtl(args...)
	lab.Sync()
}

// randomBalancedFlow is a packet to a VIP, and the port where OVN sees it first.
func randomBalancedFlow(rng *rand.Rand, r nbtrace.Rows, ports []ovnlab.Port) (string, nbtrace.Packet) {
	lb := r.LoadBalancers[rng.IntN(len(r.LoadBalancers))]
	v6, n := rng.IntN(2), strings.TrimPrefix(lb.UUID, "lb")
	p := nbtrace.Packet{Router: "lr", SrcPort: 40000, DstPort: []uint16{80, 80, 80, 8080}[rng.IntN(4)]}
	p.Protocol = map[string]uint8{"tcp": 6, "udp": 17, "sctp": 132}[lb.Protocol]
	if rng.IntN(8) == 0 {
		p.Protocol = 6
	}
	p.Dst = netip.MustParseAddr([]string{"10.96.0.0", "fd96::0"}[v6])
	for range n[0] - '0' + 1 {
		p.Dst = p.Dst.Next()
	}
	i := rng.IntN(len(ports) + 1)
	if i == len(ports) {
		p.Src = []netip.Addr{netip.MustParseAddr("198.51.100.9"), netip.MustParseAddr("2001:db8::9")}[v6]
		return ovnlab.World, p
	}
	p.Src, p.Inport = ports[i].Addrs[v6], ports[i].Name
	return p.Inport, p
}

// TestHairpinSkipsAStageInOVN sends a packet through a load balancer back to its sender.
func TestHairpinSkipsAStageInOVN(t *testing.T) {
	network, ports := crossing(t)
	lab := ovnlab.Start(t)
	lab.Install(network)
	lab.NBCtl("lb-add", "lb", "10.96.0.1:80", "10.0.1.1:8080", "--", "ls-lb-add", "ls0", "lb", "--", "pg-add", "all", "a", "b")
	lab.NBCtl("--type=port-group", "--apply-after-lb", "acl-add", "all", "from-lport", "1", "inport == @all && ip", "drop")
	lab.Sync()
	for i, want := range []string{"a", "dropped"} {
		p := nbtrace.Packet{
			Inport: ports[i].Name, Src: ports[i].Addrs[0], Dst: netip.MustParseAddr("10.96.0.1"), Protocol: 6, DstPort: 80,
		}
		require.Equal(t, want, traceBalanced(t, lab, p.Inport, p))
	}
	lab.NBCtl("--type=port-group", "acl-add", "all", "from-lport", "1", "inport == @all && ip", "drop")
	lab.Sync()
	p := nbtrace.Packet{Src: ports[0].Addrs[0], Dst: netip.MustParseAddr("10.96.0.1"), Protocol: 6, DstPort: 80}
	require.Equal(t, "dropped", traceBalanced(t, lab, "a", p))
}

// TestSwitchLoadBalancesBeforeTheRouterInOVN sends packets in through a switch and a router that both have the VIP.
func TestSwitchLoadBalancesBeforeTheRouterInOVN(t *testing.T) {
	network, ports := crossing(t)
	lab := ovnlab.Start(t)
	lab.Install(network)
	lab.NBCtl("set", "Logical_Router", "lr", "options:chassis=ch0", "--",
		"lsp-set-type", ovnlab.World, "localnet", "--", "lsp-set-addresses", ovnlab.World, "unknown")
	lab.NBCtl("lb-add", "sw", "10.96.0.1:80", "10.0.1.1:8080", "--", "ls-lb-add", "outside", "sw")
	lab.NBCtl("lb-add", "rt", "10.96.0.1:80", "10.0.2.1:8080", "--", "lr-lb-add", "lr", "rt")
	lab.Sync()
	r := nbtrace.Rows{
		Switches: []nbtrace.Switch{{Name: "outside", Ports: []string{ovnlab.World}, LoadBalancers: []string{"sw"}}},
		Routers:  []nbtrace.Router{{Name: "lr", LoadBalancers: []string{"rt"}}},
		Ports:    []nbtrace.Port{{Name: "a", Addresses: []string{"10.0.1.1"}}, {Name: "c", Addresses: []string{"10.0.2.1"}}},
		LoadBalancers: []nbtrace.LoadBalancer{
			{UUID: "sw", VIPs: map[string]string{"10.96.0.1:80": "10.0.1.1:8080"}},
			{UUID: "rt", VIPs: map[string]string{"10.96.0.1:80": "10.0.2.1:8080"}},
		},
	}
	r.Switches = append(r.Switches, nbtrace.Switch{Name: "pods", Ports: []string{"a", "c"}})
	p := nbtrace.Packet{
		Inport: ovnlab.World, Router: "lr", Src: netip.MustParseAddr("198.51.100.9"), Dst: netip.MustParseAddr("10.96.0.1"),
		Protocol: 6, DstPort: 80,
	}
	for _, want := range []string{ports[0].Name, ports[2].Name} {
		tracer, err := nbtrace.New(r)
		require.NoError(t, err)
		require.Equal(t, want, traceBalanced(t, lab, ovnlab.World, p))
		require.Equal(t, want, becomes(tracer.Trace(p)))
		lab.NBCtl("ls-lb-del", "outside")
		lab.Sync()
		r.Switches[0].LoadBalancers = nil
	}
}
