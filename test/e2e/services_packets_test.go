//go:build e2e

package e2e_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestServicePackets sends real packets to the rows that netloom apply writes for Services, slices and policies.
func TestServicePackets(t *testing.T) {
	m := newMall(t)
	mustApply(t, m.dir, m.lab.NBUnix())
	m.chassis.SyncHV()
	m.visits(t, []visit{
		{name: "one of three", from: "client", to: vip("1"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-2", "web-3"}},
		{name: "from another switch", from: "far", to: vip("1"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-2", "web-3"}},
		{name: "from outside", from: ovnlab.World, to: vip("1"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-2", "web-3"}},
		{name: "a port without a frontend", from: "client", to: vip("1"), port: 81, want: ovnlab.Timeout},
		{name: "no backend is refused at once", from: "client", to: vip("3"), port: 80, want: ovnlab.Refused},
		{name: "no backend is refused at once to a pod without egress", from: "locked", to: vip("3"), port: 80, want: ovnlab.Refused},
		{name: "a backend that no client may reach", from: "client", to: vip("4"), port: 80, want: ovnlab.Timeout},
		{name: "a client without egress", from: "locked", to: vip("1"), port: 80, want: ovnlab.Timeout},
		{name: "itself", from: "web-1", to: vip("5"), port: 80, want: ovnlab.Answered, by: []string{"web-1"}, hairpin: true},
		{name: "itself, though isolated in both directions", from: "locked", to: vip("4"), port: 80, want: ovnlab.Answered, by: []string{"locked"}, hairpin: true},
		{name: "from a pod in the source ranges", from: "client", to: [2]string{"198.51.100.9", "2001:db8:9::9"}, port: 80, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "from outside in the source ranges", from: ovnlab.World, to: [2]string{"198.51.100.9", "2001:db8:9::9"}, port: 80, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "from a pod that is not in the source ranges", from: "far", to: [2]string{"198.51.100.9", "2001:db8:9::9"}, port: 80, want: ovnlab.Timeout},
		{name: "source ranges are for load balancer addresses only", from: "far", to: vip("9"), port: 80, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "a node's port", from: "far", to: [2]string{"172.18.0.1", "fc00:18::1"}, port: 30080, want: ovnlab.Answered, by: []string{"web-2"}},
		{name: "another node's port", from: "far", to: [2]string{"172.18.0.2", "fc00:18::2"}, port: 30080, want: ovnlab.Answered, by: []string{"web-2"}},
		{name: "an external address", from: "client", to: [2]string{"198.51.100.11", "2001:db8:9::11"}, port: 80, want: ovnlab.Answered, by: []string{"web-2"}},
		{name: "the backend of the client's node", from: "client", to: vip("6"), port: 80, want: ovnlab.Answered, by: []string{"web-1"}},
		{name: "the backend of the other client's node", from: "far", to: vip("6"), port: 80, want: ovnlab.Answered, by: []string{"web-3"}},
		{name: "no backend on the client's node is silence", from: "client", to: vip("7"), port: 80, want: ovnlab.Timeout},
		{name: "the only backend is on the client's node", from: "far", to: vip("7"), port: 80, want: ovnlab.Answered, by: []string{"web-3"}},
		{name: "backends are no further away than before", from: "client", to: m.both("web-3"), port: 8080, want: ovnlab.Answered, by: []string{"web-3"}},
	})
	t.Run("names of the cluster and nothing else", func(t *testing.T) { m.onlyNames(t) })
	t.Run("a client stays with its backend", func(t *testing.T) { m.sticks(t, vip("2"), "web-1", "web-2", "web-3") })
	t.Run("a client stays with its backend of the node", func(t *testing.T) { m.sticks(t, vip("8"), "web-1", "web-2") })
}

// onlyNames is the case that policies of a namespace deny all egress and allow DNS.
func (m *mall) onlyNames(t *testing.T) {
	t.Helper()
	m.visits(t, []visit{
		{name: "DNS by its service", from: "app", to: vip("10"), port: 53, want: ovnlab.Answered, by: []string{"dns"}},
		{name: "DNS by its pod", from: "app", to: m.both("dns"), port: 53, want: ovnlab.Answered, by: []string{"dns"}},
		{name: "another port of DNS", from: "app", to: m.both("dns"), port: 8080, want: ovnlab.Timeout},
		{name: "a service", from: "app", to: vip("1"), port: 80, want: ovnlab.Timeout},
		{name: "a service with one backend", from: "app", to: vip("5"), port: 80, want: ovnlab.Timeout},
		{name: "a service that is on its node", from: "app", to: vip("6"), port: 80, want: ovnlab.Timeout},
		{name: "an external address", from: "app", to: [2]string{"198.51.100.11", "2001:db8:9::11"}, port: 80, want: ovnlab.Timeout},
		{name: "a node's port", from: "app", to: [2]string{"172.18.0.1", "fc00:18::1"}, port: 30080, want: ovnlab.Timeout},
		{name: "a pod on the same switch", from: "app", to: m.both("web-1"), port: 8080, want: ovnlab.Timeout},
		{name: "a pod on another switch", from: "app", to: m.both("far"), port: 53, want: ovnlab.Timeout},
		{name: "the world", from: "app", to: [2]string{outsiders[0].String(), outsiders[1].String()}, port: 53, want: ovnlab.Timeout},
		{name: "another pod may", from: "client", protocol: "tcp", to: [2]string{outsiders[0].String(), outsiders[1].String()}, port: 53, want: ovnlab.Answered, by: []string{ovnlab.World}},
	})
}

// sticks asks many times and fails when any answer is from another backend than the first, which is one of pool.
func (m *mall) sticks(t *testing.T, to [2]string, pool ...string) {
	t.Helper()
	host := m.hosts["client"]
	for i, text := range to {
		for _, protocol := range []string{"tcp", "udp"} {
			at := netip.AddrPortFrom(netip.MustParseAddr(text), 80)
			src := host.Addr(i == 1)
			// OVN drops what it learns from: the first connection of a client to a service with affinity.
			await.True(t, func() bool {
				_, outcome, err := host.Ask(t.Context(), protocol, src, at, 200*time.Millisecond)
				require.NoError(t, err)
				return outcome == ovnlab.Answered
			}, "a first answer")
			first := ""
			for range 20 {
				got, outcome, err := host.Ask(t.Context(), protocol, src, at, 0)
				require.NoError(t, err)
				require.Equal(t, ovnlab.Answered, outcome, "%s %s", protocol, at)
				by := podOf(got.By)
				if first == "" {
					first = by
				}
				require.Equal(t, first, by, "%s %s", protocol, at)
			}
			require.Contains(t, pool, first)
		}
	}
}
