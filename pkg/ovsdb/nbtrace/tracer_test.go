package nbtrace_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// rows is two switches, s1 with ports a and b, s2 with c and d; group g1 = {a, c}, g2 = {b}, void = {}.
func rows(acls ...nbtrace.ACL) nbtrace.Rows {
	r := nbtrace.Rows{
		ACLs: acls,
		PortGroups: []nbtrace.PortGroup{
			{Name: "g1", Ports: []string{"a", "c"}}, {Name: "g2", Ports: []string{"b"}}, {Name: "void"},
		},
		AddressSets: []nbtrace.AddressSet{
			{Name: "empty"},
			{Name: "some", Addresses: []string{"10.0.0.2", "10.1.0.0/16", "10.1.2.0/24"}},
			{Name: "six", Addresses: []string{"fd00::2", "fd01::/16"}},
		},
		Switches: []nbtrace.Switch{{Name: "s1", Ports: []string{"a", "b"}}, {Name: "s2", Ports: []string{"c", "d"}}},
	}
	for _, a := range acls {
		r.PortGroups[0].ACLs = append(r.PortGroups[0].ACLs, a.UUID)
	}
	return r
}

func acl(uuid, spec string) nbtrace.ACL {
	head, match, _ := strings.Cut(spec, " : ")
	var a nbtrace.ACL
	a.UUID, a.Match = uuid, match
	f := strings.Fields(head)
	a.Direction, a.Action = f[0], f[2]
	if _, err := fmt.Sscanf(f[1], "%d.%d", &a.Tier, &a.Priority); err != nil {
		panic(err)
	}
	if d, late := strings.CutSuffix(a.Direction, "+lb"); late {
		a.Direction, a.Options = d, map[string]string{"apply-after-lb": "true"}
	}
	return a
}

// packet reads "inport>outport source destination protocol port".
func packet(tb testing.TB, s string) nbtrace.Packet {
	tb.Helper()
	f := strings.Fields(s)
	require.GreaterOrEqual(tb, len(f), 4, s)
	var p nbtrace.Packet
	p.Inport, p.Outport, _ = strings.Cut(f[0], ">")
	p.Src, p.Dst = netip.MustParseAddr(f[1]), netip.MustParseAddr(f[2])
	var n int
	if len(f) > 4 {
		_, err := fmt.Sscan(f[4], &n)
		require.NoError(tb, err)
	}
	switch f[3] {
	case "tcp":
		p.Protocol, p.DstPort = 6, uint16(n)
	case "udp":
		p.Protocol, p.DstPort = 17, uint16(n)
	case "sctp":
		p.Protocol, p.DstPort = 132, uint16(n)
	case "icmp":
		p.Protocol, p.ICMPType = 1, 8
	case "icmp6":
		p.Protocol, p.ICMPType = 58, uint8(n)
	case "arp":
		p.ARP = true
	}
	return p
}

