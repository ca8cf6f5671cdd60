package suggest_test

import (
	"strings"
	"testing"

	"github.com/netloom/netloom/pkg/answers/answerstest"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/suggest"
	"github.com/netloom/netloom/pkg/answers/world"
)

const shop = `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web, pod-template-hash: 5d8f7c, zone: a}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web, pod-template-hash: 5d8f7c, zone: b}}
status: {podIP: 10.0.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
status: {podIP: 10.0.0.3}
---
apiVersion: v1
kind: Pod
metadata: {name: db-debug, namespace: shop, labels: {app: db, debug: "true"}}
status: {podIP: 10.0.0.4}
---
apiVersion: v1
kind: Pod
metadata: {name: prom-0, namespace: monitoring, labels: {app: prom}}
status: {podIP: 10.0.1.1}
---
apiVersion: v1
kind: Pod
metadata: {name: prom-1, namespace: monitoring, labels: {app: prom}}
status: {podIP: 10.0.1.2}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: 10.96.0.1, ports: [{port: 5432, targetPort: 15432, protocol: TCP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
ports: [{name: "", port: 15432, protocol: TCP}]
endpoints: [{addresses: [10.0.0.3], conditions: {ready: true}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: shop}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
`

func suggested(t *testing.T, questions ...string) *suggest.Suggestion {
	t.Helper()
	return suggestedFor(t, shop, questions...)
}

func suggestedFor(t *testing.T, manifests string, questions ...string) *suggest.Suggestion {
	t.Helper()
	state, apply := stateOf(t, answerstest.ObjectsOf(t, manifests))
	inv := world.New(state)
	var wanted []question.Connection
	for _, text := range questions {
		q, err := question.Parse(text)
		require.NoError(t, err)
		list, err := question.Connections(inv, q, question.Where{})
		require.NoError(t, err)
		wanted = append(wanted, list...)
	}
	got, err := suggest.For(state, wanted, apply)
	require.NoError(t, err)
	return got
}

// specs formats policies as namespace/name and their spec.
func specs(t *testing.T, s *suggest.Suggestion) string {
	t.Helper()
	var b strings.Builder
	for _, p := range s.Policies {
		text, err := yaml.Marshal(p.Spec)
		require.NoError(t, err)
		b.WriteString(p.Namespace + "/" + p.Name + "\n" + string(text))
	}
	return b.String()
}

func TestSuggestionsForWords(t *testing.T) {
	got := suggested(t, "shop/web-* -> shop/db-0:5432")
	require.Empty(t, got.Beyond)
	require.Equal(t, `shop/allow-db-from-web
ingress:
- from:
  - podSelector:
      matchLabels:
        app: web
  ports:
  - port: 5432
    protocol: TCP
podSelector:
  matchExpressions:
  - key: debug
    operator: DoesNotExist
  matchLabels:
    app: db
policyTypes:
- Ingress
shop/allow-web-to-db
egress:
- ports:
  - port: 5432
    protocol: TCP
  to:
  - podSelector:
      matchExpressions:
      - key: debug
        operator: DoesNotExist
      matchLabels:
        app: db
podSelector:
  matchLabels:
    app: web
policyTypes:
- Egress
`, specs(t, got))
	require.Contains(t, specs(t, suggested(t, "shop/web-0 -> shop/db-0:5432")), "zone: a", "what tells it from web-1")
	require.Contains(t, specs(t, suggested(t, "shop/web-0 -> svc/shop/db:5432")), "port: 15432", "policies see the pod behind the Service")
	got = suggested(t, "shop/web-0 -> 203.0.113.7:443")
	require.Contains(t, specs(t, got), "cidr: 203.0.113.7/32")
	require.Empty(t, got.Beyond)
	require.Empty(t, suggested(t, "monitoring/prom-0 -> monitoring/prom-1:80").Policies, "it is allowed already")
}

// TestAConnectionCountsOnce asks for a connection in two families: with policies for one of them, it is not allowed already.
func TestAConnectionCountsOnce(t *testing.T) {
	const dual = `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {app: a}}
status: {podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop, labels: {app: b}}
status: {podIP: 10.0.0.2, podIPs: [{ip: 10.0.0.2}, {ip: "fd00::2"}]}
---
`
	const closed = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: one-family, namespace: shop}
spec: {podSelector: {matchLabels: {app: b}}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/24}}]}]}
`
	got := suggestedFor(t, dual, "shop/a -> shop/b:80")
	require.Equal(t, 1, got.Already, "it has two flows")
	require.Equal(t, 2, suggestedFor(t, dual, "shop/a -> shop/b:80", "shop/a -> shop/b:81").Already)
	got = suggestedFor(t, dual+closed, "shop/a -> shop/b:80")
	require.Zero(t, got.Already, "IPv6 is missing")
	require.Len(t, got.Policies, 1)
}

func TestWhatCannotBeExactIsAdmitted(t *testing.T) {
	got := suggested(t, "monitoring/prom-0 -> shop/db-0:9187")
	require.Equal(t, []suggest.Effect{{From: "monitoring/prom-1", To: "shop/db-0", Opened: "tcp/9187"}}, got.Beyond)
	got = suggested(t, "shop/web-0 -> shop/db-0:icmp")
	require.Empty(t, got.Policies)
	require.Equal(t, []suggest.Refusal{{
		Connection: "shop/web-0 -> shop/db-0 icmp", Reason: "a NetworkPolicy can only allow it together with all other traffic",
	}}, got.Refused)
}
