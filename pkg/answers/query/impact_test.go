package query_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/query"
)

func TestCompareShowsFamiliesWhereTheyDiffer(t *testing.T) {
	pods, _, _ := strings.Cut(dualPods, "---\napiVersion: networking")
	before := stateOf(t, objectsOf(t, dualPods))
	after := stateOf(t, objectsOf(t, pods+`---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: b, namespace: shop}
spec:
  podSelector: {matchLabels: {app: b}}
  ingress: [{from: [{podSelector: {}}]}]
`))
	require.Equal(t, query.Impact{Pods: 2, Changes: []query.Effect{
		{
			From: query.Group{Pods: []string{"shop/a"}}, To: query.Group{Pods: []string{"shop/b"}},
			Opened: "everything", Family: "IPv6",
		},
		{
			From:   query.Group{Outside: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
			To:     query.Group{Pods: []string{"shop/b"}},
			Closed: "everything", Family: "IPv4",
		},
	}}, query.Compare(before, after))
}
