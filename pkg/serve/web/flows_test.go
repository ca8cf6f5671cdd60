package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/test/policygen"
)

// logged is a flow that was seen a number of times.
func logged(from, to, port string, v flows.Verdict, n uint64) flows.Flow {
	return flows.Flow{Key: flows.Key{
		From: from, To: to, Port: port, Verdict: v, Policy: "NetworkPolicy/shop/db", Rule: flows.Isolation, ACL: "shop/db ingress",
	}, Count: n, First: moment, Last: moment.Add(time.Minute)}
}

// past is a flow that was seen some times in the last hour, and some times in the hour before.
func past(f flows.Flow, before uint32) flows.Past {
	return flows.Past{Key: f.Key, Counts: []uint32{before, uint32(f.Count)}, Last: f.Last}
}

func observed(t *testing.T) *source {
	t.Helper()
	s := shop(t)
	defer func() {
		s.flows.History = flows.History{Step: time.Hour, Until: moment.Add(time.Hour), Parts: 2}
		for i, f := range s.flows.Flows {
			s.flows.History.Flows = append(s.flows.History.Flows, past(f, uint32(7*i)))
		}
	}()
	s.flows = web.FlowLog{
		Logs: []web.LogFile{{Path: "/var/log/ovn/ovn-controller.log"}, {Path: "/gone", Error: "there is no such file yet"}}, Window: time.Hour,
		Report: flows.Report{Until: moment, Other: map[flows.Verdict]uint64{flows.Denied: 3}, Flows: []flows.Flow{
			logged("shop/web-7d9c5b8f4d-x2x4k", "shop/db-0", "tcp/5432", flows.Allowed, 900),
			logged("tools/shell", "shop/db-0", "tcp/5432", flows.Denied, 412),
			logged("203.0.113.7", "shop/db-0", "icmp", flows.Denied, 2),
		}},
	}
	return s
}

func TestFlowsAreBoundedAndSelected(t *testing.T) {
	source := observed(t)
	for i := range 500 {
		source.flows.Flows = append(source.flows.Flows, logged(fmt.Sprintf("198.51.100.%d", i), "shop/db-0", "tcp/1", flows.Allowed, 1))
	}
	s := serve(source)
	ask := func(parameters string) (out web.Flows) {
		t.Helper()
		w := s.get(t, "/api/v1/flows"+parameters)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
		return out
	}
	all := ask("")
	require.Len(t, all.Flows, 200)
	require.Equal(t, 303, all.More)
	require.Equal(t, map[flows.Verdict]uint64{flows.Denied: 414, flows.Allowed: 1400}, all.Counts)
	require.Equal(t, []uint64{412, 2, 900}, []uint64{all.Flows[0].Count, all.Flows[1].Count, all.Flows[2].Count}, "denied ones come first")
	require.NotEmpty(t, all.Flows[0].Change)
	require.Len(t, ask("?verdict=denied").Flows, 2)
	require.Len(t, ask("?q=TOOLS/").Flows, 1)
	require.Empty(t, ask("?q=nobody").Flows)
	require.Equal(t, http.StatusBadRequest, s.get(t, "/api/v1/flows?verdict=maybe").Code)
}

func TestASuggestionIsOfferedForADeniedFlow(t *testing.T) {
	s := serve(observed(t))
	var got web.Suggestion
	w := s.get(t, "/api/v1/suggest?from=tools/shell&to=shop/db-0&port=tcp/5432")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Empty(t, got.Refused)
	require.Contains(t, got.Manifest, "name: allow-db-from-shell")

	// What is suggested is what the editor says it opens.
	effect := whatIf(t, s, "", got.Manifest)
	require.Len(t, effect.Changes, 1)
	require.Equal(t, []string{"tools/shell"}, effect.Changes[0].From.Pods)
	require.Equal(t, []string{"shop/db-0"}, effect.Changes[0].To.Pods)
	require.Equal(t, "tcp/5432", effect.Changes[0].Opened)

	require.Equal(t, http.StatusBadRequest, s.get(t, "/api/v1/suggest?from=tools/shell").Code)
	require.Equal(t, http.StatusNotFound, s.get(t, "/api/v1/suggest?from=tools/shel&to=shop/db-0&port=80").Code)
}

// whatIf asks for the effect of a text.
func whatIf(t *testing.T, s *server, policy, text string) (out web.WhatIf) {
	t.Helper()
	w := s.post(t, "/api/v1/what-if?policy="+url.QueryEscape(policy), text, "Content-Type", "application/yaml")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
	return out
}

