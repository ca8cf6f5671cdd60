package daemon

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

func TestADumpLeavesNothingOut(t *testing.T) {
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
	got, err := json.Marshal(dumpSnapshot(b.Commit()))
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
		}]
	}`, string(got))
}
