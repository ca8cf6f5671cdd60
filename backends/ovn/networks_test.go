package ovn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// TestNetworksThatServicesMayName writes a Service of the network blue only where the setting allows it.
func TestNetworksThatServicesMayName(t *testing.T) {
	for _, tc := range []struct {
		name, networks string
		want           bool
	}{
		{"none, unless given", "", false},
		{"another one", "red", false},
		{"just that one", "red, blue", true},
		{"all", ovn.AllNetworks, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{Networks: tc.networks})
			r.addRouter(t, "blue")
			r.addSwitch(t, "blue1", "blue")
			lb := web(intent.ExternalAddress, nil)
			lb.Network = "blue"
			p := r.reconcile(t, balanced(lb))
			if tc.want {
				require.Empty(t, p.Skips)
				require.Contains(t, r.server.Dump("Logical_Router"), "load_balancer_group: a_blue")
				return
			}
			require.NotContains(t, r.server.Dump("Load_Balancer", "Load_Balancer_Group", "Logical_Router"), "10.96.0.1")
			require.NotContains(t, r.server.Dump("Logical_Router", "Logical_Switch"), "load_balancer")
			require.Len(t, p.Skips, 1)
			require.Equal(t, string(lb.ID), p.Skips[0].Intent)
			require.Equal(t, `logical network "blue" is not among those that Services may name (setting ovn-service-networks)`,
				p.Skips[0].Reason)
		})
	}
}

// TestServiceThatMovesToAnotherNetwork loses its rows when the new one is not for it.
func TestServiceThatMovesToAnotherNetwork(t *testing.T) {
	r := newRigOn(t, schema.NB2303(), "ovn-kubernetes", ovn.LoadBalancing{})
	r.addSwitch(t, "n1")
	lb := web(intent.ExternalAddress, nil)
	snap := balanced(lb)
	r.reconcile(t, snap)
	require.Contains(t, r.server.Dump("Load_Balancer"), "10.96.0.1:80")
	moved := *lb
	moved.Network = "blue"
	snap = with(snap, &moved)
	p := r.reconcile(t, snap)
	require.Len(t, p.Skips, 1)
	require.NotContains(t, r.server.Dump("Load_Balancer"), "10.96.0.1:80")
	require.Empty(t, r.plan(t, snap).Ops)
	r.reconcile(t, with(snap, lb))
	require.Contains(t, r.server.Dump("Load_Balancer"), "10.96.0.1:80")
}
