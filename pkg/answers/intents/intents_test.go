package intents_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

func TestIntentsLeaveNothingOut(t *testing.T) {
	b := intent.NewSnapshot().Next()
	b.CreateSet(&intent.Set{
		ID: "peers", Title: "all", Prefixes: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Within: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/64")},
	})
	b.PutPolicy(&intent.Policy{
		ID: "p", Origin: intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: "db"}, Subject: "peers",
		Log: intent.Logging{Allow: intent.SeverityInfo, Deny: intent.SeverityAlert, Rate: 7},
	})
	b.PutPolicy(&intent.Policy{ID: "q", Subject: "peers"})
	b.PutLoadBalancer(&intent.LoadBalancer{
		ID: "lb", Origin: intent.Origin{Kind: "Service", Namespace: "shop", Name: "db"}, Network: "blue", Affinity: 60,
		RejectEmpty: true, HealthCheckPort: 30000,
		Frontends: []intent.Frontend{{
			Addr: netip.MustParseAddr("172.18.0.1"), Protocol: intent.TCP, Port: 30080, Kind: intent.NodePort,
			Path: "spec.ports[0]", Node: "n1", Locality: intent.NodeOfFrontend,
			Denied: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
			Backends: intent.NewBackends(intent.Backend{
				Addr: netip.MustParseAddr("10.0.0.1"), Port: 80, Key: object.Key{Namespace: "shop", Name: "db-0"}, Node: "n1",
				ForNodes: []string{"n1"}, ForZones: []string{"z"}, Draining: true,
			}),
		}},
	})
	got, err := json.Marshal(intents.OfSnapshot(b.Commit()))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"revision": 1,
		"sets": [{
			"id": "peers", "title": "all", "prefixes": ["192.0.2.0/24"], "within": ["10.0.0.0/24", "fd00::/64"]
		}],
		"policies": [{
			"id": "p", "origin": "NetworkPolicy/shop/db", "direction": "ingress", "subject": "peers", "isolates": false,
			"log": {"allow": "info", "deny": "alert", "rate": 7}
		}, {
			"id": "q", "origin": "/", "direction": "ingress", "subject": "peers", "isolates": false
		}],
		"loadBalancers": [{
			"id": "lb", "origin": "Service/shop/db", "network": "blue", "affinitySeconds": 60, "rejectEmpty": true,
			"healthCheckPort": 30000,
			"frontends": [{
				"address": "tcp/172.18.0.1:30080", "kind": "nodeport", "path": "spec.ports[0]", "node": "n1",
				"locality": "node of frontend", "denied": ["192.0.2.0/24"],
				"backends": [{
					"address": "10.0.0.1:80", "pod": "shop/db-0", "node": "n1", "forNodes": ["n1"], "forZones": ["z"],
					"draining": true
				}]
			}]
		}]
	}`, string(got))
}

func TestIntentsOfClusterWidePolicies(t *testing.T) {
	twenty, last := uint16(20), uint16(1001)
	found := map[string]intents.Policy{}
	for _, p := range intents.OfSnapshot(answerstest.Guarded(t).Snapshot).Policies {
		found[p.Origin+" "+p.Direction] = p
	}
	lockdown := found["ClusterNetworkPolicy/lockdown egress"]
	require.Equal(t, "admin", lockdown.Tier)
	require.Equal(t, &twenty, lockdown.Priority)
	require.Equal(t, "no-ssh", lockdown.Rules[0].Name)
	require.Equal(t, "pass", lockdown.Rules[1].Action)
	require.Equal(t, "baseline", found["BaselineAdminNetworkPolicy/default ingress"].Tier)
	require.Equal(t, &last, found["BaselineAdminNetworkPolicy/default ingress"].Priority)
	require.Empty(t, found["NetworkPolicy/shop/db ingress"].Tier)
	require.Nil(t, found["NetworkPolicy/shop/db ingress"].Priority)
}
