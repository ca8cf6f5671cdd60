package nbtrace_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

func TestUnknownMatchesDecideNothing(t *testing.T) {
	const packetB = "b>a 10.0.0.2 10.0.0.1 tcp 80"
	for _, tc := range []struct {
		name string
		acls []string // numbered from 0
		want string   // the step of ingress
	}{
		{"an unknown field before a drop", []string{"to-lport 0.9 allow : ip.ttl == 64", "to-lport 0.1 drop : ip"}, "unknown 0"},
		{"the same verdict whatever it is", []string{"to-lport 0.9 drop : ip.ttl == 64", "to-lport 0.1 drop : ip"}, "drop 1"},
		{"a part that is false anyway", []string{"to-lport 0.9 allow : udp && ip.ttl == 64", "to-lport 0.1 drop : ip"}, "drop 1"},
		{"a part that is true anyway", []string{"to-lport 0.9 allow : tcp || ip.ttl == 64", "to-lport 0.1 drop : ip"}, "allow 0"},
		{"behind the ACL that decides", []string{"to-lport 0.9 allow : tcp", "to-lport 0.1 drop : ip.ttl == 64"}, "allow 0"},
		{"an unknown drop before the default", []string{"to-lport 0.9 drop : vlan.present"}, "unknown 0"},
		{"an unknown function", []string{`to-lport 0.9 drop : is_chassis_resident("x")`}, "unknown 0"},
		{"an unknown relation", []string{"to-lport 0.9 drop : ip.dscp > 3 && tcp"}, "unknown 0"},
		{"a negated unknown", []string{"to-lport 0.9 drop : !(ip.ttl == 64 || udp.dst == 80)"}, "default"},
		{"a constant that does not fit", []string{"to-lport 0.9 drop : ip4.src == 10"}, "unknown 0"},
		{"a variable of the chassis", []string{"to-lport 0.9 drop : ip4.src == ^node"}, "unknown 0"},
		{"a set that cannot be read", []string{"to-lport 0.9 drop : ip4.src == $bad"}, "unknown 0"},
		{"a set that cannot be read, and one that has it", []string{"to-lport 0.9 drop : ip4.src == {$bad, $some}"}, "drop 0"},
		{"not in a set that cannot be read", []string{"to-lport 0.9 drop : ip4.src != $bad"}, "unknown 0"},
		{"an ephemeral source port", []string{"to-lport 0.9 drop : tcp.src == 40000"}, "unknown 0"},
		{"a source port that no client gets", []string{"to-lport 0.9 drop : tcp.src == 68"}, "default"},
		{"a source port as all clients have", []string{"to-lport 0.9 drop : tcp.src >= 1024"}, "drop 0"},
		{"an unknown pass with a decision behind it", []string{"to-lport 1.9 pass : ip.ttl == 1", "to-lport 1.1 drop : ip"}, "unknown 0"},
		{"an unknown pass alone in its tier", []string{"to-lport 1.9 pass : ip.ttl == 1", "to-lport 2.1 drop : ip"}, "drop 1"},
		{"an unknown tie", []string{"to-lport 0.9 drop : ip", "to-lport 0.9 allow : ip.ttl == 1"}, "unknown 1"},
		{"stateless below a drop", []string{"to-lport 0.9 drop : ip", "to-lport 0.1 allow-stateless : tcp"}, "unknown 1"},
		{"stateless for other traffic", []string{"to-lport 0.9 drop : ip", "to-lport 0.1 allow-stateless : icmp6"}, "drop 0"},
		{"the state of a first packet", []string{"to-lport 0.9 allow-related : ct.new && !ct.est && ct_mark == 0", "to-lport 0.1 drop : ip"}, "allow 0"},
		{"the label of a first packet", []string{"to-lport 0.9 drop : ct_label == 0x1/0x1", "to-lport 0.1 drop : ct_mark.blocked == 1"}, "default"},
		{"bits of an address", []string{"to-lport 0.9 drop : ip4.src[24..31] == 10 && ip4.dst[0] == 1"}, "drop 0"},
		{"other bits of an address", []string{"to-lport 0.9 drop : ip4.src[0] == 1"}, "default"},
		{"multicast", []string{"to-lport 0.9 drop : ip4.mcast || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)"}, "default"},
		{"a masked port", []string{"to-lport 0.9 drop : tcp.dst == 80/0xfff0"}, "drop 0"},
		{"a port masked in the middle", []string{"to-lport 0.9 drop : tcp.dst == 80/0xff0f"}, "unknown 0"},
		{"the addresses of a group", []string{"to-lport 0.9 drop : ip4.src == $g2_ip4 && ip4.dst == $g1_ip4"}, "drop 0"},
		{"the addresses of another group", []string{"to-lport 0.9 drop : ip4.src == $g1_ip4"}, "default"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var acls []nbtrace.ACL
			for i, s := range tc.acls {
				acls = append(acls, acl(fmt.Sprint(i), s))
			}
			r := rows(acls...)
			r.AddressSets = append(r.AddressSets, nbtrace.AddressSet{Name: "bad", Addresses: []string{"10.0.0.9", "nonsense"}})
			r.Ports = []nbtrace.Port{{Name: "a", Addresses: []string{"0a:00:00:00:00:01 10.0.0.1"}}, {Name: "b", Addresses: []string{"0a:00:00:00:00:02 10.0.0.2"}}}
			tracer, _ := nbtrace.New(r)
			got := tracer.Trace(packet(t, packetB))
			require.Equal(t, tc.want, spell(got.Ingress))
			require.Equal(t, got.Ingress.Verdict == nbtrace.Default || got.Ingress.Verdict == nbtrace.Allow, got.Allowed)
		})
	}
}

