//go:build e2e

package e2e_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// webPolicy lets pods with app=client reach web on the steady port and one other.
func webPolicy(port int) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: e2e, name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: client}}}], ports: [{port: 7000}, {port: 7000, protocol: UDP}, {port: %d}]}]
`, port)
}

// TestPackets sends real packets under a daemon that follows the manifests.
func TestPackets(t *testing.T) {
	s := newStage(t)
	put(t, s.dir, "web-policy.yaml", webPolicy(old))
	daemon := start(t, s.dir, s.lab.NBTCP())
	s.settle(t, daemon)

	tests := []struct {
		name     string
		from, to string
		protocol string
		port     uint16
		want     ovnlab.Outcome
	}{
		{"ingress allowed", "client", "web", "tcp", old, ovnlab.Answered},
		{"ingress allowed over UDP", "client", "web", "udp", steady, ovnlab.Answered},
		{"ingress denied by port", "client", "web", "tcp", closed, ovnlab.Timeout},
		{"ingress denied by protocol", "client", "web", "udp", old, ovnlab.Timeout},
		{"ingress denied by peer", "far", "web", "tcp", old, ovnlab.Timeout},
		{"replies to an isolated pod", "web", "client", "tcp", closed, ovnlab.Answered},
		{"replies to an isolated pod over UDP", "web", "client", "udp", closed, ovnlab.Answered},
		{"replies to an isolated pod that is alone on its switch", "far", "client", "tcp", closed, ovnlab.Answered},
		{"replies to an isolated pod that is alone on its switch over UDP", "far", "client", "udp", closed, ovnlab.Answered},
		{"ingress denied without any rule", "client", "far", "tcp", old, ovnlab.Timeout},
		{"egress allowed", "out", "client", "tcp", old, ovnlab.Answered},
		{"egress allowed over UDP", "out", "client", "udp", steady, ovnlab.Answered},
		{"egress denied by port", "out", "client", "tcp", fresh, ovnlab.Timeout},
		{"egress allowed by one end, ingress denied by the other", "out", "web", "tcp", old, ovnlab.Timeout},
		{"replies of an isolated pod", "client", "out", "tcp", closed, ovnlab.Answered},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { s.expect(t, tc.want, tc.from, tc.to, tc.protocol, tc.port) })
	}
	t.Run("nodes and outsiders", func(t *testing.T) {
		world, web, out := s.hosts[ovnlab.World], s.hosts["web"], s.hosts["out"]
		own := addrsOf("172.18.0.1", "fc00:18::1")
		other := addrsOf("172.18.0.2", "fc00:18::2")
		for i := range own {
			v6 := i == 1
			to := netip.AddrPortFrom(web.Addr(v6), closed)
			s.expectAddrs(t, ovnlab.Answered, world, own[i], to, "tcp")
			s.expectAddrs(t, ovnlab.Answered, world, own[i], to, "udp")
			s.expectAddrs(t, ovnlab.Timeout, world, other[i], to, "tcp")
			s.expectAddrs(t, ovnlab.Timeout, world, outsiders[i], to, "tcp")
			s.expectAddrs(t, ovnlab.Answered, out, out.Addr(v6), netip.AddrPortFrom(outsiders[i], steady), "tcp")
			s.expectAddrs(t, ovnlab.Timeout, out, out.Addr(v6), netip.AddrPortFrom(outsiders[i], old), "tcp")
			s.expectAddrs(t, ovnlab.Timeout, out, out.Addr(v6), netip.AddrPortFrom(own[i], steady), "tcp")
		}
	})
}

func addrsOf(s ...string) []netip.Addr {
	out := make([]netip.Addr, len(s))
	for i := range s {
		out[i] = netip.MustParseAddr(s[i])
	}
	return out
}
