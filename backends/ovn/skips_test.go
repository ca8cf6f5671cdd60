package ovn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// TestSkipsAreKnownWithoutADatabase compares what a plan skips, in databases with and without tiers, with what is said offline.
func TestSkipsAreKnownWithoutADatabase(t *testing.T) {
	for name, nb := range map[string][]byte{"with tiers": schema.NB2503(), "without tiers": schema.NB2303()} {
		t.Run(name, func(t *testing.T) {
			s := alike("", "a", "b")
			s.Policies[0].Rules[0].Ports = intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.ICMP, First: 8, Last: 8}}}
			s.Policies[0].Rules[0].Parts = nil
			s.Policies[1].Rules[0].Action = 77
			s.Policies[1].Rules[0].Parts = nil
			s.LoadBalancers = append(s.LoadBalancers, intent.LoadBalancer{
				ID: "Service/shop/web", Origin: intent.Origin{Kind: "Service", Namespace: "shop", Name: "web"}, Affinity: 86400,
			})
			want := s.Snapshot()
			r := newRigOn(t, nb, "ovn-kubernetes", ovn.LoadBalancing{})
			plan := r.reconcile(t, want)
			require.Len(t, plan.Skips, 3)
			require.ElementsMatch(t, plan.Skips, ovn.NewExplainer(r.client.Schema(), ovn.Naming{Owner: "a"}).Skips(want))
			require.Contains(t, plan.Skips, backends.Skip{
				Intent: "Service/shop/web", Reason: "session affinity of 86400 s is limited to 65535 s, the maximum",
			})
		})
	}
}