func TestMatches(t *testing.T) {
	const tcp80 = "b>a 10.0.0.2 10.0.0.1 tcp 80"
	const six = "b>a fd00::2 fd00::1 udp 53"
	const arp = "b>a 10.0.0.2 10.0.0.1 arp"
	for _, tc := range []struct {
		match, packet string
		want          bool
	}{
		{`1`, tcp80, true},
		{`0`, tcp80, false},
		{`ip`, tcp80, true},
		{`ip`, arp, false},
		{`arp`, arp, true},
		{`ip4`, six, false},
		{`ip6 && udp`, six, true},
		{`ip4.src == $some`, tcp80, true},
		{`ip4.src == $empty`, tcp80, false},
		{`ip4.src != $some`, six, false},
		{`ip4.src != $empty`, tcp80, true},
		{`ip4.src != $empty`, arp, true}, // OVN forgets that the field implies IPv4
		{`ip4.src != {$empty, 10.0.0.9}`, arp, false},
		{`ip4.src == $some`, "b>a 10.1.77.1 10.0.0.1 tcp 80", true},
		{`ip4.src == $some`, "b>a 10.2.0.1 10.0.0.1 tcp 80", false},
		{`ip4.src == {$empty, 10.0.0.0/30}`, tcp80, true},
		{`ip4.src == 10.0.0.0/31`, tcp80, false},
		{`ip4.src != {10.0.0.1, 10.0.0.2}`, tcp80, false},
		{`ip4.src > 10.0.0.1`, tcp80, true},
		{`ip6.src == $six`, six, true},
		{`ip6.src == $six`, "b>a fd01:2::1 fd00::1 udp 53", true},
		{`ip6.src == $six`, tcp80, false},
		{`tcp.dst == {80, 443}`, tcp80, true},
		{`tcp.dst == 53`, six, false},
		{`udp.dst != 53`, tcp80, false},
		{`udp.dst != 54`, six, true},
		{`79 < tcp.dst <= 80`, tcp80, true},
		{`80 < tcp.dst <= 90`, tcp80, false},
		{`!(80 < tcp.dst <= 90)`, tcp80, true},
		{`ip.proto == 6`, tcp80, true},
		{`eth.type == 0x800`, tcp80, true},
		{`icmp4`, "b>a 10.0.0.2 10.0.0.1 icmp", true},
		{`icmp6`, "b>a 10.0.0.2 10.0.0.1 icmp", false},
		{`icmp`, "b>a fd00::2 fd00::1 icmp6 128", true},
		{`icmp6.type == 128`, "b>a fd00::2 fd00::1 icmp6 128", true},
		{`nd`, "b>a fd00::2 fd00::1 icmp6 135", true},
		{`nd_ra || mldv2`, "b>a fd00::2 fd00::1 icmp6 135", false},
		{`outport == @g1`, tcp80, true},
		{`outport == {@g2, "a"}`, tcp80, true},
		{`outport == "b"`, tcp80, false},
		{`outport == @g2`, tcp80, false},
		{`inport == @g2`, tcp80, true},
		{`inport == "b"`, ">a 10.0.0.2 10.0.0.1 tcp 80", false},
		{`outport == @void || ip`, tcp80, false}, // the group is not on the switch, which voids the ACL
	} {
		t.Run(tc.match+" on "+tc.packet, func(t *testing.T) {
			tracer, err := nbtrace.New(rows(acl("1", "to-lport 0.1 drop : "+tc.match)))
			require.NoError(t, err)
			require.Equal(t, tc.want, !tracer.Trace(packet(t, tc.packet)).Allowed)
		})
	}
}

