package impact_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/intent"
)

// connected is an established connection.
func connected(src, dst string, port uint16) intent.Flow {
	return intent.Flow{
		Src: intent.Party{Addr: netip.MustParseAddr(src)}, Dst: intent.Party{Addr: netip.MustParseAddr(dst)}, Protocol: intent.TCP, Port: port,
	}
}

// databaseOn is pods and a policy that opens a port of the database, and port 80.
const databaseOn = pods + `---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec: {podSelector: {matchLabels: {app: db}}, ingress: [{ports: [{port: %d}, {port: 80}]}]}
`

// TestEstablishedConnectionsAreCutOrKept judges connections by both states: those of one flow together, and none between strangers.
func TestEstablishedConnectionsAreCutOrKept(t *testing.T) {
	flows := []intent.Flow{
		connected("10.0.0.1", "10.0.0.2", 5432), connected("10.0.0.1", "10.0.0.2", 5432), connected("10.0.0.1", "10.0.0.2", 80),
		connected("203.0.113.1", "10.0.0.2", 5432), connected("10.0.0.1", "10.0.0.2", 22), connected("203.0.113.1", "203.0.113.2", 5432),
	}
	before := answerstest.StateOf(t, answerstest.ObjectsOf(t, fmt.Sprintf(databaseOn, 5432)))
	after := answerstest.StateOf(t, answerstest.ObjectsOf(t, fmt.Sprintf(databaseOn, 5433)))
	require.Equal(t, impact.Live{
		Connections: 5, Cut: 3, Kept: 1, Denied: 1, Flows: []impact.LiveFlow{
			{From: "shop/web", To: "shop/db", Port: "tcp/5432", Cut: true, Connections: 2},
			{From: "203.0.113.1", To: "shop/db", Port: "tcp/5432", Cut: true, Connections: 1},
			{From: "shop/web", To: "shop/db", Port: "tcp/80", Connections: 1},
		},
	}, impact.LiveOf(before, after, flows))
	require.Equal(t, 4, impact.LiveOf(before, before, flows).Kept)

	var many []intent.Flow
	for i := range 5000 {
		many = append(many, connected(fmt.Sprintf("198.51.%d.%d", i>>8, i&255), "10.0.0.2", 5432))
	}
	live := impact.LiveOf(before, after, many)
	require.Equal(t, 5000, live.Cut)
	require.Len(t, live.Flows, 4096)
	require.Equal(t, 5000-4096, live.More)
}
