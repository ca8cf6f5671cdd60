//go:build e2e

package ovnlab_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestPackets checks real packets against ACLs written by hand.
func TestPackets(t *testing.T) {
	lab := ovnlab.Start(t)
	lab.Install(layout(t))
	chassis := lab.StartChassis()
	outside := addrs("192.0.2.7", "2001:db8::7")
	hosts := chassis.Bind(outside, "a", "b", "c", ovnlab.World)
	a, b, c, world := hosts[0], hosts[1], hosts[2], hosts[3]
	for _, h := range hosts {
		for _, protocol := range []string{"tcp", "udp"} {
			h.Serve(protocol, 80)
			h.Serve(protocol, 81)
		}
	}
	before := chassis.Flows()
	require.NotZero(t, before)
	lab.NBCtl("pg-add", "b", "b", "--", "pg-add", "c", "c")
	lab.NBCtl("--type=port-group", "acl-add", "b", "to-lport", "1001", "outport == @b && tcp.dst == 80", "allow-related", "--",
		"--type=port-group", "acl-add", "b", "to-lport", "1001", "outport == @b && udp.dst == 81", "allow-related", "--",
		"--type=port-group", "acl-add", "b", "to-lport", "1000", "outport == @b && ip", "drop", "--",
		"--type=port-group", "acl-add", "c", "to-lport", "1000", "outport == @c && ip", "reject", "--",
		// A switch without any allow-related ACL does not track connections, and would eat the replies to c.
		"--type=port-group", "acl-add", "c", "to-lport", "1001", "outport == @c && tcp.dst == 7", "allow-related")
	chassis.SyncHV()
	require.Greater(t, chassis.Flows(), before)

	tests := []struct {
		name     string
		from, to *ovnlab.Host
		protocol string
		port     uint16
		want     ovnlab.Outcome
	}{
		{"same switch, allowed", a, b, "tcp", 80, ovnlab.Answered},
		{"same switch, dropped", a, b, "tcp", 81, ovnlab.Timeout},
		{"same switch, UDP allowed", a, b, "udp", 81, ovnlab.Answered},
		{"same switch, UDP dropped", a, b, "udp", 80, ovnlab.Timeout},
		{"routed, allowed", c, b, "tcp", 80, ovnlab.Answered},
		{"routed, dropped", c, b, "tcp", 81, ovnlab.Timeout},
		{"routed, rejected", a, c, "tcp", 80, ovnlab.Refused},
		{"replies of an isolated port", b, a, "tcp", 81, ovnlab.Answered},
		{"no listener", b, a, "tcp", 9, ovnlab.Refused},
		{"from the world", world, b, "tcp", 80, ovnlab.Answered},
		{"from the world, dropped", world, b, "tcp", 81, ovnlab.Timeout},
		{"to the world", b, world, "udp", 80, ovnlab.Answered},
	}
	for _, tc := range tests {
		for i, family := range []string{"IPv4", "IPv6"} {
			t.Run(tc.name+" over "+family, func(t *testing.T) {
				src, dst := tc.from.Addr(i == 1), tc.to.Addr(i == 1)
				if tc.from == world {
					src = outside[i]
				}
				got, err := tc.from.Connect(t.Context(), tc.protocol, src, netip.AddrPortFrom(dst, tc.port), ovnlab.Within(tc.want))
				require.NoError(t, err)
				require.Equal(t, tc.want, got)
			})
		}
	}
}

