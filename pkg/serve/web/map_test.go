package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/pkg/serve/web/chart"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

func (s *server) connections(t testing.TB, query string) (m web.Map, bytes int) {
	t.Helper()
	w := s.get(t, "/api/v1/connections"+query)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	bytes = w.Body.Len()
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &m), w.Body)
	return m, bytes
}

// isolatedForIngress is n pods and a policy for each five of them, which isolates for ingress.
func isolatedForIngress(n int) *oracle.Cluster {
	c := policygen.Workload(n)
	for _, p := range c.Policies {
		p.Spec.PolicyTypes, p.Spec.Egress = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, nil
	}
	return c
}

// TestTheMapOfTenThousandPodsIsBounded draws pods with 690,000 connections between 6,000 groups.
func TestTheMapOfTenThousandPodsIsBounded(t *testing.T) {
	s := serve(clusterOf(t, isolatedForIngress(10_000)))
	m, bytes := s.connections(t, "")
	require.Len(t, m.Nodes, 5+2, "the namespaces, four of each kind, and the addresses outside that rules tell apart")
	require.Less(t, bytes, 16<<10)
	pods := 0
	for _, n := range m.Nodes {
		pods += n.Pods
	}
	require.Equal(t, 10_000, pods)

	m, bytes = s.connections(t, "?open=ns-00,ns-01,ns-02,ns-03,ns-04,ns-05,ns-06,ns-07")
	require.LessOrEqual(t, len(m.Nodes), chart.MaxOutside+chart.MaxSpaces+chart.MaxOpen*chart.MaxWithin)
	require.Len(t, m.Links, chart.MaxLinks)
	require.Positive(t, m.MoreLinks)
	require.Less(t, bytes, 512<<10)
	pods = 0
	for _, n := range m.Nodes {
		pods += n.Pods
	}
	require.Equal(t, 10_000, pods, "none is left out")
}

func TestTheMapIsFiltered(t *testing.T) {
	s := serve(shop(t))
	titles := func(query string) string {
		m, _ := s.connections(t, query)
		var out []string
		for _, l := range m.Links {
			out = append(out, fmt.Sprintf("%s > %s %s", m.Nodes[l.From].Title, m.Nodes[l.To].Title, strings.Join(l.Ports, " or ")))
		}
		return strings.Join(out, "\n")
	}
	require.Equal(t, "outside 192.0.2.0/25 > shop/db-0 TCP 5432\nshop/deploy/web > shop/db-0 TCP 5432", titles("?namespace=shop&labels=app%3Ddb&open=shop&port=5432"))
	require.Empty(t, titles("?namespace=tools&labels=app%3Ddb"))
	require.NotContains(t, titles("?policed=true"), "tools > outside", "no policy decides on it")
	require.Contains(t, titles(""), "tools > outside")
	for query, want := range map[string]string{
		"?open=" + strings.Repeat("a,", 4) + "b,c,d,e,f,g,h,i": "open: expected at most 8 namespaces",
		"?namespace=attic":          "namespace attic with a pod: not found",
		"?policed=maybe":            "expected true or false",
		"?port=http/80":             "expected tcp/80",
		"?labels=%3D%3D":            "expected labels such as",
		"?namespace=(outside)%0Ab":  "not found",
		"?open=shop&open=shop/db-0": "not found",
	} {
		w := s.get(t, "/api/v1/connections"+query)
		require.GreaterOrEqual(t, w.Code, http.StatusBadRequest, query)
		require.Contains(t, w.Body.String(), want, query)
	}
}

// TestExamplesOfTheMapAreAllowed asks about the example of each link.
func TestExamplesOfTheMapAreAllowed(t *testing.T) {
	s := serve(clusterOf(t, isolatedForIngress(200)))
	m, _ := s.connections(t, "?open=ns-00,ns-01")
	require.Greater(t, len(m.Links), 50)
	for _, l := range m.Links {
		w := s.get(t, fmt.Sprintf("/api/v1/why?from=%s&to=%s&port=%s", l.Example.From, l.Example.To, l.Example.Port))
		var got web.Why
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), w.Body)
		require.Len(t, got.Answers, 1)
		require.EqualValues(t, "allow", got.Answers[0].Verdict, got.Answers[0].Question)
	}
}
