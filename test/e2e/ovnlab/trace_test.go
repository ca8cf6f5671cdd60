//go:build e2e

package ovnlab_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

func addrs(s ...string) []netip.Addr {
	out := make([]netip.Addr, len(s))
	for i := range s {
		out[i] = netip.MustParseAddr(s[i])
	}
	return out
}

// layout is a and b on one switch, c on another, all dual stack.
func layout(tb testing.TB) *ovnlab.Network {
	tb.Helper()
	n, err := ovnlab.NewNetwork([]ovnlab.Port{
		{Name: "a", Addrs: addrs("10.0.1.1", "fd00:1::1")},
		{Name: "b", Addrs: addrs("10.0.1.2", "fd00:1::2")},
		{Name: "c", Addrs: addrs("10.0.2.1", "fd00:2::1")},
	}, addrs("10.0.1.77"))
	require.NoError(tb, err)
	return n
}

// TestTrace compares the tracer with ACLs written by hand, so that its verdicts can be trusted.
func TestTrace(t *testing.T) {
	lab := ovnlab.Start(t)
	lab.Install(layout(t))
	lab.NBCtl("pg-add", "b", "b", "--", "pg-add", "c", "c", "--", "pg-add", "a", "a")
	acl := func(pg, direction, priority, match, action string, options ...string) {
		lab.NBCtl(append(append([]string{"--type=port-group"}, options...), "acl-add", pg, direction, priority, match, action)...)
	}
	acl("b", "to-lport", "1001", "outport == @b && ip4.src == 10.0.1.1 && tcp.dst == 80", "allow-related")
	acl("b", "to-lport", "1001", "outport == @b && ip6.src == fd00:1::1 && sctp.dst == 3868", "allow-related")
	acl("b", "to-lport", "1000", "outport == @b && ip", "drop")
	acl("c", "to-lport", "1001", "outport == @c && (udp.dst == 53 || icmp)", "allow-related")
	acl("c", "to-lport", "1000", "outport == @c && ip", "reject")
	acl("a", "from-lport", "1000", "inport == @a && ip4.dst == 198.51.100.9", "drop", "--apply-after-lb")
	lab.Sync()
	tracer := lab.Tracer()

	tests := []struct {
		name     string
		src, dst string
		protocol string
		port     uint16
		want     ovnlab.Verdict
	}{
		{"same switch, allowed", "10.0.1.1", "10.0.1.2", "tcp", 80, ovnlab.Allow},
		{"same switch, other port", "10.0.1.1", "10.0.1.2", "tcp", 81, ovnlab.Drop},
		{"same switch, other protocol", "10.0.1.1", "10.0.1.2", "udp", 80, ovnlab.Drop},
		{"same switch, family without a rule", "fd00:1::1", "fd00:1::2", "tcp", 80, ovnlab.Drop},
		{"same switch, SCTP over IPv6", "fd00:1::1", "fd00:1::2", "sctp", 3868, ovnlab.Allow},
		{"routed, dropped", "10.0.2.1", "10.0.1.2", "tcp", 80, ovnlab.Drop},
		{"routed, no port isolated", "10.0.2.1", "10.0.1.1", "tcp", 80, ovnlab.Allow},
		{"routed over IPv6, no port isolated", "fd00:2::1", "fd00:1::1", "sctp", 1, ovnlab.Allow},
		{"routed, UDP allowed", "10.0.1.1", "10.0.2.1", "udp", 53, ovnlab.Allow},
		{"routed, UDP over IPv6 allowed", "fd00:1::1", "fd00:2::1", "udp", 53, ovnlab.Allow},
		{"routed, ICMP allowed", "10.0.1.1", "10.0.2.1", "icmp", 0, ovnlab.Allow},
		{"routed, ICMPv6 allowed", "fd00:1::1", "fd00:2::1", "icmp", 0, ovnlab.Allow},
		{"routed, TCP rejected", "10.0.1.1", "10.0.2.1", "tcp", 53, ovnlab.Reject},
		{"routed, UDP rejected", "10.0.1.1", "10.0.2.1", "udp", 54, ovnlab.Reject},
		{"routed, SCTP over IPv6 rejected", "fd00:1::1", "fd00:2::1", "sctp", 53, ovnlab.Reject},
		{"from the world", "192.0.2.7", "10.0.1.1", "tcp", 22, ovnlab.Allow},
		{"from the world over IPv6", "2001:db8::7", "fd00:1::1", "tcp", 22, ovnlab.Allow},
		{"from the world, dropped", "192.0.2.7", "10.0.1.2", "tcp", 80, ovnlab.Drop},
		{"to the world", "10.0.1.1", "192.0.2.7", "tcp", 443, ovnlab.Allow},
		{"to the world over IPv6", "fd00:1::1", "2001:db8::7", "udp", 443, ovnlab.Allow},
		{"to the world, egress drop", "10.0.1.1", "198.51.100.9", "tcp", 443, ovnlab.Drop},
		{"to the world, only the other is dropped", "10.0.2.1", "198.51.100.9", "tcp", 443, ovnlab.Allow},
		{"from a node whose address is on the pods' prefix", "10.0.1.77", "10.0.1.1", "tcp", 80, ovnlab.Allow},
		{"to a node whose address is on the pods' prefix", "10.0.1.1", "10.0.1.77", "tcp", 80, ovnlab.Allow},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := ovnlab.Flow{Src: netip.MustParseAddr(tc.src), Dst: netip.MustParseAddr(tc.dst), Protocol: tc.protocol, Port: tc.port}
			require.Equal(t, tc.want, lab.Trace(f), "one-shot: %s", f)
			require.Equal(t, tc.want, tracer.Verdict(f), "daemon: %s", f)
		})
	}
	t.Run("a match that cannot be read is noticed", func(t *testing.T) {
		require.Empty(t, lab.Complaints())
		lab.NBCtl("--type=port-group", "acl-add", "b", "to-lport", "1002", "outport == @b && ip4.src == $no-such", "drop")
		lab.Sync()
		lab.Tracer()
		require.NotEmpty(t, lab.Complaints())
	})
	t.Run("the queue of states never runs out", func(t *testing.T) {
		f := ovnlab.Flow{Src: netip.MustParseAddr("fd00:1::1"), Dst: netip.MustParseAddr("fd00:2::1"), Protocol: "udp", Port: 53}
		for range 10_000 {
			require.Equal(t, ovnlab.Allow, tracer.Verdict(f))
		}
	})
}