// TestLoopSeesAWindow proves that a client in a loop notices a drop ACL that is gone for a moment, and one that is there
// for a moment: the suites rely on it.
func TestLoopSeesAWindow(t *testing.T) {
	lab := ovnlab.Start(t)
	lab.Install(layout(t))
	chassis := lab.StartChassis()
	hosts := chassis.Bind(nil, "a", "b")
	a, b := hosts[0], hosts[1]
	b.Serve("tcp", 80)
	denied := b.Serve("udp", 81)
	lab.NBCtl("pg-add", "b", "b")
	drop := []string{"--type=port-group", "acl-add", "b", "to-lport", "1000", "outport == @b && udp.dst == 81", "drop"}
	lab.NBCtl(drop...)
	chassis.SyncHV()
	to := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(b.Addr(false), port) }
	allowed := a.Steady("tcp", a.Addr(false), to(80), 5*time.Millisecond)
	refused := a.Loop("udp", a.Addr(false), to(81), 30*time.Millisecond, 5*time.Millisecond)
	wait := func(n int) {
		n1, n2 := allowed.Begun()+n, refused.Begun()+n
		await.True(t, func() bool { return allowed.Ended() >= n1 && refused.Ended() >= n2 }, "clients keep trying")
	}
	wait(20)
	require.Empty(t, ovnlab.Except(allowed.Attempts(), ovnlab.Answered))
	require.Empty(t, ovnlab.Except(refused.Attempts(), ovnlab.Timeout))
	require.Zero(t, denied.Received())

	// A busy machine may not run the client during one short window.
	await.True(t, func() bool {
		lab.NBCtl("acl-del", "b")
		chassis.SyncHV()
		lab.NBCtl(drop...)
		chassis.SyncHV()
		wait(5)
		return denied.Received() > 0
	}, "the client that was refused meets the window")

	await.True(t, func() bool {
		lab.NBCtl("--type=port-group", "acl-add", "b", "to-lport", "1000", "outport == @b && tcp.dst == 80", "drop")
		chassis.SyncHV()
		n := refused.Begun() + 5
		await.True(t, func() bool { return refused.Ended() >= n }, "clients keep trying")
		lab.NBCtl("acl-del", "b")
		chassis.SyncHV()
		wait(5)
		return len(ovnlab.Except(allowed.Attempts(), ovnlab.Answered)) > 0
	}, "the client that was allowed meets the drop")
}

// TestTwoChassis sends packets between hypervisors, and through a load balancer that is another on each of them.
func TestTwoChassis(t *testing.T) {
	lab := ovnlab.Start(t)
	lab.Install(layout(t))
	first, second := lab.StartNode("n1"), lab.StartNode("n2")
	here := first.Bind(nil, "a", "b")
	there := second.Bind(nil, "c")
	a, b, c := here[0], here[1], there[0]
	for _, h := range []*ovnlab.Host{a, b, c} {
		h.Greet("tcp", 80)
		h.Greet("udp", 80)
	}
	lab.NBCtl("create", "Chassis_Template_Var", "chassis=n1", `variables={pool="10.0.1.2:80"}`)
	lab.NBCtl("create", "Chassis_Template_Var", "chassis=n2", `variables={pool="10.0.1.1:80"}`)
	lab.NBCtl("--id=@lb", "create", "Load_Balancer", "name=own", "protocol=tcp", `vips={"10.96.0.1:80"="^pool"}`, "options:template=true", "options:address-family=ipv4",
		"--", "add", "Logical_Switch", "ls0", "load_balancer", "@lb", "--", "add", "Logical_Switch", "ls1", "load_balancer", "@lb")
	first.SyncHV()
	vip := netip.MustParseAddr("10.96.0.1")
	tests := []struct {
		name     string
		from     *ovnlab.Host
		to       netip.Addr
		protocol string
		want     string
	}{
		{"TCP through the tunnel", a, c.Addr(false), "tcp", "c"},
		{"UDP through the tunnel", c, a.Addr(false), "udp", "a"},
		{"IPv6 through the tunnel", a, c.Addr(true), "tcp", "c"},
		{"one's own template", a, vip, "tcp", "b"},
		{"the other's template, through the tunnel", c, vip, "tcp", "a"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			src := tc.from.Addr(tc.to.Is6())
			got, outcome, err := tc.from.Ask(t.Context(), tc.protocol, src, netip.AddrPortFrom(tc.to, 80), 0)
			require.NoError(t, err)
			require.Equal(t, ovnlab.Answered, outcome)
			require.Equal(t, ovnlab.Greeting{By: tc.want, From: src}, got)
		})
	}
}
