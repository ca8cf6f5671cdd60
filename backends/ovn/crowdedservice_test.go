package ovn_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// TestACrowdedServiceUsesSomeOfItsBackends has more backends behind an address than OVN can install. As many as it can are written, those of
// another address are not touched, and the Service is reported; one more or less changes little.
func TestACrowdedServiceUsesSomeOfItsBackends(t *testing.T) {
	const most = 500
	r := newRigOn(t, schema.NB2503(), "ovn-kubernetes", ovn.LoadBalancing{})
	crowded, small := numbered("crowded", 1, 250), numbered("small", 2, 3)
	backendtest.ChangeBackends(&crowded.Frontends[0], func(list []intent.Backend) []intent.Backend {
		for _, b := range list {
			for _, port := range []string{":8081", ":8082", ":8083"} {
				list = append(list, backend(b.Addr.String()+port, "n1"))
			}
		}
		return list
	})
	snap := balanced(crowded, small)
	p := r.plan(t, snap)
	require.Len(t, p.Skips, 1)
	require.Equal(t, string(crowded.ID), p.Skips[0].Intent)
	require.Equal(t, "tcp/10.96.0.1:80: 500 of its 1000 backends are used: with too many behind an address and port, OVN can install none", p.Skips[0].Reason)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	r.reached = snap.Revision()
	again, err := r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.Empty(t, again.Ops)
	written := func() []string {
		return strings.Split(r.pairs(t, "Load_Balancer", "shop/crowded1:tcp:cluster", "vips")["10.96.0.1:80"], ",")
	}
	was := written()
	require.Len(t, was, most)
	require.Len(t, strings.Split(r.pairs(t, "Load_Balancer", "shop/small2:tcp:cluster", "vips")["10.96.0.2:80"], ","), 3)

	next := *crowded
	next.Frontends = slices.Clone(next.Frontends)
	next.Frontends[0].Backends = next.Frontends[0].Backends.Without(netip.MustParseAddrPort(was[0]))
	r.reconcile(t, with(snap, &next))
	now := written()
	require.Len(t, now, most)
	require.Len(t, slices.DeleteFunc(now, func(b string) bool { return slices.Contains(was, b) }), 1, "one takes the place of the one that is gone")
}
