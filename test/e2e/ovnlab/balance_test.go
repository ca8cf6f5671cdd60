//go:build e2e

package ovnlab_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestBalance compares the tracer with load balancers written by hand.
func TestBalance(t *testing.T) {
	lab := ovnlab.Start(t)
	lab.Install(layout(t))
	for _, protocol := range []string{"tcp", "sctp"} {
		lab.NBCtl("--id=@lb", "create", "Load_Balancer", "name="+protocol, "protocol="+protocol, "options:reject=true",
			`vips={"10.96.0.1:80"="10.0.1.2:8080,10.0.2.1:8080","[fd00:96::1]:80"="[fd00:1::2]:8080","10.96.0.2:80"="","10.96.0.3:80"="10.0.1.2:81"}`,
			"--", "add", "Logical_Switch", "ls0", "load_balancer", "@lb", "--", "add", "Logical_Switch", "outside", "load_balancer", "@lb")
	}
	lab.NBCtl("pg-add", "b", "b", "--", "--type=port-group", "acl-add", "b", "to-lport", "1000", "outport == @b && ip", "drop",
		"--", "--type=port-group", "acl-add", "b", "to-lport", "1001", "outport == @b && tcp.dst == 8080", "allow-related")
	lab.Sync()
	tracer := lab.Tracer()
	pool := func(texts ...string) []netip.AddrPort {
		var all []netip.AddrPort
		for _, text := range texts {
			all = append(all, netip.MustParseAddrPort(text))
		}
		return all
	}
	tests := []struct {
		name      string
		src, dst  string
		protocol  string
		port      uint16
		want      ovnlab.Balanced
		delivered []string
	}{
		{"one of two", "10.0.1.1", "10.96.0.1", "tcp", 80, ovnlab.Balanced{Backends: pool("10.0.1.2:8080", "10.0.2.1:8080")}, []string{"b", "c"}},
		{"from the world", "192.0.2.7", "10.96.0.1", "tcp", 80, ovnlab.Balanced{Backends: pool("10.0.1.2:8080", "10.0.2.1:8080")}, []string{"b", "c"}},
		{"over IPv6", "fd00:1::1", "fd00:96::1", "tcp", 80, ovnlab.Balanced{Backends: pool("[fd00:1::2]:8080")}, []string{"b"}},
		{"denied with SCTP", "fd00:1::1", "fd00:96::1", "sctp", 80, ovnlab.Balanced{Backends: pool("[fd00:1::2]:8080")}, []string{""}},
		{"denied", "10.0.1.1", "10.96.0.3", "tcp", 80, ovnlab.Balanced{Backends: pool("10.0.1.2:81")}, []string{""}},
		{"no backend", "10.0.1.1", "10.96.0.2", "tcp", 80, ovnlab.Balanced{Refused: true}, []string{""}},
		{"no backend with SCTP", "10.0.1.1", "10.96.0.2", "sctp", 80, ovnlab.Balanced{Refused: true}, []string{""}},
		{"another protocol", "10.0.1.1", "10.96.0.1", "udp", 80, ovnlab.Balanced{}, []string{ovnlab.World}},
		{"a switch without", "10.0.2.1", "10.96.0.1", "tcp", 80, ovnlab.Balanced{}, []string{ovnlab.World}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := tracer.Balance(ovnlab.Flow{Src: netip.MustParseAddr(tc.src), Dst: netip.MustParseAddr(tc.dst), Protocol: tc.protocol, Port: tc.port})
			require.Contains(t, tc.delivered, got.Delivered)
			got.Delivered = ""
			require.Equal(t, tc.want, got)
		})
	}
}