func TestStages(t *testing.T) {
	for _, tc := range []struct {
		name, packet string
		acls         []string // numbered from 0
		want         string   // verdict and ACL of egress and ingress
	}{
		{"no ACL allows", "a>b 10.0.0.1 10.0.0.2 tcp 80", nil, "default default"},
		{"no ports, nothing to ask", "> 10.0.0.1 10.0.0.2 tcp 80", nil, "skipped skipped"},
		{"a port without a switch denies", "x>b 10.0.0.1 10.0.0.2 tcp 80", nil, "- default"},
		{"the highest priority wins", "b>a 10.0.0.2 10.0.0.1 tcp 80", []string{
			"to-lport 0.1 drop : outport == @g1 && ip", "to-lport 0.9 allow-related : outport == @g1 && tcp",
		}, "default allow 1"},
		{"a lower tier goes first", "b>a 10.0.0.2 10.0.0.1 tcp 80", []string{
			"to-lport 1.1 drop : outport == @g1 && ip", "to-lport 2.9 allow-related : outport == @g1 && tcp",
		}, "default drop 0"},
		{"pass goes on in the next tier, not in its own", "b>a 10.0.0.2 10.0.0.1 tcp 80", []string{
			"to-lport 1.9 pass : ip", "to-lport 1.1 drop : ip", "to-lport 2.9 allow : outport == @g1 && tcp", "to-lport 2.1 drop : ip",
		}, "default allow 2"},
		{"pass with nothing behind it allows", "b>a 10.0.0.2 10.0.0.1 tcp 80", []string{"to-lport 0.9 pass : ip"}, "default default"},
		{"reject denies", "b>a 10.0.0.2 10.0.0.1 tcp 80", []string{"to-lport 0.9 reject : ip"}, "default reject 0"},
		{"a group's ACL is at work on every switch of its ports", "c>d 10.0.0.1 10.0.0.2 tcp 80", []string{
			"to-lport 0.9 drop : ip",
		}, "default drop 0"},
		{"the two from-lport stages both decide", "a>b 10.0.0.1 10.0.0.2 tcp 80", []string{
			"from-lport 0.1 allow : inport == @g1", "from-lport+lb 0.1 drop : inport == @g1 && ip",
		}, "drop 1 default"},
		{"an earlier allow is reported when nothing follows", "a>b 10.0.0.1 10.0.0.2 tcp 80", []string{
			"from-lport 0.1 allow : inport == @g1",
		}, "allow 0 default"},
		{"an allow after load balancing does not undo a drop before it", "a>b 10.0.0.1 10.0.0.2 tcp 80", []string{
			"from-lport 0.1 drop : inport == @g1", "from-lport+lb 0.9 allow : inport == @g1",
		}, "drop 0 default"},
		{"egress is not looked at for a packet from a router", ">a 10.0.0.1 10.0.0.2 tcp 80", []string{
			"from-lport 0.1 drop : ip", "to-lport 0.1 allow : ip",
		}, "skipped allow 1"},
		{"another switch's port cannot be the input port", "c>a 10.0.0.9 10.0.0.1 tcp 80", []string{
			"to-lport 0.1 drop : inport == @g1",
		}, "default default"},
		{"the same priority twice is ambiguous, and denies", "b>a 10.0.0.2 10.0.0.1 tcp 80", []string{
			"to-lport 0.5 allow : ip", "to-lport 0.5 drop : outport == @g1",
		}, "default drop 1?"},
		{"the same verdict twice is not", "b>a 10.0.0.2 10.0.0.1 tcp 80", []string{
			"to-lport 0.5 drop : ip", "to-lport 0.5 drop : outport == @g1", "to-lport 0.4 allow : ip",
		}, "default drop 0"},
		{"neighbours are found where connections are tracked", "b>a fd00::2 fd00::1 icmp6 135", []string{
			"to-lport 0.5 drop : ip", "to-lport 0.6 allow-related : tcp",
		}, "allow allow"},
		{"and not elsewhere", "b>a fd00::2 fd00::1 icmp6 135", []string{"to-lport 0.5 drop : ip"}, "default drop 0"},
		{"a packet to its own sender stays at home", "a>a 10.0.0.1 10.0.0.1 tcp 80", []string{
			"to-lport 0.5 drop : ip",
		}, "skipped skipped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var acls []nbtrace.ACL
			for i, s := range tc.acls {
				acls = append(acls, acl(fmt.Sprint(i), s))
			}
			tracer, err := nbtrace.New(rows(acls...))
			require.NoError(t, err)
			r := tracer.Trace(packet(t, tc.packet))
			require.Equal(t, tc.want, spell(r.Egress)+" "+spell(r.Ingress))
			require.Equal(t, r.Egress.Verdict.Allows() && r.Ingress.Verdict.Allows(), r.Allowed)
		})
	}
}

func spell(s nbtrace.Step) string {
	text := string(s.Verdict)
	if s.Verdict == nbtrace.NoPort {
		text = "-"
	}
	if s.ACL != nil {
		text += " " + s.ACL.UUID
	}
	if s.Ambiguous {
		text += "?"
	}
	return text
}