func TestUplinksHaveTheACLsOfTheirSwitch(t *testing.T) {
	r := rows(
		acl("leave", "to-lport 0.9 drop : ip4.dst == 192.0.2.0/24 && inport == @g1"),
		acl("reach", "from-lport 0.9 drop : ip4.src == 192.0.2.7"),
	)
	for i := range r.Switches {
		up := fmt.Sprint("up", i)
		r.Switches[i].Ports = append(r.Switches[i].Ports, up)
		r.Ports = append(r.Ports, nbtrace.Port{Name: up, Type: "router"})
	}
	tracer, err := nbtrace.New(r)
	require.NoError(t, err)
	for _, tc := range []struct{ packet, want string }{
		{"a> 10.0.0.1 192.0.2.1 tcp 80", "drop leave skipped"},
		{"a> 10.0.0.1 192.0.3.1 tcp 80", "default skipped"},
		{"b> 10.0.0.2 192.0.2.1 tcp 80", "default skipped"},
		{"a>d 10.0.0.1 192.0.2.1 tcp 80", "drop leave default"},
		{">a 192.0.2.7 10.0.0.1 tcp 80", "skipped drop reach"},
		{"d>a 192.0.2.7 10.0.0.1 tcp 80", "drop reach drop reach"},
		{"b>a 192.0.2.7 10.0.0.1 tcp 80", "drop reach default"},
	} {
		got := tracer.Trace(packet(t, tc.packet))
		require.Equal(t, tc.want, spell(got.Egress)+" "+spell(got.Ingress), tc.packet)
	}
}

func TestDefaultDrop(t *testing.T) {
	r := rows(acl("1", "to-lport 0.9 allow : udp"))
	r.Options = map[string]string{"default_acl_drop": "true"}
	tracer, err := nbtrace.New(r)
	require.NoError(t, err)
	got := tracer.Trace(packet(t, "b>a 10.0.0.2 10.0.0.1 tcp 80"))
	require.Equal(t, "unknown drop", spell(got.Egress)+" "+spell(got.Ingress), "no ACL at all is for the version to decide")
}

// TestJudgeKnowsEveryPort compares the spans of a judge with the verdict of each port.
func TestJudgeKnowsEveryPort(t *testing.T) {
	tracer, err := nbtrace.New(rows(
		acl("0", "to-lport 0.9 drop : outport == @g1 && ip4.src == $some && (tcp.dst == {80, 443} || 8000 <= tcp.dst < 8100)"),
		acl("1", "to-lport 0.8 drop : ip4.src > 10.0.0.1 && udp.dst != 53"),
		acl("2", "to-lport 0.7 drop : tcp.dst == 0x1000/0xf000"),
		acl("3", "to-lport 0.6 drop : sctp.dst <= 5 && inport == \"b\""),
		acl("4", "from-lport+lb 0.5 drop : inport == @g2 && ip4.dst[0..7] == 1 && tcp.dst >= 60000"),
	))
	require.NoError(t, err)
	judge := nbtrace.NewJudge(tracer)
	for _, from := range []string{"b 10.0.0.2", "b 10.0.0.3", "d 10.0.0.2", "b 10.1.7.7"} {
		for _, to := range []string{"a 10.0.0.1", "a 10.0.0.9", "c 10.0.1.1"} {
			src, dst := end(tracer, from), end(tracer, to)
			for i, spans := range [][]nbtrace.Span{judge.Egress(&src, &dst), judge.Ingress(&src, &dst)} {
				next := map[uint8]int{}
				for _, s := range spans {
					require.Equal(t, next[s.Protocol], int(s.First))
					next[s.Protocol] = int(s.Last) + 1
					for port := int(s.First); port <= int(s.Last); port += 1 + (int(s.Last)-port)/3 {
						p := nbtrace.Packet{Inport: src.Port, Outport: dst.Port, Src: src.Addr, Dst: dst.Addr, Protocol: s.Protocol, DstPort: uint16(port)}
						r := tracer.Trace(p)
						require.Equal(t, []nbtrace.Step{r.Egress, r.Ingress}[i], s.Step, "%s > %s, %d/%d", from, to, s.Protocol, port)
					}
				}
				require.Equal(t, map[uint8]int{6: 65536, 17: 65536, 132: 65536}, next)
			}
		}
	}
}

func end(tracer *nbtrace.Tracer, s string) nbtrace.End {
	var port, addr string
	if _, err := fmt.Sscan(s, &port, &addr); err != nil {
		panic(err)
	}
	return tracer.End(port, netip.MustParseAddr(addr))
}
