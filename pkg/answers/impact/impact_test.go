package impact_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/reach"
)

func TestCompareShowsFamiliesWhereTheyDiffer(t *testing.T) {
	pods, _, _ := strings.Cut(answerstest.DualPods, "---\napiVersion: networking")
	before := answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.DualPods))
	after := answerstest.StateOf(t, answerstest.ObjectsOf(t, pods+`---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: b, namespace: shop}
spec:
  podSelector: {matchLabels: {app: b}}
  ingress: [{from: [{podSelector: {}}]}]
`))
	require.Equal(t, impact.Report{Pods: 2, Changes: []impact.Effect{
		{
			From: reach.Group{Pods: []string{"shop/a"}}, To: reach.Group{Pods: []string{"shop/b"}},
			Opened: "everything", Family: "IPv6",
		},
		{
			From:   reach.Group{Outside: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
			To:     reach.Group{Pods: []string{"shop/b"}},
			Closed: "everything", Family: "IPv4",
		},
	}}, impact.Of(before, after))
}

// pods are those of answerstest.Guarded.
const pods = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop, labels: {app: db}}
status: {podIP: 10.0.0.2}
`

func TestImpactOfAClusterWidePolicy(t *testing.T) {
	state := answerstest.Guarded(t)
	got := impact.Of(answerstest.StateOf(t, answerstest.ObjectsOf(t, pods)), state)
	var closed []string
	for _, c := range got.Changes {
		require.Empty(t, c.Opened)
		if len(c.From.Pods) > 0 && len(c.To.Pods) > 0 {
			closed = append(closed, c.From.Pods[0]+" -> "+c.To.Pods[0]+" "+c.Closed)
		}
	}
	require.Equal(t, []string{"shop/db -> shop/web tcp/22, tcp/80-81", "shop/web -> shop/db everything except tcp/5432"}, closed)
}
