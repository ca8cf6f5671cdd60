//go:build e2e

package nbtrace_test

import (
	"fmt"
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

// TestMatchesOVN compares verdicts on random ACLs with those of a real OVN.
func TestMatchesOVN(t *testing.T) {
	seeds.Each(t, "nbtrace", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		network, ports := crossing(t)
		lab := ovnlab.Start(t)
		lab.Install(network)
		r := nbtrace.Rows{
			Switches:   []nbtrace.Switch{{Name: "ls0", Ports: []string{"a", "b"}}, {Name: "ls1", Ports: []string{"c", "d"}}},
			PortGroups: []nbtrace.PortGroup{{Name: "p1", Ports: []string{"a", "c"}}, {Name: "p2", Ports: []string{"b", "c"}}, {Name: "p3", Ports: []string{"d"}}},
			AddressSets: []nbtrace.AddressSet{
				{Name: "empty"},
				{Name: "four", Addresses: []string{"10.0.1.1", "10.0.2.0/24", "198.51.100.0/25"}},
				{Name: "six", Addresses: []string{"fd00:1::1", "fd00:2::/64"}},
			},
		}
		for _, g := range r.PortGroups {
			lab.NBCtl(append([]string{"pg-add", g.Name}, g.Ports...)...)
		}
		for _, set := range r.AddressSets {
			lab.NBCtl("create", "Address_Set", "name="+set.Name, `addresses=["`+strings.Join(set.Addresses, `","`)+`"]`)
		}
		lab.NBCtl("clear", "Address_Set", "empty", "addresses")
		var denied, total int
		for round := range 12 {
			r.ACLs = nil
			args := []string{}
			for i := range r.PortGroups {
				args = append(args, "--", "--type=port-group", "acl-del", r.PortGroups[i].Name)
				r.PortGroups[i].ACLs = nil
			}
			for i := range 24 {
				g := &r.PortGroups[rng.IntN(3)]
				a := randomACL(rng, g.Name, i)
				if i < 3 { // every switch tracks connections
					g = &r.PortGroups[i]
					a = nbtrace.ACL{UUID: fmt.Sprint(i), Direction: "to-lport", Priority: 0, Match: "outport == @" + g.Name + " && sctp.dst == 1", Action: "allow-related"}
				}
				r.ACLs, g.ACLs = append(r.ACLs, a), append(g.ACLs, a.UUID)
				args = append(args, "--", "--type=port-group", "--may-exist")
				if a.Options != nil {
					args = append(args, "--apply-after-lb")
				}
				args = append(args, "acl-add", g.Name, a.Direction, fmt.Sprint(a.Priority), a.Match, a.Action)
			}
			lab.NBCtl(args[1:]...)
			lab.Sync()
			tracer, err := nbtrace.New(r)
			require.NoError(t, err)
			ovn := lab.Tracer()
			for range 80 {
				f, p := randomFlow(rng, ports)
				total++
				got := tracer.Trace(p)
				if !got.Allowed {
					denied++
				}
				want := ovn.Verdict(f)
				if (want == ovnlab.Allow) != got.Allowed {
					t.Errorf("round %d: %s: OVN says %s, the tracer %+v\n%s", round, f, want, got, strings.Join(args, " "))
				}
			}
			ovn.Close()
		}
		t.Logf("%d flows, %d denied", total, denied)
		require.Greater(t, denied, total/10)
		require.Less(t, denied, total*9/10)
	})
}

func crossing(t *testing.T) (*ovnlab.Network, []ovnlab.Port) {
	t.Helper()
	ports := make([]ovnlab.Port, 4)
	for i, name := range []string{"a", "b", "c", "d"} {
		ports[i] = ovnlab.Port{Name: name, Addrs: []netip.Addr{
			netip.MustParseAddr(fmt.Sprintf("10.0.%d.%d", i/2+1, i%2+1)), netip.MustParseAddr(fmt.Sprintf("fd00:%d::%d", i/2+1, i%2+1)),
		}}
	}
	n, err := ovnlab.NewNetwork(ports, nil)
	require.NoError(t, err)
	return n, ports
}