func TestWhatIfComparesAnEdit(t *testing.T) {
	source := shop(t)
	s := serve(source)
	var manifest struct{ Manifest string }
	require.NoError(t, json.Unmarshal(s.get(t, "/api/v1/policies/shop/db/manifest").Body.Bytes(), &manifest))
	require.Equal(t, web.WhatIf{
		Policies: []string{"NetworkPolicy/shop/db"}, Removed: []string{}, Pods: 4,
		Problems: whatIf(t, s, "", manifest.Manifest).Problems, Changes: []web.WhatIfEffect{},
	}, whatIf(t, s, "NetworkPolicy/shop/db", manifest.Manifest), "as it is, it changes nothing")

	closed := whatIf(t, s, "NetworkPolicy/shop/db", strings.Replace(manifest.Manifest, "port: postgres", "port: 80", 1))
	require.Empty(t, closed.Problems)
	require.Len(t, closed.Changes, 1)
	require.Equal(t, "tcp/80", closed.Changes[0].Opened)
	require.Equal(t, "tcp/5432", closed.Changes[0].Closed)
	require.Equal(t, []string{"shop/web-7d9c5b8f4d-x2x4k", "shop/web-7d9c5b8f4d-zb5pl"}, closed.Changes[0].From.Pods)

	removed := whatIf(t, s, "NetworkPolicy/shop/db", "  \n")
	require.Equal(t, []string{"NetworkPolicy/shop/db"}, removed.Removed)
	require.NotEmpty(t, removed.Changes)

	faulty := whatIf(t, s, "", strings.Replace(manifest.Manifest, "port: postgres", "port: 99999", 1))
	require.Zero(t, faulty.Pods)
	require.Empty(t, faulty.Changes)
	require.Positive(t, faulty.Problems[0].Place.Line)
	require.Contains(t, strings.Split(manifest.Manifest, "\n")[faulty.Problems[0].Place.Line-1], "port: postgres")
	require.Equal(t, uint64(3), source.state.Number, "nothing is applied")
	require.Equal(t, manifest.Manifest, func() string {
		var again struct{ Manifest string }
		require.NoError(t, json.Unmarshal(s.get(t, "/api/v1/policies/shop/db/manifest").Body.Bytes(), &again))
		return again.Manifest
	}())
}

func TestWhatIfTakesOnlyShortTextsOfThePage(t *testing.T) {
	s := serve(shop(t))
	for _, tc := range []struct {
		name, method, kind, text string
		want                     int
	}{
		{"no text", http.MethodGet, "", "", http.StatusMethodNotAllowed},
		{"a form of another page", http.MethodPost, "application/x-www-form-urlencoded", "a", http.StatusUnsupportedMediaType},
		{"a text of another page", http.MethodPost, "text/plain", "a", http.StatusUnsupportedMediaType},
		{"a question of a browser", http.MethodOptions, "", "", http.StatusMethodNotAllowed},
		{"too long", http.MethodPost, "application/yaml", strings.Repeat("#", 257<<10), http.StatusRequestEntityTooLarge},
		{"not YAML", http.MethodPost, "application/yaml; charset=utf-8", "a: [", http.StatusOK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := s.send(t, tc.method, "/api/v1/what-if", tc.text, "Content-Type", tc.kind, "Origin", "https://example.com")
			require.Equal(t, tc.want, w.Code, w.Body)
			require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
			require.NotEmpty(t, w.Header().Get("Content-Security-Policy"))
		})
	}
	require.Equal(t, http.StatusNotFound, s.post(t, "/api/v1/what-if?policy=NetworkPolicy/shop/none", "", "Content-Type", "application/yaml").Code)
	require.Equal(t, http.StatusServiceUnavailable, serve(&source{}).post(t, "/api/v1/what-if", "a", "Content-Type", "application/yaml").Code)
}

// TestALargeClusterIsNotComparedWhileSomebodyWaits asks about more pods than two states are compared for.
func TestALargeClusterIsNotComparedWhileSomebodyWaits(t *testing.T) {
	cluster := policygen.Workload(50_100)
	cluster.Policies = cluster.Policies[:1]
	source := clusterOf(t, cluster)
	s := serve(source)
	policy := source.state.Objects.Policies[0]
	w := s.post(t, "/api/v1/what-if?policy=NetworkPolicy/"+policy.Namespace+"/"+policy.Name, "", "Content-Type", "application/yaml")
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "50100 pods are more than the limit of 50000")
	require.Equal(t, http.StatusBadRequest, s.get(t, "/api/v1/suggest?from=ns-00/*&to=ns-01/*&port=80").Code)
}

// TestThousandsOfPodsAreCompared adds a policy that isolates every pod of a namespace, in a cluster of 4,000 pods.
func TestThousandsOfPodsAreCompared(t *testing.T) {
	cluster := policygen.Workload(4_000)
	cluster.Policies = cluster.Policies[:400] // half of the pods are isolated
	w := serve(clusterOf(t, cluster)).post(t, "/api/v1/what-if", `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: ns-00}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
`, "Content-Type", "application/yaml")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var found web.WhatIf
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &found))
	require.Equal(t, 4_000, found.Pods)
	require.NotEmpty(t, found.Changes)
	require.Empty(t, found.Problems)
}
