package tungsten_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// TestPeersOfAnotherCluster lets pods of another cluster, whose interfaces the controller need not have, reach a pod: they come, change
// their address, and go.
func TestPeersOfAnotherCluster(t *testing.T) {
	c := cluster{
		sets:     map[intent.SetID][]int{"web": {0}, "clients": {1}, intent.IsolatedIngress: {0}},
		policies: []intent.Policy{policy("np", intent.Ingress, "web", rule(intent.Allow, "clients", tcp(80, 80)))},
	}
	local := c.state()
	target := tungstentest.NewTarget(t)
	target.Prepare(t, local.Endpoints, nil)
	remote := object.Key{Cluster: "b", Namespace: "red", Name: "p-1"} // a pod of the own cluster has the same name
	at := func(addrs ...string) *backendtest.State {
		s := c.state()
		if len(addrs) == 0 {
			return s
		}
		e := intent.Endpoint{Key: remote}
		for _, a := range addrs {
			e.Addrs = append(e.Addrs, netip.MustParseAddr(a))
		}
		s.Endpoints = append(s.Endpoints, e)
		for i := range s.Sets {
			if s.Sets[i].ID == "clients" {
				s.Sets[i].Keys = append(s.Sets[i].Keys, remote)
			}
		}
		return s
	}
	allowed := func(from string) bool {
		f := intent.Flow{
			Src: intent.Party{Addr: netip.MustParseAddr(from)}, Dst: intent.Party{Key: podKey(0), Addr: local.Endpoints[0].Addrs[0]},
			Protocol: intent.TCP, Port: 80,
		}
		return target.Verdict(t, f).Allowed
	}
	r := newRig(t, target, "a")
	states := []*backendtest.State{at(), at("10.9.0.1"), at("10.9.0.2"), at("10.9.0.2", "10.9.0.3"), at()}
	var snap *intent.Snapshot
	for i, s := range states {
		if snap == nil {
			snap = s.Snapshot()
		} else {
			snap = backendtest.Advance(snap, s)
		}
		_, err := r.try(t, snap)
		require.NoError(t, err)
		for _, a := range []string{"10.9.0.1", "10.9.0.2", "10.9.0.3"} {
			want := false
			for _, e := range s.Endpoints {
				for _, has := range e.Addrs {
					want = want || has.String() == a
				}
			}
			require.Equal(t, want, allowed(a), "state %d, from %s", i, a)
		}
		p, err := r.backend.Plan(t.Context(), snap, 0)
		require.NoError(t, err)
		require.True(t, p.Empty(), "state %d: read-back finds something else: %v", i, p.Summary())
		require.True(t, allowed(local.Endpoints[1].Addrs[0].String()), "the own cluster's pod")
	}
}