func TestACLOnSwitchIsAtWorkThereOnly(t *testing.T) {
	r := rows()
	r.ACLs = []nbtrace.ACL{acl("1", "to-lport 0.1 drop : ip")}
	r.Switches[0].ACLs = []string{"1"}
	tracer, err := nbtrace.New(r)
	require.NoError(t, err)
	require.False(t, tracer.Trace(packet(t, "b>a 10.0.0.2 10.0.0.1 tcp 80")).Allowed)
	require.True(t, tracer.Trace(packet(t, "c>d 10.0.0.2 10.0.0.1 tcp 80")).Allowed)
}

func TestFaultyRowsAreReportedAndLeftOut(t *testing.T) {
	r := rows(
		acl("good", "to-lport 0.1 drop : outport == @g1 && ip"),
		acl("syntax", "to-lport 0.9 allow : outport == @g1 && ip4.src == $a-b"),
		acl("set", "to-lport 0.9 allow : outport == @g1 && ip4.src == $missing"),
		acl("group", "to-lport 0.9 allow : outport == @missing"),
		acl("family", "to-lport 0.9 allow : ip4.src == $six"),
		acl("action", "to-lport 0.9 permit : ip"),
		acl("direction", "sideways 0.9 allow : ip"),
	)
	r.AddressSets = append(r.AddressSets, nbtrace.AddressSet{Name: "bad", Addresses: []string{"nonsense"}})
	tracer, err := nbtrace.New(r)
	require.Error(t, err)
	for _, uuid := range []string{"syntax", "set", "group", "family", "action", "direction"} {
		require.ErrorContains(t, err, "acl "+uuid+":")
	}
	require.NotContains(t, err.Error(), "good")
	require.ErrorContains(t, err, "address set bad:")
	var aclErr *nbtrace.ACLError
	require.ErrorAs(t, err, &aclErr)
	var setErr *nbtrace.SetError
	require.ErrorAs(t, err, &setErr)
	got := tracer.Trace(packet(t, "b>a 10.0.0.2 10.0.0.1 tcp 80"))
	require.Equal(t, "drop good", spell(got.Ingress))
}

func TestRepliesPass(t *testing.T) {
	deny := "from-lport+lb 1.1000 drop : inport == @g1 && ip4"
	for _, tc := range []struct {
		name   string
		acls   []string
		packet string
		want   bool
	}{
		{"no ACL", nil, "b>a 10.0.0.2 10.0.0.1 tcp 80", true},
		{"a switch without tracking drops what it would drop of a new connection", []string{deny}, "b>a 10.0.0.2 10.0.0.1 tcp 80", false},
		{"in the other direction nothing is denied", []string{"to-lport 1.1000 drop : outport == @g1 && tcp.dst == 81"}, "b>a 10.0.0.2 10.0.0.1 tcp 80", true},
		{"the port of the sender", []string{"to-lport 1.1000 drop : outport == @g1 && tcp.dst == 40000"}, "a>b 10.0.0.1 10.0.0.2 tcp 80", false},
		{"a switch with tracking", []string{deny, "to-lport 2.1 allow-related : outport == @g1 && arp"}, "b>a 10.0.0.2 10.0.0.1 tcp 80", true},
		{"tracking on both switches", []string{deny, "to-lport 2.1 allow-related : outport == @g1 && arp"}, "d>a 10.1.0.2 10.0.0.1 udp 80", true},
		{"echo", []string{"from-lport 1.1000 drop : inport == @g1 && icmp4.type == 0"}, "b>a 10.0.0.2 10.0.0.1 icmp", false},
		{"what does not arrive has no replies", []string{"to-lport 1.1000 drop : outport == @g1 && ip"}, "b>a 10.0.0.2 10.0.0.1 tcp 80", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var acls []nbtrace.ACL
			for i, spec := range tc.acls {
				acls = append(acls, acl(fmt.Sprint("u", i), spec))
			}
			tracer, err := nbtrace.New(rows(acls...))
			require.NoError(t, err)
			p := packet(t, tc.packet)
			p.SrcPort = 40000
			require.Equal(t, tc.want, tracer.RepliesPass(p))
		})
	}
}