// randomACL makes an ACL of the group; its priority is its own, as OVN does as it likes with two of one priority.
func randomACL(rng *rand.Rand, group string, i int) nbtrace.ACL {
	a := nbtrace.ACL{UUID: fmt.Sprint(i), Priority: i + 1, Direction: "to-lport", Action: "allow-related"}
	if rng.IntN(2) == 0 {
		a.Action = "drop"
	}
	port := "outport"
	if rng.IntN(2) == 0 {
		a.Direction, port = "from-lport", "inport"
		if rng.IntN(2) == 0 {
			a.Options = map[string]string{"apply-after-lb": "true"}
		}
	}
	a.Match = port + " == @" + group + " && " + randomExpr(rng, 2, false, a.Direction)
	return a
}

func randomExpr(rng *rand.Rand, depth int, negated bool, direction string) string {
	if depth == 0 || rng.IntN(3) == 0 {
		return randomTerm(rng, negated, direction)
	}
	join := []string{" && ", " || "}[rng.IntN(2)]
	not := ""
	if rng.IntN(4) == 0 {
		not, negated = "!", !negated
	}
	return not + "(" + randomExpr(rng, depth-1, negated, direction) + join + randomExpr(rng, depth-1, negated, direction) + ")"
}

// randomTerm is one comparison. Under a negation only ordinal fields may stand.
func randomTerm(rng *rand.Rand, negated bool, direction string) string {
	ordinal := []string{
		"ip4.src == $four", "ip4.dst == $four", "ip4.src != $four", "ip6.src == $six", "ip6.dst != $six", "ip4.dst == $empty",
		"ip4.src == {10.0.1.2, 10.0.2.77/31, $empty}", "ip4.dst != 10.0.1.0/24", "ip6.dst == {fd00:1::2, fd00:2::1}", "ip6.src == ::/0",
		"tcp.dst == 80", "tcp.dst == {80, 443}", "tcp.dst != 80", "79 < tcp.dst <= 443", "80 <= udp.dst <= 90", "udp.dst > 53",
		"sctp.dst < 81", "tcp.dst != {443, 8080}", "ip4.src != 0.0.0.0/0", "ip4.src > 10.0.1.1",
	}
	nominal := []string{"ip", "ip4", "ip6", "tcp", "udp", "sctp", "icmp", "icmp4", "icmp6", "ip.proto == 6", "ip.proto == {17, 58}", "arp", "1", "icmp6.type == 128", "nd"}
	if direction == "to-lport" {
		nominal = append(nominal, `inport == "a"`, `inport == {"b", "d"}`, `outport == {"a", "b"}`)
	}
	if negated {
		return ordinal[rng.IntN(len(ordinal))]
	}
	all := slices.Concat(ordinal, nominal)
	return all[rng.IntN(len(all))]
}

// randomFlow is one packet, as OVN's tracer and as ours want it.
func randomFlow(rng *rand.Rand, ports []ovnlab.Port) (ovnlab.Flow, nbtrace.Packet) {
	v6 := rng.IntN(2)
	src, dst := rng.IntN(len(ports)+1), rng.IntN(len(ports)+1)
	for src == dst {
		dst = rng.IntN(len(ports) + 1)
	}
	var f ovnlab.Flow
	var p nbtrace.Packet
	end := func(i int) (netip.Addr, string) {
		if i == len(ports) {
			return []netip.Addr{netip.MustParseAddr("198.51.100.9"), netip.MustParseAddr("2001:db8::9")}[v6], ""
		}
		return ports[i].Addrs[v6], ports[i].Name
	}
	f.Src, p.Inport = end(src)
	f.Dst, p.Outport = end(dst)
	p.Src, p.Dst = f.Src, f.Dst
	f.Protocol = []string{"tcp", "tcp", "udp", "sctp", "icmp"}[rng.IntN(5)]
	p.Protocol = map[string]uint8{"tcp": 6, "udp": 17, "sctp": 132, "icmp": 1}[f.Protocol]
	if f.Protocol != "icmp" {
		f.Port = []uint16{53, 79, 80, 81, 90, 443, 8080}[rng.IntN(7)]
		p.DstPort, p.SrcPort = f.Port, 40000
		return f, p
	}
	p.ICMPType = 8
	if v6 == 1 {
		p.Protocol, p.ICMPType = 58, 128
	}
	return f, p
}
